package storage

import (
	"fmt"
	"regexp"
	"strings"
)

// When HDFS denies a call, the client library reports only the denial. The NameNode's message names the file or folder and the
// missing right; it is kept here for the error.

// denial is the NameNode's message about a call that it denied (FSPermissionChecker.toAccessControlString).
type denial struct{ user, access, inode string }

// maxDenials is the number of denials that are kept: several calls may be under way.
const maxDenials = 16

var denialText = regexp.MustCompile(`user=([^,]*), access=([A-Z_]+), inode="([^"]*)"`)

// parseDenial reads the message of an AccessControlException.
func parseDenial(message string) (denial, bool) {
	m := denialText.FindStringSubmatch(message)
	if m == nil {
		return denial{}, false
	}
	return denial{m[1], m[2], m[3]}, true
}

// String names the missing right, and the command that grants it.
func (d denial) String() string {
	return fmt.Sprintf("it lacks %s on %s (hdfs dfs -setfacl -m user:%s:%s %s)", d.access, d.inode, d.user, d.rights(), d.inode)
}

// rights are the rights to grant: those asked for, and for reading and writing also the others that a folder's user needs,
// since an entry for a user replaces the one before.
func (d denial) rights() string {
	switch {
	case strings.Contains(d.access, "WRITE"):
		return "rwx"
	case strings.Contains(d.access, "READ"):
		return "r-x"
	}
	return "--x"
}

// covers reports whether the denial may concern a call for a file or a folder.
func (d denial) covers(name string) bool {
	return name == d.inode || strings.HasPrefix(name, strings.TrimSuffix(d.inode, "/")+"/")
}

// remember keeps a refusal if it is a denial.
func (n *rpcClient) remember(e *remoteError) {
	if !strings.HasSuffix(e.class, ".AccessControlException") {
		return
	}
	d, ok := parseDenial(e.message)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.denials = append(n.denials[max(0, len(n.denials)-maxDenials+1):], d)
}

// denied says why a call for name was denied; "" if that is unknown.
func (n *rpcClient) denied(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.denials) - 1; i >= 0; i-- {
		if n.denials[i].covers(name) {
			return ": " + n.denials[i].String()
		}
	}
	return ""
}

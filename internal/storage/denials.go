package storage

import (
	"fmt"
	"regexp"
	"strings"
)

// The client library says of a call that HDFS denied only that it did. What the NameNode says, which names the file or the
// folder and the right that is missing, is kept here for the error.

// denial is what a NameNode says of a call that it denied (FSPermissionChecker.toAccessControlString).
type denial struct{ user, access, inode string }

// maxDenials is how many are kept: several calls may be under way.
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

// String says what is missing, and the command that gives it.
func (d denial) String() string {
	return fmt.Sprintf("it lacks %s of %s (hdfs dfs -setfacl -m user:%s:%s %s)", d.access, d.inode, d.user, d.rights(), d.inode)
}

// rights are those to give: what is asked for, and with reading and writing what a folder's user needs beside it, since an
// entry for a user replaces the one before.
func (d denial) rights() string {
	switch {
	case strings.Contains(d.access, "WRITE"):
		return "rwx"
	case strings.Contains(d.access, "READ"):
		return "r-x"
	}
	return "--x"
}

// covers tells whether the denial may be of a call for a file or a folder.
func (d denial) covers(name string) bool {
	return name == d.inode || strings.HasPrefix(name, strings.TrimSuffix(d.inode, "/")+"/")
}

// remember keeps a refusal that is a denial.
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

// denied says why a call for name was denied; "" where that is not known.
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

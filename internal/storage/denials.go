package storage

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// When HDFS denies a call, the client library reports only the denial. The NameNode's message names the file or folder
// and the missing right, so it is kept here for the error.

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

// homes is the folder of the users' home folders in HDFS (dfs.user.home.dir.prefix, which is hardly ever changed).
const homes = "/user"

// ofFolder names the missing right by which a folder can't be made, and a remedy. Usually that is the command that
// grants the right. But nobody should grant a user the right to write in / or in the folder of all homes, so there the
// remedy is a folder of the user's own.
func (d denial) ofFolder(name string) string {
	if d.access != "WRITE" || d.inode != "/" && d.inode != homes || name == d.inode {
		return d.String()
	}
	first := path.Join(d.inode, firstElement(name, d.inode))
	// not the first element, such as /tmp or /data, because others use it, too
	kind, missing := "folder", path.Join(first, firstElement(name, first))
	if home := path.Join(homes, firstElement(name, homes)); home != homes && Below(homes, name) {
		kind, missing = "home folder", home
	}
	return fmt.Sprintf("the %s %s does not exist, and %s may not create it. Choose a folder in which %[3]s may write, or "+
		"have HDFS's superuser create this one: hdfs dfs -mkdir -p %[2]s, then hdfs dfs -chown %[3]s %[2]s",
		kind, missing, d.user)
}

// firstElement is the first element of a name below a folder.
func firstElement(name, folder string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
	first, _, _ := strings.Cut(rest, "/")
	return first
}

// String names the missing right, and the command that grants it.
func (d denial) String() string {
	return fmt.Sprintf("it lacks %s on %s (hdfs dfs -setfacl -m user:%s:%s %s)", d.access,
		d.inode, d.user, d.rights(), d.inode)
}

// rights are the rights to grant: those asked for and, for reading and writing, also the others that a folder's user
// needs, because an entry for a user replaces the previous one.
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
	if !e.denies() {
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

// denied says why a call for name was denied; "" if that is unknown. op is the call as errors have it.
func (n *rpcClient) denied(op, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.denials) - 1; i >= 0; i-- {
		if !n.denials[i].covers(name) {
			continue
		}
		if op == "mkdir" {
			return ": " + n.denials[i].ofFolder(name)
		}
		return ": " + n.denials[i].String()
	}
	return ""
}

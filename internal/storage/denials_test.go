package storage

import (
	"fmt"
	"strings"
	"testing"
)

func TestDenials(t *testing.T) {
	n := &rpcClient{}
	deny := func(class, message string) { n.remember(&remoteError{"org.apache.hadoop." + class, message}) }
	deny("security.AccessControlException", `Permission denied: user=tina, access=WRITE, inode="/":hdfs:supergroup:drwxr-xr-x`)
	deny("security.AccessControlException", `Permission denied: user=tina, access=EXECUTE, inode="/data":hbase:supergroup:drwx------+`+"\n\tat x")
	deny("security.AccessControlException", `Permission denied: user=tina, access=READ_EXECUTE, inode="/data/in":hbase:supergroup:drwx------`)
	deny("security.AccessControlException", "Superuser privilege is required")
	deny("hdfs.server.namenode.SafeModeException", `user=tina, access=WRITE, inode="/safe"`)
	for name, want := range map[string]string{
		"/data/in/a": "lacks READ_EXECUTE on /data/in (hdfs dfs -setfacl -m user:tina:r-x /data/in)",
		"/new":       "lacks WRITE on / (hdfs dfs -setfacl -m user:tina:rwx /)",
	} {
		if got := n.denied("open", name); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	n.denials = n.denials[1:2]
	for name, want := range map[string]string{
		"/data":     ": it lacks EXECUTE on /data (hdfs dfs -setfacl -m user:tina:--x /data)",
		"/data/in":  ": it lacks EXECUTE on /data (hdfs dfs -setfacl -m user:tina:--x /data)",
		"/database": "",
	} {
		if got := n.denied("open", name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for i := range 100 {
		deny("security.AccessControlException", fmt.Sprintf(`user=u, access=READ, inode="/%d"`, i))
	}
	if len(n.denials) != maxDenials || n.denied("open", "/99") == "" || n.denied("open", "/data") != "" {
		t.Errorf("kept: %v", n.denials)
	}
}

// TestDeniedFolders: nobody gives a user the right to write in / or in /user, so that is not the advice if a folder
// can't be made there. A folder elsewhere is made by whoever may write in the one above it.
func TestDeniedFolders(t *testing.T) {
	for _, c := range []struct{ inode, name, folder, command string }{
		{"/user", "/user/tina/hfile/check", "home folder /user/tina ",
			"hdfs dfs -mkdir -p /user/tina, then hdfs dfs -chown tina /user/tina"},
		{"/user", "/user/etl", "home folder /user/etl ",
			"hdfs dfs -mkdir -p /user/etl, then hdfs dfs -chown tina /user/etl"},
		{"/", "/user/tina/hfile", "home folder /user/tina ",
			"hdfs dfs -mkdir -p /user/tina, then hdfs dfs -chown tina /user/tina"},
		{"/", "/data", "the folder /data ", "hdfs dfs -mkdir -p /data, then hdfs dfs -chown tina /data"},
		{"/", "/data/out", "the folder /data/out ", "hdfs dfs -mkdir -p /data/out, then hdfs dfs -chown tina /data/out"},
		{"/", "/tmp/bulkload/ledger", "the folder /tmp/bulkload ",
			"hdfs dfs -mkdir -p /tmp/bulkload, then hdfs dfs -chown tina /tmp/bulkload"},
		{"/", "/user", "the folder /user ", "hdfs dfs -mkdir -p /user, then hdfs dfs -chown tina /user"},
		{"/data", "/data/out", "WRITE on /data ", "(hdfs dfs -setfacl -m user:tina:rwx /data)"},
		{"/user/tina", "/user/tina/out", "WRITE on /user/tina ", "(hdfs dfs -setfacl -m user:tina:rwx /user/tina)"},
	} {
		n := &rpcClient{}
		n.remember(&remoteError{"org.apache.hadoop.security.AccessControlException", fmt.Sprintf("Permission denied: user=tina, access=WRITE, inode=%q:hdfs:supergroup:drwxr-xr-x", c.inode)})
		if got := n.denied("mkdir", c.name); !strings.Contains(got, c.folder) || !strings.HasSuffix(got, c.command) {
			t.Errorf("make %s: %q, want %q", c.name, got, c.command)
		}
		if got := n.denied("remove", c.name); !strings.Contains(got, "setfacl") {
			t.Errorf("remove %s: %q", c.name, got)
		}
	}
}

func FuzzDenial(f *testing.F) {
	f.Add(`Permission denied: user=tina, access=EXECUTE, inode="/data":hbase:supergroup:drwx------+`, "/data/in")
	f.Fuzz(func(t *testing.T, message, name string) {
		if d, ok := parseDenial(message); ok && d.covers(name) && !strings.HasPrefix(name, d.inode) {
			t.Errorf("%v of %s", d, name)
		}
	})
}

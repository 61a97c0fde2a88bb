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
		if got := n.denied(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	n.denials = n.denials[1:2]
	for name, want := range map[string]string{
		"/data":     ": it lacks EXECUTE on /data (hdfs dfs -setfacl -m user:tina:--x /data)",
		"/data/in":  ": it lacks EXECUTE on /data (hdfs dfs -setfacl -m user:tina:--x /data)",
		"/database": "",
	} {
		if got := n.denied(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for i := range 100 {
		deny("security.AccessControlException", fmt.Sprintf(`user=u, access=READ, inode="/%d"`, i))
	}
	if len(n.denials) != maxDenials || n.denied("/99") == "" || n.denied("/data") != "" {
		t.Errorf("kept: %v", n.denials)
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

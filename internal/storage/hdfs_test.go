package storage

import (
	"os"
	"testing"

	"bulkload/internal/siteconf"
)

func TestHDFSLab(t *testing.T) {
	dir := os.Getenv("LAB")
	if dir == "" {
		t.Skip()
	}
	conf, err := siteconf.Load(dir)
	check(t, err)
	fsys, root, err := Resolve("hdfs:///conform", "/", conf, "")
	check(t, err)
	defer fsys.Close()
	check(t, fsys.RemoveAll(root))
	conforms(t, fsys, root)
}

package storage

import (
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// TestEncryptionZone creates a zone as an administrator does, with a keystore in a file instead of a KMS.
func TestEncryptionZone(t *testing.T) {
	c := testcluster.Use(t)
	fsys, root := onHDFS(t, siteOf(t, c))
	run := func(args ...string) {
		t.Helper()
		_, err := c.Oracle(t).Run(args...)
		check(t, err)
	}
	run("zone", root, testcluster.ZoneKey)
	if info, err := fsys.Stat(root); err != nil || !info.Encrypted {
		t.Errorf("the zone: %+v, %v", info, err)
	}
	_, err := fsys.Create(root+"/f", 0)
	if errcode.Outermost(err) != errcode.FileSystem || !testwords.Names(err, root) {
		t.Errorf("write: %v", err)
	}
	run("fs", "-touchz", root+"/g")
	_, err = fsys.Open(root + "/g")
	if errcode.Outermost(err) != errcode.FileSystem || !testwords.Names(err, root) {
		t.Errorf("read: %v", err)
	}
}

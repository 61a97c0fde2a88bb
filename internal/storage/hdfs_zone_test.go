package storage

import (
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
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
	if err == nil || !strings.Contains(err.Error(), "encryption zone") || !strings.Contains(err.Error(), root) {
		t.Errorf("write: %v", err)
	}
	run("fs", "-touchz", root+"/g")
	_, err = fsys.Open(root + "/g")
	if err == nil || !strings.Contains(err.Error(), "encryption zone") {
		t.Errorf("read: %v", err)
	}
}

package testfs

import (
	"fmt"
	"syscall"
	"testing"

	"bulkload/internal/test/testcluster"
)

// SmallDisk is a folder on a separate disk of that many bytes.
func SmallDisk(t *testing.T, size int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		testcluster.Without(t, fmt.Sprintf("needs to mount a small disk, as root: %v", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Remount gives a small disk another size or makes it read-only.
func Remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

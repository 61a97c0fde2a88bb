package partition

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStaleFoldersOfOthers: in a work folder that is open to all, what another has put there under such a name is not
// gone into.
func TestStaleFoldersOfOthers(t *testing.T) {
	work, victim := t.TempDir(), t.TempDir()
	name := func(of string) string { return filepath.Join(work, folderPrefix+of) }
	for _, dir := range []string{name("own"), name("open"), filepath.Join(work, "other-own")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(name("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, name("link")); err != nil {
		t.Fatal(err)
	}
	RemoveStale(work)
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("behind the link there is %v, %v", left, err)
	}
	for dir, stays := range map[string]bool{name("own"): false, name("open"): true, name("link"): true, filepath.Join(work, "other-own"): true} {
		if _, err := os.Lstat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := os.Symlink(filepath.Join(victim, "made"), filepath.Join(work, lockName)); err != nil {
		t.Fatal(err)
	}
	if lock, err := LockFolder(work); err == nil {
		t.Errorf("locked %s behind a link", lock.Name())
	}
}

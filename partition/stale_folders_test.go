package partition

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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
		t.Errorf("the link's target has %v, %v", left, err)
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
		t.Errorf("locked %s through a link", lock.Name())
	}
}

// TestStaleFoldersWithoutAName: a sort that was killed before its folder had its name leaves one that is removed once
// it is old. A young one may be another sort's that is just beginning.
func TestStaleFoldersWithoutAName(t *testing.T) {
	work := t.TempDir()
	old := time.Now().Add(-2 * newFor)
	folders := map[string]bool{"old": false, "old-locked": true, "old-open": true, "young": true} // and whether it stays
	for of := range folders {
		dir := filepath.Join(work, newPrefix+of)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		switch of {
		case "old-locked":
			lock, err := LockFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
		case "old-open":
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if of != "young" {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	RemoveStale(work)
	for of, stays := range folders {
		if _, err := os.Lstat(filepath.Join(work, newPrefix+of)); (err == nil) != stays {
			t.Errorf("%s: %v", of, err)
		}
	}
}

// TestLockOfADeletedFolder: a folder that its owner deletes, or that another one makes anew, between the opening of its
// lock file and the locking is not locked by what was opened.
func TestLockOfADeletedFolder(t *testing.T) {
	for what, meanwhile := range map[string]func(dir string) error{
		"deleted": os.RemoveAll,
		"made anew": func(dir string) error {
			err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, lockName), nil, 0o600)
			}
			return err
		},
	} {
		dir := filepath.Join(t.TempDir(), "sort")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := lockFile(filepath.Join(dir, lockName), func() {
			if err := meanwhile(dir); err != nil {
				t.Fatal(err)
			}
		})
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("%s: %v, %v", what, lock, err)
		}
	}
}

// TestMakeWorkFolder: it is private, the folders above it are not.
func TestMakeWorkFolder(t *testing.T) {
	above := filepath.Join(t.TempDir(), "above")
	work := filepath.Join(above, "work")
	for i, want := range []bool{true, false} {
		if made, err := MakeWorkFolder(work); made != want || err != nil {
			t.Errorf("call %d: %v, %v", i, made, err)
		}
	}
	for dir, want := range map[string]os.FileMode{above: 0o755, work: 0o700} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v: %v", dir, info.Mode(), want, err)
		}
	}
}

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/jobs/base/options"
)

// TestFilesOfKilledRuns: a run that begins to keep files deletes those that no process can continue with, so that
// killed runs never fill the disk. What the next process of another run continues with stays.
func TestFilesOfKilledRuns(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	stays := map[string]bool{Prefix + "late": true, Prefix + "old": false, "bulkload-sort-1": false}
	for name := range stays {
		if err := os.Mkdir(filepath.Join(work, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-MaxAge - time.Hour)
	if err := os.Chtimes(filepath.Join(work, Prefix+"old"), long, long); err != nil {
		t.Fatal(err)
	}
	k, err := openStore(t, work, ofRun, options.Options{})
	if err = errors.Join(err, k.Begin()); err != nil {
		t.Fatal(err)
	}
	for name, stays := range stays {
		if _, err := os.Stat(filepath.Join(work, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckpointFoldersOfOthers: what others have put into a work folder that is open to all is neither entered nor
// deleted, however old it is.
func TestCheckpointFoldersOfOthers(t *testing.T) {
	t.Parallel()
	work, victim := t.TempDir(), t.TempDir()
	own, open, link := filepath.Join(work, Prefix+"own"), filepath.Join(work, Prefix+"open"), filepath.Join(work, Prefix+"link")
	for _, dir := range []string{own, open} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-MaxAge - time.Hour)
	for _, dir := range []string{own, open, victim} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	RemoveOlder(work, MaxAge, false)
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("the link's target has %v, %v", left, err)
	}
	for dir, stays := range map[string]bool{own: false, open: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

package runtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
)

// OneRegion makes an output with the files of one region.
func OneRegion(t *testing.T) string {
	t.Helper()
	job := strings.Replace(jobdir.CheckJob, "splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']", "splits: []", 1)
	dir := jobdir.Check(t, strings.Replace(job, "salt(check_id, 10) + ", "", 1), 2000)
	out := filepath.Join(dir, "out")
	Must(t, jobtest.Check(t, dir, out), options.Options{})
	return out
}

// Files maps the paths of all HFiles below an output to their hashes.
func Files(t testing.TB, output string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(output, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); path != output && (name[0] == '_' || name[0] == '.') {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		rel, _ := filepath.Rel(output, path)
		all[rel] = fmt.Sprintf("%d bytes, %x", len(content), sum[:8])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// SameFiles requires two outputs to have the same names with the same bytes.
func SameFiles(t *testing.T, what, a, b string) {
	t.Helper()
	fa, fb := Files(t, a), Files(t, b)
	if len(fa) == 0 || len(fa) != len(fb) {
		t.Errorf("%s: %d files beside %d", what, len(fa), len(fb))
	}
	for name, content := range fa {
		if fb[name] != content {
			t.Errorf("%s: %s is %s in the one and %q in the other", what, name, content, fb[name])
		}
	}
}

// NothingLeft requires an output without locks, temporary files and rejects.
func NothingLeft(t *testing.T, output string) {
	t.Helper()
	for _, name := range []string{lock.LockName, manifest.RejectsDir} {
		if _, err := os.Stat(filepath.Join(output, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left in the output (%v)", name, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(output, lock.TempDir)); err == nil && len(left) > 0 {
		t.Errorf("%s still holds %v", lock.TempDir, left)
	}
}

// NoTasks requires an output without remains of tasks.
func NoTasks(t *testing.T, out string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(out, manifest.TasksDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tasks' folder is left: %v", err)
	}
}

// NoFilesIn requires that there are no files below a folder. An empty folder may remain if deleting it failed.
func NoFilesIn(t *testing.T, what, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			t.Errorf("%s: %s is left", what, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", what, err)
	}
}

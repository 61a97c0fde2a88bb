// Package jobdir makes folders with a job file and its input. It knows nothing of the packages that read them, so that
// each of those may use it in its own tests.
package jobdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/test/testfs"
)

// Date is the logical date of the jobs; their input is in in/2026-11-20.
var Date = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// night is the folder with the input of Date.
const night = "in/2026-11-20"

// Write writes a job file into a new folder, and returns its path.
func Write(t testing.TB, text string) string {
	t.Helper()
	return filepath.Join(testfs.Tree(t, map[string]string{"job.yaml": text}), "job.yaml")
}

// Of makes a folder with check.yaml, a job over one input with the given text.
func Of(t testing.TB, job string, input []byte) string {
	t.Helper()
	return testfs.Tree(t, map[string]string{"check.yaml": job, night + "/part-0": string(input)})
}

// Example is the path of a file of jobs/examples.
func Example(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(Repository(t), "jobs", "examples", name)
}

// Repository is the folder of go.mod. A test runs in the folder of its package, which is below it.
func Repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the present folder")
		}
		dir = filepath.Dir(dir)
	}
}

// Joined concatenates files into one.
func Joined(t testing.TB, dir, glob string) string {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no input %s (%v)", glob, err)
	}
	var all []byte
	for _, p := range paths {
		all = append(all, testfs.Read(t, p)...)
	}
	name := filepath.Join(dir, "text")
	if err := os.WriteFile(name, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

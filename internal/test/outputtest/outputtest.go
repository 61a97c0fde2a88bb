// Package outputtest locks output directories for tests of packages that work in them.
package outputtest

import (
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/output"
)

// Lock locks a directory until the test ends. If a killed process holds the lock, the test has only simulated that
// process, so the lock is deleted.
func Lock(t *testing.T, d *output.Dir) *output.Dir {
	t.Helper()
	if err := storage.RemoveIfThere(storage.Local, d.Path, lock.LockName); err != nil {
		t.Fatal(err)
	}
	if err := d.TakeLock(t.Context(), func(error) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Lock.Release() })
	return d
}

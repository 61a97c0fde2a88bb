package jobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// noHFiles wants an output that no file has come to.
func noHFiles(t *testing.T, output string) {
	t.Helper()
	if _, err := os.Stat(output); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if all := runtest.Files(t, output); len(all) > 0 {
		t.Errorf("the output holds %v", all)
	}
	runtest.NothingLeft(t, output)
}

// TestFullDisks: a disk that is full in mid-run is reported, nothing half done is left, and with room the same run continues.
func TestFullDisks(t *testing.T) {
	job := strings.Replace(jobdir.CheckJob, "input:\n", "input:\n  check_space: false\n", 1)
	dir := jobdir.Check(t, job, jobdir.SpillingRows)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	t.Run("work-dir", func(t *testing.T) {
		small, out := testfs.SmallDisk(t, 1<<20), filepath.Join(dir, "out")
		_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: small})
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "--work-dir") || !strings.Contains(err.Error(), small) {
			t.Errorf("%v", err)
		}
		noHFiles(t, out)
		if left, err := os.ReadDir(small); err != nil || len(left) > 0 {
			t.Errorf("%v is left in the work folder, %v", left, err)
		}
		testfs.Remount(t, small, 0, "size=64m")
		runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: small})
		runtest.SameFiles(t, "with room", base, out)
	})
	t.Run("output", func(t *testing.T) {
		small := testfs.SmallDisk(t, 3<<20)
		out := filepath.Join(small, "out")
		_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{})
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), out) {
			t.Errorf("%v", err)
		}
		runtest.NothingLeft(t, out)
		testfs.Remount(t, small, 0, "size=64m")
		var begun int
		runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Failpoint: runtest.Counting(&begun, options.Begun)})
		if begun < 1 || begun > 9 {
			t.Errorf("%d of 10 regions were written after the disk was full", begun)
		}
		runtest.SameFiles(t, "with room", base, out)
	})
}

// TestDamagedSpill: a spilled run that has changed on the disk is found, nothing of its region is written, and the same
// command continues.
func TestDamagedSpill(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, jobdir.SpillingRows)
	base, out, work := filepath.Join(dir, "base"), filepath.Join(dir, "out"), t.TempDir()
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work, Failpoint: func(p options.Point) {
		if p == options.Sorted {
			testfs.Damage(t, filepath.Join(work, "bulkload-run-*", "0", "run-*"))
		}
	}})
	if err == nil || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "read spilled run "+work) || !strings.Contains(err.Error(), "offset") {
		t.Errorf("%v", err)
	}
	runtest.NothingLeft(t, out)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the work folder, %v", left, err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work})
	runtest.SameFiles(t, "after a damaged spill", base, out)
}

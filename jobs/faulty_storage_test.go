package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testleak"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/run"
	"bulkload/partition"
)

// These tests look at whole runs from outside: a job and options go in, files and errors come out.

// TestEveryCallOfStorageFails lets the n-th call of the file system fail, for every n, over a whole run. The run ends
// well, or with an error that names the fault and without _SUCCESS; then the same command ends well with the same
// files, and no file or goroutine is left over. Where rows are spilled, a run is long: make exhaustive has each call
// fail, make test some.
func TestEveryCallOfStorageFails(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { everyCallFails(t, false) })
	t.Run("spilled", func(t *testing.T) { everyCallFails(t, true) })
}

func everyCallFails(t *testing.T, spilled bool) {
	testleak.Check(t)
	job := strings.Replace(jobdir.CheckJob, "['1', '2', '3', '4', '5', '6', '7', '8', '9']", "['5']", 1)
	dir := jobdir.Check(t, strings.Replace(strings.Replace(job, "salt(check_id, 10) + ", "", 1), "in/${date}", "in/${date}\n  max_rejects: 10", 1), 40)
	jobdir.RejectsEvery(t, dir, 10)
	o := options.Options{WorkDir: t.TempDir()}
	if spilled {
		o.Memory = options.MinMemory
		addLongRecords(t, dir, 30, 700<<10)
	}
	local := storage.Local
	t.Cleanup(func() { storage.Local = local })
	faulty := &testfs.Failing{FS: local, Fault: new(testfs.Fault)}
	storage.Local = faulty
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	s := runtest.Must(t, jobtest.Check(t, dir, base), o)
	calls := -faulty.Left.Load()
	if calls < 50 || spilled != (s.Sort.Runs > 0) {
		t.Fatalf("a run has %d calls, and spilled %d runs", calls, s.Sort.Runs)
	}
	some := int(calls)
	switch {
	case spilled:
		some = 12
	case testing.Short():
		some /= 7
	}
	for _, n := range runtest.FaultsOf(t, calls, some) {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		faulty.Left.Store(n)
		_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), o)
		what := fmt.Sprintf("call %d, %v", n, faulty.Failed())
		if err != nil {
			wantFailedRun(t, what, out, err)
		} else {
			runtest.WantHarmless(t, faulty.Fault, n)
		}
		faulty.Left.Store(0)
		if _, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), o); err != nil {
			t.Errorf("%s: the same command again: %v", what, err)
			continue
		}
		runtest.SameFiles(t, what, base, out)
		runtest.NoFilesIn(t, what, filepath.Join(out, lock.TempDir))
	}
}

// wantFailedRun wants an error of the fault, of a kind that a failing disk may have, or the code of a work folder that
// can't be used, and an output that says it is unfinished.
func wantFailedRun(t *testing.T, what, out string, err error) {
	t.Helper()
	workDir := errcode.Of(err, func(c errcode.Code) bool { return c == errcode.Folder }) != ""
	if kind := failure.KindOf(err); !errors.Is(err, syscall.EIO) || kind != failure.Failed && kind != failure.Later && !workDir {
		t.Errorf("%s: kind %d: %v", what, kind, err)
	}
	if _, found := os.Stat(filepath.Join(out, ingest.SuccessName)); found == nil && !strings.Contains(what, ingest.SuccessName) && !strings.Contains(what, lock.LockName) {
		t.Errorf("%s: %s is there after %v", what, ingest.SuccessName, err)
	}
}

// addLongRecords adds a file of records, with so many bytes in the last column, to a folder that jobdir.Check made.
func addLongRecords(t *testing.T, dir string, n, bytes int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	record, _, _ := strings.Cut(string(content), sample.RecordDelimiter)
	fields := strings.Split(record, sample.FieldDelimiter)
	var b strings.Builder
	for i := range n {
		fields[0], fields[len(fields)-1] = fmt.Sprintf("%032X", i), strings.Repeat("x", bytes)
		b.WriteString(strings.Join(fields, sample.FieldDelimiter) + sample.RecordDelimiter)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(names[0]), "part-m-99999"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

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

// TestFullDisks: a disk that is full in mid-run is reported, nothing half done is left, and with room the same run
// continues.
func TestFullDisks(t *testing.T) {
	job := strings.Replace(jobdir.CheckJob, "input:\n", "input:\n  check_space: false\n", 1)
	dir := jobdir.Check(t, job, jobdir.SpillingRows)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	t.Run("work-dir", func(t *testing.T) {
		small, out := testfs.SmallDisk(t, 1<<20), filepath.Join(dir, "out")
		_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: small})
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !testwords.Names(err, "--work-dir", small) {
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
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !testwords.Names(err, out) {
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
	if of := (*partition.RunError)(nil); failure.CodeOf(err) != errcode.SpillDamaged || !errors.As(err, &of) || !strings.HasPrefix(of.Path, work+"/") {
		t.Errorf("%v", err)
	}
	runtest.NothingLeft(t, out)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the work folder, %v", left, err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work})
	runtest.SameFiles(t, "after a damaged spill", base, out)
}

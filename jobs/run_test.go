package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

func TestRunWritesWhatTheSourceSays(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	if s.Status != failure.StatusDone || s.Books.Read != 4000 || s.Books.Written != 4000 || len(s.Files) != 10 || len(s.Regions) != 10 {
		t.Errorf("summary %+v", s)
	}
	if s.Digest.Cells != s.Books.CellsWritten || s.Books.CellsWritten+s.Books.Nulls != 4000*18 {
		t.Errorf("%d cells in the digest, books %v", s.Digest.Cells, s.Books)
	}
	runtest.NothingLeft(t, out)
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Books.CellsWritten || r.Rows != 4000 {
		t.Errorf("verify the job: %+v, %v", r, err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Digest != s.Digest || r.Rows != 4000 {
		t.Errorf("verify the directory: %+v, %v", r, err)
	}
	again := runtest.Must(t, j, options.Options{})
	if again.Status != failure.StatusNothing || again.Digest != s.Digest || again.Books != s.Books {
		t.Errorf("a second run says %+v", again)
	}
}

// TestDeterministic: the bytes do not depend on memory, cores and the order in which files come.
func TestDeterministic(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 40_000)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{Memory: 2 << 30})
	for _, memory := range []int64{options.MinMemory, 64 << 20} {
		for _, cores := range []int{5, 2, 1} {
			if testing.Short() && cores < 5 {
				break
			}
			what := fmt.Sprintf("%s, %d cores", bytesize.Format(memory), cores)
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", memory, cores))
			before := runtime.GOMAXPROCS(cores)
			runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: memory, WorkDir: t.TempDir()})
			runtime.GOMAXPROCS(before)
			runtest.SameFiles(t, what, base, out)
		}
	}
}

// TestMillionRows: 64 MiB give the same bytes as 2 GiB.
func TestMillionRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	dir := jobdir.Check(t, jobdir.CheckJob, 1_000_000)
	work := t.TempDir()
	large, small := filepath.Join(dir, "large"), filepath.Join(dir, "small")
	runtest.Must(t, jobtest.Check(t, dir, large), options.Options{Memory: 2 << 30, WorkDir: work})
	s := runtest.Must(t, jobtest.Check(t, dir, small), options.Options{Memory: 64 << 20, WorkDir: work})
	if s.Sort.Runs == 0 || s.Books.Written != 1_000_000 {
		t.Errorf("with 64 MiB: %d spilled runs, books %v", s.Sort.Runs, s.Books)
	}
	runtest.SameFiles(t, "64 MiB", large, small)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("the work folder still holds %v (%v)", left, err)
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for _, stop := range []options.Point{options.Planned, options.Sorted, options.Verified, options.Recorded} {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := run.Job(ctx, nil, jobtest.Check(t, dir, out), options.Options{Failpoint: func(p options.Point) {
			if p == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil || failure.KindOf(err) != failure.Interrupted || s == nil {
			t.Errorf("stopped at %q: %v", stop, err)
		}
		runtest.NothingLeft(t, out)
	}
	if s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{}); s.Books.Written != 4000 {
		t.Errorf("went on with books %v", s.Books)
	}
	runtest.SameFiles(t, "interrupted", base, out)
}

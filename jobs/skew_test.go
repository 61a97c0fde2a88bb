package jobs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/parallel"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestKilledSlicesGoOn: what was written of a region before a kill is not written again.
func TestKilledSlicesGoOn(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 6000, sample.Options{Skew: 95})
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	var all atomic.Int64
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{Failpoint: func(p options.Point) {
		if p == options.Begun {
			all.Add(1)
		}
	}})
	for _, at := range []options.Point{options.Renamed, options.Recorded} {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		runtest.Crash(t, dir, at, 6)
		var begun atomic.Int64
		runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Failpoint: func(p options.Point) {
			if p == options.Begun {
				begun.Add(1)
			}
		}})
		// Of the six, those under way beside each other may have been renamed and not yet recorded.
		if n := all.Load() - begun.Load(); n < max(6-int64(parallel.Workers()+1), 1) || n > 6 {
			t.Errorf("killed when the 6th of %d slices was %s: %d were not written again", all.Load(), at, n)
		}
		runtest.SameFiles(t, "resumed", base, out)
		runtest.NothingLeft(t, out)
	}
}

func TestSliceOtherThanWritten(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{Skew: 95})
	out := filepath.Join(dir, "out")
	runtest.Crash(t, dir, options.Recorded, 4)
	falsify(t, out, func(m *manifest.Manifest) {
		i := slices.IndexFunc(m.Slices, func(r manifest.Slice) bool { return strings.HasPrefix(r.Start, "7") })
		m.Slices[i].Start = "7" + m.Slices[i].Start
	})
	_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{})
	if failure.KindOf(err) != failure.Differs || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a run whose slices begin elsewhere: %v", err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Force: true})
}

// TestInputTooLargeForItsFiles: an input that is far too large for files of max_size is refused before it is read.
func TestInputTooLargeForItsFiles(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{})
	j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
	j.HFile.MaxSize, j.Load = 512, true
	o := options.Options{NoLoad: true, WorkDir: t.TempDir(), Failpoint: func(p options.Point) { t.Errorf("the run came to %s", p) }}
	_, err := run.Job(t.Context(), nil, j, o)
	if failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "hfile.max_size") || !strings.Contains(err.Error(), load.MaxFilesProperty) {
		t.Errorf("%v", err)
	}
}

// TestTooManyFilesAreForetold: an input that is too large for its files, but not by far, is warned of before the sort, and
// refused after it; one that fits is neither. The same goes for Parquet, whose files say little of how large their cells are.
func TestTooManyFilesAreForetold(t *testing.T) {
	text := filepath.Join(jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{}), "check.yaml")
	for _, c := range []struct {
		job      string
		size     int64
		foretold bool
	}{{text, 20 << 10, true}, {text, 200 << 10, false}, {"examples/check-parquet.yaml", 1 << 10, true}, {"examples/check-parquet.yaml", 20 << 10, false}} {
		j, err := jobfile.Read(c.job, jobfile.ReadOptions{Date: jobdir.Date})
		if err != nil {
			t.Fatal(err)
		}
		j.Output, j.HFile.MaxSize, j.Load = filepath.Join(t.TempDir(), "out"), c.size, true
		warned, sorted := false, false
		o := options.Options{NoLoad: true, WorkDir: t.TempDir(), Properties: map[string]string{load.MaxFilesProperty: "8"}}
		o.Say = func(text string) {
			warned = warned || !sorted && strings.Contains(text, "judging by its first records")
		}
		o.Failpoint = func(p options.Point) { sorted = sorted || p == options.Sorted }
		_, err = run.Job(t.Context(), nil, j, o)
		if warned != c.foretold || !sorted || (failure.KindOf(err) == failure.Refused) != c.foretold {
			t.Errorf("%s, max_size %s: warned %v, %v", c.job, bytesize.Format(c.size), warned, err)
		}
	}
}

package jobs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/parallel"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
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

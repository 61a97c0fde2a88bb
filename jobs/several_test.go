package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// TestDecisiveFailure: of several failures one decides for all, whatever their order: one that another try may mend, or
// else the one that needs a person most. Each has its own code in the text.
func TestDecisiveFailure(t *testing.T) {
	kinds := []failure.Kind{failure.Interrupted, failure.Later, failure.NotYet, failure.Differs, failure.Failed, failure.Rejects, failure.Refused, failure.Usage}
	j := &jobfile.Job{Path: "a.yaml", Date: jobdir.Date}
	for i, a := range kinds {
		for k, b := range kinds {
			x, y := failure.New(a, errors.New("x")), failure.New(b, errors.New("y"))
			r := &several{series: []seriesResult{{job: j, err: x}, {job: j}, {job: j, err: y}}}
			err := r.err(context.Background())
			if got := failure.KindOf(err); got != kinds[min(i, k)] {
				t.Errorf("%d and %d: %d", a, b, got)
			}
			want := fmt.Sprintf("a.yaml for 2026-11-20: x [%s]\na.yaml for 2026-11-20: y [%s]", failure.CodeOf(x), failure.CodeOf(y))
			if got := failure.TextOf(err); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		}
	}
	r := &several{series: []seriesResult{{}, {}}}
	if err := r.err(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestRunsSideBySide: two jobs run at the same time give the files that each gives alone, and their progress adds up.
func TestRunsSideBySide(t *testing.T) {
	var all []Series
	var alone []string
	for range 2 {
		dir := jobdir.Check(t, jobdir.CheckJob, 2000)
		j := jobtest.Check(t, dir, filepath.Join(dir, "alone"))
		runtest.Must(t, j, options.Options{})
		alone = append(alone, j.Output)
		all = append(all, Series{jobtest.Check(t, dir, filepath.Join(dir, "beside"))})
	}
	var atWork, most atomic.Int32
	both := make(chan bool)
	o := SeveralOptions{Parallel: 2}
	o.WorkDir = t.TempDir()
	var whole atomic.Int64
	o.Watch = func(p options.Progress) { whole.Store(max(whole.Load(), int64(1000*p.Whole))) }
	o.Failpoint = func(p options.Point) {
		if p == options.Planned { // each waits for the other here
			if n := atWork.Add(1); n == 2 {
				most.Store(n)
				close(both)
			}
			<-both
		}
	}
	s, err := RunSeveral(context.Background(), all, o)
	if err != nil || s.Status != failure.StatusDone || len(s.Runs) != 2 || most.Load() != 2 {
		t.Fatalf("%+v, %v, %d at a time", s, err, most.Load())
	}
	if whole.Load() < 900 || whole.Load() > 1000 {
		t.Errorf("the progress ends at %d thousandths", whole.Load())
	}
	for i := range all {
		runtest.SameFiles(t, "side by side", alone[i], all[i][0].Output)
	}
}

// TestStoppedRange: a range that is stopped names what it did not begin, and the same command goes on there.
func TestStoppedRange(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	var range3 Series
	for i := range 3 {
		date := jobdir.Date.AddDate(0, 0, i)
		if i > 0 {
			if err := os.CopyFS(filepath.Join(dir, "in", date.Format(time.DateOnly)), os.DirFS(filepath.Join(dir, "in/2026-11-20"))); err != nil {
				t.Fatal(err)
			}
		}
		j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: date})
		if err != nil {
			t.Fatal(err)
		}
		range3 = append(range3, j)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := SeveralOptions{}
	o.Failpoint = func(p options.Point) {
		if p == options.Sorted {
			cancel()
		}
	}
	s, err := RunSeveral(ctx, []Series{range3, range3[:1]}, o)
	if failure.KindOf(err) != failure.Interrupted || len(s.Runs) != 1 ||
		strings.Count(err.Error(), "check.yaml for 2026-11-20: ") != 2 || !testwords.Names(err, "2026-11-21", "2026-11-22") {
		t.Errorf("%d runs, %v", len(s.Runs), err)
	}
	s, err = RunSeveral(context.Background(), []Series{range3}, SeveralOptions{})
	if err != nil || len(s.Runs) != 3 || s.Runs[2].Counts.Written != 400 {
		t.Errorf("the same again: %+v, %v", s, err)
	}
}

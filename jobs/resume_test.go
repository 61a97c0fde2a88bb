package jobs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// TestPlannedRegionsReadTheInputOnce: a run that came to its end before its first slice does not look for its boundaries again.
func TestPlannedRegionsReadTheInputOnce(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 7) + id"), jobdir.Numbers(2000))
	j := jobtest.Check(t, dir, filepath.Join(dir, "a"))
	run := func(force bool, stop options.Point) (planned int, err error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := options.Options{WorkDir: dir, Force: force, Say: func(text string) {
			if strings.Contains(text, "were planned from the input") {
				planned++
			}
		}}
		o.Failpoint = func(p options.Point) {
			if p == stop {
				cancel()
			}
		}
		s, err := run.Job(ctx, nil, j, o)
		if err == nil && len(s.Regions) != 7 {
			t.Errorf("%d regions", len(s.Regions))
		}
		return planned, err
	}
	for i, c := range []struct {
		force bool
		stop  options.Point
		want  int
	}{{false, options.Planned, 1}, {false, options.Planned, 0}, {true, options.Planned, 1}, {false, "", 0}} {
		planned, err := run(c.force, c.stop)
		if planned != c.want || (c.stop == "") != (err == nil) {
			t.Errorf("run %d: planned %d times, want %d; %v", i, planned, c.want, err)
		}
	}
	if m, err := manifest.Read(storage.Local, filepath.Join(dir, "a")); err != nil || len(m.Splits) != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}

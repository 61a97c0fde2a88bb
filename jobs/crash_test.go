package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

// TestKilledRunGoesOn kills a run with SIGKILL at each of its points; the same command then gives the bytes of a run
// that was left alone, and once more does nothing.
func TestKilledRunGoesOn(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for _, c := range []struct {
		at    options.Point
		times int
	}{
		{options.Planned, 1}, {options.Sorted, 1}, {options.Verified, 1}, {options.Verified, 4}, {options.Renamed, 1}, {options.Renamed, 5},
		{options.Recorded, 1}, {options.Recorded, 9}, {options.Balanced, 1}, {options.Written, 1},
	} {
		t.Run(string(c.at)+strconv.Itoa(c.times), func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			runtest.Crash(t, dir, c.at, c.times)
			s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
			if s.Books.Written != 2000 {
				t.Errorf("books %v", s.Books)
			}
			runtest.SameFiles(t, "resumed", base, out)
			runtest.NothingLeft(t, out)
			if again := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{}); again.Status != failure.StatusNothing {
				t.Errorf("a run after that says %s", again.Status)
			}
			if _, err := os.Stat(filepath.Join(out, ingest.SuccessName)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKilledRunGivesWay: another run takes the place of a killed one with --force, whatever that one has left.
func TestKilledRunGivesWay(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	out := filepath.Join(dir, "out")
	for _, at := range []options.Point{options.Renamed, options.Recorded} {
		runtest.Crash(t, dir, at, 4)
		part := filepath.Join(dir, "in/2026-11-20/part-m-00003")
		content, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		j := jobtest.Check(t, dir, out)
		j.Input.MaxRejects.Count = 1 // the record that was cut
		if _, err := run.Job(context.Background(), nil, j, options.Options{}); failure.KindOf(err) != failure.Refused {
			t.Errorf("%s: another run without --force: %v", at, err)
		}
		runtest.Must(t, j, options.Options{Force: true})
		if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if err := os.WriteFile(part, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}

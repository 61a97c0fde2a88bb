package source_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
)

// stepClock is a clock that continues only while somebody sleeps; at is called after each sleep with the time since the
// beginning.
type stepClock struct {
	passed time.Duration
	at     func(time.Duration)
}

func (c *stepClock) clock() options.Clock {
	begin := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	return options.Clock{
		Now: func() time.Time { return begin.Add(c.passed) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.passed += d
			c.at(c.passed)
			return ctx.Err()
		},
	}
}

// waitingRun runs the check job of a folder and gives what it said.
func waitingRun(ctx context.Context, t *testing.T, dir string, c *stepClock, limit time.Duration) (s *summary.Summary, notes string, err error) {
	t.Helper()
	var said []string
	o := options.Options{Wait: options.Wait{For: limit, Clock: c.clock()}, Say: func(text string) { said = append(said, text) }}
	waits := 0
	o.Watch = func(p options.Progress) {
		if p.Phase == "wait" {
			if waits++; p.Done > p.Total || p.Whole != 0 {
				t.Errorf("the wait's progress: %+v", p)
			}
		}
	}
	s, err = run.Job(ctx, nil, jobtest.Check(t, dir, filepath.Join(dir, "out")), o)
	if waits == 0 {
		t.Error("the wait shows no progress")
	}
	return s, strings.Join(said, "\n"), err
}

// TestWaitForTheInput: a run waits for its input until that does not change any more, and says once a minute that it
// waits.
func TestWaitForTheInput(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	in, away := filepath.Join(dir, "in/2026-11-20"), filepath.Join(dir, "away")
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	move := func(part string) {
		if err := os.Rename(filepath.Join(away, part), filepath.Join(in, part)); err != nil {
			t.Fatal(err)
		}
	}
	c := &stepClock{}
	c.at = func(passed time.Duration) {
		switch passed {
		case 150 * time.Second:
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
		case 200 * time.Second:
			move("part-m-00000")
			move("part-m-00001")
		case 240 * time.Second: // within the minute
			move("part-m-00002")
			move("part-m-00003")
		}
	}
	s, said, err := waitingRun(context.Background(), t, dir, c, 2*time.Hour)
	if err != nil || s.Counts.Written != 400 {
		t.Fatalf("%v, counts %v\n%s", err, s.Counts, said)
	}
	if c.passed != 300*time.Second {
		t.Errorf("waited %v, want 5m: a minute after the last file", c.passed)
	}
	if n := strings.Count(said, "waiting for the input"); n != 5 { // at the beginning, and after each of four minutes
		t.Errorf("%d notes\n%s", n, said)
	}
	for _, want := range []string{"at most 2h0m0s: the input file://", "does not exist", "has no file yet", "2m0s so far", "must not change for 1m0s"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing is said of %q:\n%s", want, said)
		}
	}
}

// TestWaitForSuccess: where _SUCCESS is wanted, it alone counts.
func TestWaitForSuccess(t *testing.T) {
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "input:\n", "input:\n  require_success: true\n", 1), 400)
	c := &stepClock{}
	c.at = func(passed time.Duration) {
		if passed == 30*time.Second {
			if err := os.WriteFile(filepath.Join(dir, "in/2026-11-20/_SUCCESS"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s, said, err := waitingRun(context.Background(), t, dir, c, time.Minute); err != nil || s.Counts.Written != 400 || c.passed != 30*time.Second {
		t.Errorf("waited %v: %v\n%s", c.passed, err, said)
	}
}

// TestWaitEnds: after the time that was given, and at once when the run is stopped.
func TestWaitEnds(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4)
	if err := os.Rename(filepath.Join(dir, "in"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	c := &stepClock{at: func(time.Duration) {}}
	_, _, err := waitingRun(context.Background(), t, dir, c, 95*time.Second)
	if failure.CodeOf(err) != errcode.InputMissing || c.passed != 95*time.Second {
		t.Errorf("after %v: %v", c.passed, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c = &stepClock{at: func(passed time.Duration) {
		if passed == 20*time.Second {
			cancel()
		}
	}}
	_, _, err = waitingRun(ctx, t, dir, c, time.Hour)
	if failure.KindOf(err) != failure.Interrupted || c.passed != 20*time.Second {
		t.Errorf("after %v: %v", c.passed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("the output was made")
	}
}

// TestEmptyParquetFails: input.empty: fail holds for a Parquet file without rows, on the first run and after a finished
// one.
func TestEmptyParquetFails(t *testing.T) {
	text := strings.Replace(strings.Replace(jobdir.CheckJob, "  record_delimiter: '\\x10'\n", "", 1), "input:\n", "input:\n  format: parquet\n", 1)
	dir := jobdir.Of(t, text, nil)
	jobdir.CheckParquet(t, filepath.Join(dir, "in/2026-11-20/part-0"), 0, 0)
	for i, fails := range []bool{true, false, true} {
		j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
		j.Input.EmptyFails = fails
		s, err := run.Job(context.Background(), nil, j, options.Options{})
		if !fails && (err != nil || s.Status != failure.StatusEmpty) || fails && failure.KindOf(err) != failure.Refused {
			t.Errorf("run %d, failing: %v: %v", i, fails, err)
		}
	}
}

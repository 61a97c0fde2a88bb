package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
)

const (
	lookEvery = 10 * time.Second // how often a wait lists the input, or less if files need be quiet only for a short time
	heartbeat = time.Minute      // how often a wait is reported
)

// Await is Open, but waits up to o.Wait.For for an input that does not exist yet. Without input.require_success nothing
// shows that an export is finished, so the files must then be unchanged for o.Wait.QuietPeriod. A file system that is
// down for a while does not end the wait. If the input does not come, the error is failure.NotYet.
func Await(ctx context.Context, j *jobfile.Job, s *site.Site, o options.Options) (*Source, error) {
	clock := o.Wait.Clock
	w := &waiter{job: j, options: o, begun: clock.Now()}
	pause := min(lookEvery, max(time.Second, o.Wait.QuietPeriod))
	for {
		src, err := Open(j, s)
		if err == nil {
			if err = w.atRest(src); err == nil {
				return src, nil
			}
			err = errors.Join(err, src.Close())
		}
		if kind := failure.KindOf(err); kind != failure.NotYet && kind != failure.Later {
			return nil, err
		}
		waited := clock.Now().Sub(w.begun)
		if waited >= o.Wait.For {
			return nil, fmt.Errorf("%w; waited %v for it", err, o.Wait.For)
		}
		w.show(waited)
		w.logWait(waited, err)
		if err := clock.Sleep(ctx, min(pause, o.Wait.For-waited)); err != nil {
			return nil, fmt.Errorf("wait for the input: %w", err)
		}
	}
}

// show passes on how long the wait has lasted. The wait is not part of the run's own progress.
func (w *waiter) show(waited time.Duration) {
	if w.options.Watch != nil {
		w.options.Watch(options.Progress{Phase: "wait", Done: int64(waited.Seconds()),
			Total: int64(w.options.Wait.For.Seconds()), Unit: "seconds"})
	}
}

// waiter is a wait for an input.
type waiter struct {
	job     *jobfile.Job
	options options.Options
	begun   time.Time
	said    time.Time           // when it was last reported; zero: not yet
	files   []ingest.SourceFile // at the last check
	since   time.Time           // when they were first seen in this state
}

// atRest returns an error if the files may still be written.
func (w *waiter) atRest(src *Source) error {
	if w.job.Input.RequireSuccess {
		return nil
	}
	now := w.options.Wait.Clock.Now()
	if w.since.IsZero() || !slices.EqualFunc(w.files, src.Files, ingest.SourceFile.Same) {
		w.files, w.since = src.Files, now
	}
	if now.Sub(w.since) >= w.options.Wait.QuietPeriod {
		return nil
	}
	return errcode.InputUnfinished.Errorf("the input %s has %s of %d bytes, which must not change for %v before they "+
		"are read (--wait-settle)",
		src.FS.URI(src.root), jobfile.Plural(len(src.Files), "file"), src.Bytes, w.options.Wait.QuietPeriod)
}

// logWait reports the wait when it begins, and once a minute.
func (w *waiter) logWait(waited time.Duration, reason error) {
	now := w.begun.Add(waited)
	switch {
	case w.said.IsZero():
		w.options.Infof("waiting for the input, at most %v: %v", w.options.Wait.For, reason)
	case now.Sub(w.said) >= heartbeat:
		w.options.Infof("waiting for the input, %v so far: %v", waited.Round(time.Second), reason)
	default:
		return
	}
	w.said = now
}

package run

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"bulkload/jobs/base/options"
	"bulkload/jobs/run/preflight"
)

// check makes all checks before any input is read, for the outputs that are to be written and for those that wait for
// their load. It logs warnings, and sets the targets of the outputs that are to be written. Its error has all failures.
func (r *runner) check(ctx context.Context, todo []*outputRun) error {
	var all preflight.CheckResults
	var failed *outputRun
	begun := time.Now()
	for _, w := range r.opened.outputs {
		writes := slices.Contains(todo, w)
		if !writes && !w.waitsForLoad() {
			continue
		}
		if err := w.announce(ctx, r.opened.lost); err != nil {
			return r.opened.wrap(w, err)
		}
		o := r.opened.checksOf(w)
		found := o.Check(ctx)
		if writes {
			w.target = o.Target
			found = append(found, r.opened.fileLimit(w.out.Job, w.target).Findings()...)
		}
		if found.Err() != nil {
			failed = w
		}
		all = append(all, r.opened.label(w.out.Job, found)...)
		w.report.Checks = found
	}
	if len(todo) > 0 {
		r.summary.Disks = r.opened.disksOf(todo, r.opened.kept).Check()
		all = append(all, r.summary.Disks...)
	}
	warn(all, r.opened.options)
	if len(all) > 0 {
		r.opened.options.Detail(options.LevelStage, "checks done", slog.Int("checks", len(all)),
			slog.Int("failed", len(all.Failed())), slog.Float64("seconds", time.Since(begun).Seconds()))
	}
	err := all.Err()
	if _, several := err.(*preflight.FailedError); several || failed == nil {
		return err
	}
	return r.opened.wrap(failed, err)
}

// warn logs the warnings among the results.
func warn(all preflight.CheckResults, log options.Options) {
	for i := range all {
		if all[i].State == preflight.Warning {
			log.Warnf("%s: %s", all[i].Name, all[i].Text())
		}
	}
}

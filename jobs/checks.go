package jobs

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/preflight"
	"bulkload/jobs/tablelock"
	"bulkload/jobs/target"
)

// checkFirst makes all checks before any input is read, of the outputs that are to be written (todo) and of those that wait
// for their load. It warns of what is doubtful, and sets the targets of the outputs in todo. The error has all failures.
func (r *runner) checkFirst(ctx context.Context, todo []*outputRun, summary *Summary) error {
	var all preflight.Findings
	var failed *outputRun
	begun := time.Now()
	for _, w := range r.outputs {
		writes := slices.Contains(todo, w)
		if !writes && !w.waitsForLoad() {
			continue
		}
		if err := w.announce(ctx, r.lost); err != nil {
			return r.wrapOutput(w, err)
		}
		o := w.checks()
		found := o.Check(ctx)
		if writes {
			w.target = o.Target
			found = append(found, w.checkSize()...)
		}
		if found.Err() != nil {
			failed = w
		}
		all = append(all, r.label(w, found)...)
		w.report.Checks = found
	}
	if len(todo) > 0 {
		summary.Disks = r.checkDisk(todo)
		all = append(all, summary.Disks...)
	}
	r.warn(all)
	if len(all) > 0 {
		r.options.Detail(options.LevelStage, "checks done", slog.Int("checks", len(all)), slog.Int("failed", len(all.Failed())), slog.Float64("seconds", time.Since(begun).Seconds()))
	}
	err := all.Err()
	if _, several := err.(*preflight.FailedError); several || err == nil || failed == nil {
		return err
	}
	return r.wrapOutput(failed, err)
}

// label names the table in an output's findings, if there are several outputs.
func (r *runner) label(w *outputRun, found preflight.Findings) preflight.Findings {
	if r.job.Outputs == nil {
		return found
	}
	var all preflight.Findings
	for _, f := range found {
		all = append(all, f.Of(w.out.Job.Table))
	}
	return all
}

// warn logs what is doubtful.
func (r *runner) warn(all preflight.Findings) {
	for i := range all {
		if all[i].State == preflight.Warning {
			r.options.Warnf("%s: %s", all[i].Name, all[i].Text())
		}
	}
}

// waitsForLoad reports whether the files are written and none was handed over yet. An interrupted load is not checked here:
// what it needs first is its recovery.
func (w *outputRun) waitsForLoad() bool {
	return w.out.WantsLoad() && w.out.Manifest.State == manifest.Written
}

// checks are the checks of an output at the beginning of a run.
func (w *outputRun) checks() *preflight.Output {
	o := &preflight.Output{Job: w.out.Job, Site: w.out.Site, Loads: w.out.WantsLoad(), Cluster: w.loader.Cluster,
		FS: w.out.FS, Dir: w.out.Path, Temps: w.out.TempFolder, Brief: true, Now: time.Now()}
	o.Written = w.out.Manifest != nil && w.out.Manifest.State == manifest.Written
	if w.out.Source != nil && !o.Written {
		o.Need = func(t *target.Target) int64 { return w.outputNeed(t) }
	}
	if w.loader.Table != nil {
		o.Others = w.loader.Table.Others
	}
	return o
}

// checkSize refuses an input that is far too large for its files.
func (w *outputRun) checkSize() preflight.Findings {
	if w.target == nil {
		return nil
	}
	if err := w.checkInputSize(); err != nil {
		return preflight.Findings{preflight.Fail("number of files", err, "")}
	}
	return nil
}

// announce makes the run known to others into the same table.
func (w *outputRun) announce(ctx context.Context, lost func(error)) error {
	if w.loader.Ledger == nil || w.loader.Table != nil {
		return nil
	}
	w.loader.Table = tablelock.Open(w.loader.Ledger, w.out.Job.Table, w.out.Site.User, title(w.out.Job), w.out.FS.URI(w.out.Path), lost)
	return w.loader.Table.Announce(ctx)
}

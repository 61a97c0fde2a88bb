// Package run carries out one job: it opens what the job needs, makes the checks, sorts, writes, verifies and loads. It
// knows the order of the stages; each stage has its own package.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/parallel"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// Job runs a job: it reads, sorts, writes, verifies and loads what is not done yet. engine decides whether the run is
// done by tasks; nil: in this process. The summary is returned on failure, too. Canceling the context stops the run; the
// same call continues it.
//
// If one reading feeds several outputs, all of them are written and balanced before the first is loaded. They are
// loaded in the order of the job file.
func Job(ctx context.Context, engine EngineOf, j *jobfile.Job, o options.Options) (*summary.Summary, error) {
	return carryOut(ctx, engine, j, o, (*runner).untilServed)
}

// carryOut opens what a run needs, and calls do with it.
func carryOut(ctx context.Context, engine EngineOf, j *jobfile.Job, o options.Options, do func(*runner, context.Context) error) (*summary.Summary, error) {
	s := summary.New(j)
	o, err := o.WithDefaults()
	if err != nil {
		return s, err
	}
	o = o.With("job", s.Run.Job, "date", s.Run.Date)
	s.SetOptions(o)
	by, free, err := engine.of(j, o)
	if err != nil {
		return s, err
	}
	defer free()
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opened, err := open(running, j, by != nil, o, func(err error) { cancel(failure.New(failure.Later, err)) })
	var missing *source.MissingError
	switch {
	case err == nil:
		r := &runner{opened: opened, by: by, summary: s}
		err = errors.Join(opened.explainLock(running, do(r, running)), opened.close())
	case errors.As(err, &missing) && mayBeArchived(j, o):
		err = loadedWithoutInput(running, j, o, opened.site, s, err)
	}
	switch cause := context.Cause(running); {
	case err == nil:
		s.FindBound(parallel.Workers())
		return s, nil
	case ctx.Err() != nil:
		err = failure.New(failure.Interrupted, fmt.Errorf("stopped; the same command goes on from here: %w", err))
	case cause != nil && failure.KindOf(cause) == failure.Later:
		err = cause
	}
	return s, err
}

// runner carries out a run after open. Each step is a method of the value that only the previous step returns, so no step
// can be left out:
//
//	runner.resume → resumed.check → checked.write → written.finish
//
// and within checked.write
//
//	checked.aim → targeted.here or targeted.byTasks → sorted.prepare → ready.write or ready.writeByTasks
type runner struct {
	opened  *opened
	by      *ByTasks // nil: the run is done in this process
	summary *summary.Summary
}

// maxRewrites bounds how often a run writes files again that HBase accepted and does not serve.
const maxRewrites = 3

// untilServed makes the run. If the table does not serve files that it accepted, it makes the run again, which writes and
// loads them again.
func (r *runner) untilServed(ctx context.Context) error {
	for rewrites := 0; ; rewrites++ {
		err := r.once(ctx)
		var lost *loading.RewriteError
		if !errors.As(err, &lost) || rewrites == maxRewrites || ctx.Err() != nil {
			return err
		}
		r.opened.options.Warnf("%v: writing and loading their rows again", lost.Lost)
		r.opened.options.Force = false // the output has this run's own files now
		for _, w := range r.opened.outputs {
			w.out.Options.Force = false
		}
	}
}

// once makes all steps of the run.
func (r *runner) once(ctx context.Context) error {
	resumed, err := r.resume(ctx)
	if err != nil {
		return err
	}
	checked, err := resumed.check(ctx)
	if err != nil {
		return err
	}
	written, err := checked.write(ctx)
	if err != nil {
		return err
	}
	return written.finish(ctx)
}

// resumed is a run that was compared with what its outputs have.
type resumed struct {
	run  *runner
	todo []*outputRun // the outputs that are not written yet
}

// resume compares the outputs with the run.
func (r *runner) resume(ctx context.Context) (*resumed, error) {
	next := &resumed{run: r}
	for i, w := range r.opened.outputs {
		finished, err := r.resumeOutput(ctx, i)
		if err != nil {
			return nil, r.opened.wrap(w, r.inputFirst(ctx, err))
		}
		if finished {
			w.reportWritten()
		} else {
			next.todo = append(next.todo, w)
		}
	}
	return next, nil
}

// resumeOutput compares the i-th output with the run. It is finished if it is written, or if the ledger says that it was loaded from
// an output that is gone.
func (r *runner) resumeOutput(ctx context.Context, i int) (finished bool, err error) {
	w := r.opened.outputs[i]
	w.report = r.summary.Output(i)
	w.report.Output = w.out.FS.URI(w.out.Path)
	w.target = nil
	finished, err = w.out.Resume(ctx)
	w.report.SetManifest(w.out.Manifest)
	if w.out.Manifest != nil {
		w.out.Options = r.opened.options.With("table", w.out.Job.Table, "run", w.out.Manifest.Run.ID)
		w.share = r.opened.shareOf(i)
	}
	switch {
	case err != nil:
		return false, err
	case finished:
		return true, errors.Join(w.out.MarkSuccess(), sorting.CheckEmpty(&r.opened.job.Input, w.out.Manifest.Books.Read))
	case w.out.IsEmpty():
		if finished, err := w.loader.LoadedElsewhere(ctx); finished || err != nil {
			return finished, err
		}
	}
	return false, w.loader.Corrects()
}

// inputFirst reports what is wrong with the input before the refusal of an output with another run: a job file that
// was edited and does not fit its input makes another run, too, but that is not the fault to correct.
func (r *runner) inputFirst(ctx context.Context, err error) error {
	var another *output.AnotherRunError
	if !errors.As(err, &another) {
		return err
	}
	if wrong := sorting.TryInput(ctx, r.opened.source, r.opened.options); wrong != nil {
		return fmt.Errorf("%w\nbesides, %v", wrong, err)
	}
	return err
}

// written is a run whose outputs are all written.
type written struct {
	run *runner
	now []*outputRun // the outputs that were written by this call
}

// finish loads the outputs.
func (f *written) finish(ctx context.Context) error {
	for _, w := range f.run.opened.outputs {
		if err := f.finishOutput(ctx, w); err != nil {
			return f.run.opened.wrap(w, err)
		}
	}
	// The load of one output may take hours, in which the table of another may have changed.
	if len(f.run.opened.outputs) > 1 {
		for _, w := range f.run.opened.outputs {
			if w.out.WantsLoad() && w.out.Manifest.State == manifest.Loaded {
				if err := w.loader.CheckServed(ctx); err != nil {
					return f.run.opened.wrap(w, err)
				}
			}
		}
	}
	f.run.summary.SetStatus()
	if slices.ContainsFunc(f.run.opened.outputs, (*outputRun).unloaded) {
		return nil // the plan of its tasks, if there were any, is needed for the load
	}
	if err := f.run.opened.clearTasks(); err != nil { // the run is done all the same
		f.run.opened.options.Warnf("%v; the next run into the output deletes it", err)
	}
	return nil
}

// finishOutput loads an output if required, and sets its final status.
func (f *written) finishOutput(ctx context.Context, w *outputRun) error {
	wanted := w.out.WantsLoad()
	w.report.Load.Requested = wanted
	switch {
	case wanted && w.out.Manifest.State != manifest.Loaded:
		if err := w.announce(ctx, f.run.opened.lost); err != nil { // a load that was interrupted takes its turn, too
			return err
		}
		if err := w.load(ctx, f.run.summary); err != nil {
			return err
		}
		w.out.Options.Failpoint.Reached(options.Loaded)
		w.report.Fill(w.out.Manifest)
		w.report.Status = failure.StatusDone
	case !slices.Contains(f.now, w):
		if wanted {
			if err := w.loader.CheckServed(ctx); err != nil {
				return err
			}
		}
		w.report.Status = failure.StatusNothing
	default:
		if err := w.out.CheckLock(); err != nil { // the files may be another run's by now
			return err
		}
		w.report.Status = failure.StatusDone
	}
	if w.report.Books.Read == 0 && w.report.Status == failure.StatusDone {
		w.report.Status = failure.StatusEmpty
	}
	return nil
}

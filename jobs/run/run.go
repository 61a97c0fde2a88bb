// Package run carries out one job: it opens what the job needs, makes the checks, sorts, writes, verifies and loads. It
// knows the order of the stages; each stage has its own package.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/ingest"
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

// runner carries out a run after open.
type runner struct {
	opened  *opened
	by      *ByTasks // nil: the run is done in this process
	summary *summary.Summary

	splits []ingest.Split  // of the input, once the targets are known
	rows   []*sorting.Rows // of each output, once the input is sorted; nil for those that were written before
}

// maxRewrites bounds how often a run writes files again that HBase accepted and does not serve.
const maxRewrites = 3

// untilServed makes the run. If the table does not serve files that it accepted, it makes the run again, which writes and
// loads them again.
func (r *runner) untilServed(ctx context.Context) error {
	for rewrites := 0; ; rewrites++ {
		err := r.stages(ctx)
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

// pipeline is how the input is sorted and the files are written: inProcess or onEngine. todo are the outputs that are not written yet.
type pipeline interface {
	// begin opens what the sort needs, and makes the checks that need the targets (beginOutputs).
	begin(ctx context.Context, todo []*outputRun) error
	// sort reads the input and sorts each output's rows into runner.rows.
	sort(ctx context.Context, todo []*outputRun) error
	// write writes the files of the outputs, and balances the counts of each.
	write(ctx context.Context, todo []*outputRun) error
	// end closes what begin has opened. err is how the stages before it ended, and part of the result.
	end(ctx context.Context, err error) error
}

// stages makes the run. These are its stages, in order. After an error the later ones are left out, but for the pipeline's
// end.
func (r *runner) stages(ctx context.Context) error {
	todo, err := r.resume(ctx)
	if err != nil {
		return err
	}
	if err := r.check(ctx, todo); err != nil {
		return err
	}
	if len(todo) == 0 {
		err = r.opened.forgetWork()
	} else {
		var p pipeline = &inProcess{runner: r}
		if r.by != nil {
			p = &onEngine{runner: r}
		}
		for _, stage := range []func(context.Context, []*outputRun) error{r.resolveTargets, p.begin, p.sort, r.prepare, p.write} {
			if err = stage(ctx, todo); err != nil {
				break
			}
		}
		err = p.end(ctx, errors.Join(err, sorting.CloseRows(r.rows)))
		r.rows = nil
	}
	if err != nil {
		return err
	}
	return r.load(ctx, todo)
}

// resume compares the outputs with the run, and returns those that are not written yet.
func (r *runner) resume(ctx context.Context) (todo []*outputRun, err error) {
	for i, w := range r.opened.outputs {
		finished, err := r.resumeOutput(ctx, i)
		if err != nil {
			return nil, r.opened.wrap(w, r.inputFirst(ctx, err))
		}
		if finished {
			w.reportWritten()
		} else {
			todo = append(todo, w)
		}
	}
	return todo, nil
}

// resumeOutput compares the i-th output with the run. It is finished if it is written, or if the ledger says that it was loaded from
// an output that is gone.
func (r *runner) resumeOutput(ctx context.Context, i int) (finished bool, err error) {
	w := r.opened.outputs[i]
	w.report = r.summary.Output(i)
	w.report.Output = w.out.FS.URI(w.out.Path)
	w.target = nil
	old, err := manifest.Read(w.out.FS, w.out.Path)
	if err != nil {
		return false, err
	}
	finished, err = w.out.Resume(ctx, old)
	w.report.SetManifest(w.out.Manifest)
	w.out.Options = r.opened.options.With("table", w.out.Job.Table, "run", w.out.Manifest.Run.ID)
	w.share = r.opened.shareOf(i)
	switch {
	case err != nil:
		return false, err
	case finished:
		return true, errors.Join(w.out.MarkSuccess(), sorting.CheckEmpty(&r.opened.job.Input, w.out.Manifest.Books.Read))
	case w.out.IsEmpty():
		if finished, err := w.loader.LoadedElsewhere(ctx, w.out); finished || err != nil {
			return finished, err
		}
	}
	return false, w.loader.Corrects(w.out)
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

// load loads the outputs. Those in written were written by this call.
func (r *runner) load(ctx context.Context, written []*outputRun) error {
	for _, w := range r.opened.outputs {
		if err := r.loadOutput(ctx, w, slices.Contains(written, w)); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	// The load of one output may take hours, in which the table of another may have changed.
	if len(r.opened.outputs) > 1 {
		for _, w := range r.opened.outputs {
			if w.out.WantsLoad() && w.out.Manifest.State == manifest.Loaded {
				if err := w.loader.CheckServed(ctx); err != nil {
					return r.opened.wrap(w, err)
				}
			}
		}
	}
	r.summary.SetStatus()
	if slices.ContainsFunc(r.opened.outputs, (*outputRun).unloaded) {
		return nil // the plan of its tasks, if there were any, is needed for the load
	}
	if err := r.opened.clearTasks(); err != nil { // the run is done all the same
		r.opened.options.Warnf("%v; the next run into the output deletes it", err)
	}
	return nil
}

// loadOutput loads an output if required, and sets its final status.
func (r *runner) loadOutput(ctx context.Context, w *outputRun, written bool) error {
	wanted := w.out.WantsLoad()
	w.report.Load.Requested = wanted
	switch {
	case wanted && w.out.Manifest.State != manifest.Loaded:
		if err := w.announce(ctx, r.opened.lost); err != nil { // a load that was interrupted takes its turn, too
			return err
		}
		if err := w.load(ctx, r.summary); err != nil {
			return err
		}
		w.out.Options.Failpoint.Reached(options.Loaded)
		w.report.Fill(w.out.Manifest)
		w.report.Status = failure.StatusDone
	case !written:
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

// Package run carries out one job: it opens what the job needs, makes the checks, sorts, writes, verifies and loads. It
// knows the order of the stages; each stage has its own package.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Job runs a job: it reads, sorts, writes, verifies and loads what is not done yet. engine decides whether tasks do the
// run; nil: this process does. The summary is returned on failure, too. Canceling the context stops the run; the same
// call continues it.
//
// If the job has several outputs, all of them are written and balanced before the first is loaded. They are loaded in
// the order of the job file.
func Job(ctx context.Context, engine EngineOf, j *jobfile.Job, o options.Options) (*summary.Summary, error) {
	r, err := newRunner(engine, j, o)
	if err != nil {
		return r.summary, err
	}
	running, err := r.open(ctx)
	if err != nil {
		return r.summary, r.end(ctx, running, r.withoutInput(running, err))
	}
	// If the table does not serve files that it accepted, the stages run again, to write and load those files again.
	for rewrites := 0; ; rewrites++ {
		err := r.stages(running)
		var lost *loading.RewriteError
		if !errors.As(err, &lost) || rewrites == maxRewrites || running.Err() != nil {
			return r.summary, r.end(ctx, running, err)
		}
		r.opened.options.Warnf("%v: writing and loading their rows again", lost.Lost)
		r.opened.options.Force = false // the output has this run's own files now
		for _, w := range r.opened.outputs {
			w.out.Options.Force = false
		}
	}
}

// maxRewrites bounds how often a run writes files again that HBase accepted but does not serve.
const maxRewrites = 3

// runner carries out a run.
type runner struct {
	opened  *opened
	by      *TaskEngine // nil: the run is done in this process
	summary *summary.Summary
	cancel  context.CancelCauseFunc

	splits []ingest.Split  // of the input, once the targets are known
	rows   []*sorting.Rows // of each output, once the input is sorted; nil for those that were written before
}

// newRunner returns a runner that has opened nothing yet. It has a summary even after an error.
func newRunner(engine EngineOf, j *jobfile.Job, o options.Options) (*runner, error) {
	r := &runner{summary: summary.New(j)}
	o, err := o.WithDefaults()
	if err != nil {
		return r, err
	}
	o = o.With("job", r.summary.Run.Job, "date", r.summary.Run.Date)
	r.summary.SetOptions(o)
	if engine != nil {
		if r.by, err = engine(j, o); err != nil {
			return r, err
		}
	}
	r.opened = &opened{job: j, tasks: r.by != nil, options: o}
	return r, nil
}

// open finds the input, connects, and locks the outputs. The context that it returns ends when a lock is lost. end must
// follow, even after an error.
func (r *runner) open(ctx context.Context) (running context.Context, err error) {
	running, r.cancel = context.WithCancelCause(ctx)
	r.opened.lost = func(err error) { r.cancel(failure.New(failure.Later, err)) }
	err = r.opened.openParts(running, opening{input: r.opened.findInput, connect: true,
		ledger: (*site.Site).OpenLedger, output: r.opened.lockOutput,
		step: func(_, _ string, err error) error { return err }})
	r.summary.Waited = r.opened.waited.Seconds()
	return running, err
}

// end closes everything, and returns the error of the run. err is the error of its stages.
func (r *runner) end(ctx, running context.Context, err error) error {
	defer r.cancel(nil)
	err = errors.Join(r.opened.explainLock(running, err), r.opened.close())
	if r.by != nil {
		if engine, ok := r.by.Engine.(io.Closer); ok {
			_ = engine.Close() // it keeps temporary files only
		}
	}
	switch cause := context.Cause(running); {
	case err == nil:
		r.summary.FindBound(parallel.Workers())
		return nil
	case ctx.Err() != nil:
		return failure.New(failure.Interrupted, fmt.Errorf("stopped; the same command goes on from here: %w", err))
	case cause != nil && failure.KindOf(cause) == failure.Later:
		return cause
	}
	return err
}

// executor sorts the input and writes the files: inProcess or onEngine. todo are the outputs that are not written yet.
type executor interface {
	// begin opens what the sort needs, and makes the checks that need the targets (beginOutputs).
	begin(ctx context.Context, todo []*outputRun) error
	// sort reads the input and sorts each output's rows into runner.rows.
	sort(ctx context.Context, todo []*outputRun) error
	// write writes the files of the outputs, and balances the counts of each.
	write(ctx context.Context, todo []*outputRun) error
	// end closes what begin has opened. err is the error of the stages before it, and part of the result.
	end(ctx context.Context, err error) error
}

// stages runs the stages of the run, in order. After an error it skips the later ones, except for the executor's end.
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
		var e executor = &inProcess{runner: r}
		if r.by != nil {
			e = &onEngine{runner: r}
		}
		sort := func(ctx context.Context, todo []*outputRun) error { return r.sort(ctx, e, todo) }
		stages := []func(context.Context, []*outputRun) error{r.resolveTargets, e.begin, sort, r.prepare, e.write}
		for _, stage := range stages {
			if err = stage(ctx, todo); err != nil {
				break
			}
		}
		err = e.end(ctx, errors.Join(err, sorting.CloseRows(r.rows)))
		r.rows = nil
	}
	if err != nil {
		return err
	}
	for _, w := range r.opened.outputs {
		if err := r.load(ctx, w, slices.Contains(todo, w)); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	return r.finish(ctx)
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

// resumeOutput compares the i-th output with the run. The output is finished if it is written, or if it is empty and,
// according to the ledger, this job and date was loaded before.
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
		return true, errors.Join(w.out.MarkSuccess(), sorting.CheckEmpty(&r.opened.job.Input, w.out.Manifest.Counts.Read))
	case w.out.IsEmpty():
		if finished, err := w.loader.LoadedElsewhere(ctx, w.out); finished || err != nil {
			return finished, err
		}
	}
	return false, w.loader.Corrects(w.out)
}

// inputFirst reports a fault of the input before the refusal of an output that has another run. An edited job file
// makes another run, but if it does not fit its input, that is the fault to correct.
func (r *runner) inputFirst(ctx context.Context, err error) error {
	var another *output.AnotherRunError
	if !errors.As(err, &another) {
		return err
	}
	if wrong := sorting.TryInput(ctx, r.opened.source, r.opened.options); wrong != nil {
		return fmt.Errorf("%w\nalso, %v", wrong, err)
	}
	return err
}

// load loads the files of an output that HBase does not have yet, if the output is to be loaded, and sets its final
// status. It succeeds only if the table serves all files. written says that this call has written files.
func (r *runner) load(ctx context.Context, w *outputRun, written bool) error {
	wanted := w.out.WantsLoad()
	w.report.Load.Requested = wanted
	switch {
	case wanted && w.out.Manifest.State != manifest.Loaded:
		if err := w.announce(ctx, r.opened.lost); err != nil { // an interrupted load takes its turn, too
			return err
		}
		w.out.Options.Watch = w.share.load
		from := time.Now()
		turn, err := w.loader.AwaitTurn(ctx)
		if err != nil {
			return err
		}
		if waited := time.Since(from); waited >= time.Second { // less is only the time to find out whether to wait
			r.summary.Waited += waited.Seconds()
		}
		err = turn.Recover(ctx)
		if err == nil {
			end := r.summary.Begin("load", w.report.Name())
			var report *load.Report
			report, err = turn.Load(ctx)
			w.report.Load.Apply(report)
			end(w.out.Manifest.Files().Loaded().Bytes(), err)
			if err == nil {
				end = r.summary.Begin("probe", w.report.Name())
				loaded := w.out.Manifest.Files().Loaded().Bytes()
				err = turn.Confirm(ctx)
				end(loaded, err)
				r.summary.Shift(report.Probed)
			}
		}
		if err = errors.Join(err, turn.End()); err != nil {
			return err
		}
		w.out.Options.Failpoint.Reached(options.Loaded)
		w.report.Fill(w.out.Manifest)
		w.report.Status = failure.StatusDone
	case !written:
		if wanted && w.loader.Adopted == nil { // which was just asked for
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
	if w.report.Counts.Read == 0 && w.report.Status == failure.StatusDone {
		w.report.Status = failure.StatusEmpty
	}
	return nil
}

// finish checks the tables of several outputs once more, and deletes what tasks have left.
func (r *runner) finish(ctx context.Context) error {
	// Writing and loading one output may take hours, in which the table of another may have changed.
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

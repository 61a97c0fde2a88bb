package run

import (
	"context"
	"errors"
	"io"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// ByTasks is how a run is done by tasks.
type ByTasks struct {
	Engine tasks.Engine
	tasks.Sizes
}

// EngineOf decides how a job is run. It is called once the options have their defaults. A nil function, or a nil result,
// means: in this process. An engine that is an io.Closer is closed after the run.
type EngineOf func(*jobfile.Job, options.Options) (*ByTasks, error)

// Always returns an EngineOf that runs every job in this way; nil: in this process.
func (b *ByTasks) Always() EngineOf {
	return func(*jobfile.Job, options.Options) (*ByTasks, error) { return b, nil }
}

// of calls f, which may be nil. The caller must call free after the run: it deletes what the engine keeps.
func (f EngineOf) of(j *jobfile.Job, o options.Options) (by *ByTasks, free func(), err error) {
	free = func() {}
	if f == nil {
		return nil, free, nil
	}
	if by, err = f(j, o); err != nil || by == nil {
		return nil, free, err
	}
	if c, ok := by.Engine.(io.Closer); ok {
		free = func() { _ = c.Close() } // it keeps temporary files only
	}
	return by, free, nil
}

// byTasks has the input sorted and the files written by tasks.
func (t *targeted) byTasks(ctx context.Context) error {
	r, opened := t.run, t.run.opened
	if opened.options.Force {
		if err := opened.clearTasks(); err != nil {
			return err
		}
	}
	work, err := tasks.Begin(r.by.Engine, r.by.Sizes, tasks.Run{Job: opened.job, Source: opened.source, Splits: t.splits, Outputs: t.taskOutputs(),
		Properties: opened.site.ForTasks()}, opened.options)
	if err != nil {
		return err
	}
	if err := t.prepare(ctx, opened.kept); err != nil {
		return err
	}
	mapped, sorted, err := t.mapTasks(ctx, work)
	if err != nil {
		return err
	}
	opened.options.Failpoint.Reached(options.Sorted)
	ready, err := sorted.prepare(ctx)
	if err == nil {
		err = ready.writeByTasks(ctx, mapped)
	}
	if err = errors.Join(err, sorted.close()); err != nil {
		return err
	}
	return opened.endTasks()
}

// taskOutputs are the outputs for the tasks.
func (t *targeted) taskOutputs() []tasks.OutputDir {
	var all []tasks.OutputDir
	for _, w := range t.run.opened.outputs {
		all = append(all, tasks.OutputDir{Job: w.out.Job, FS: w.out.FS, Dir: w.out.Path, Run: w.out.Manifest.Run.ID, Target: w.target})
	}
	return all
}

// clearTasks deletes what tasks have left in the outputs.
func (r *opened) clearTasks() error { return r.eachOutput(tasks.Clear) }

// endTasks deletes what tasks have left in the outputs, which are written, but for the plan.
func (r *opened) endTasks() error { return r.eachOutput(tasks.End) }

func (r *opened) eachOutput(do func(fsys storage.FS, output string) error) error {
	var errs []error
	for _, w := range r.outputs {
		errs = append(errs, do(w.out.FS, w.out.Path))
	}
	return errors.Join(errs...)
}

// mapTasks has the input read and sorted.
func (t *targeted) mapTasks(ctx context.Context, work *tasks.Work) (mapped *tasks.Mapped, _ *sorted, err error) {
	opened, summary := t.run.opened, t.run.summary
	rejects, err := opened.newRejects()
	if err != nil {
		return nil, nil, err
	}
	var read int64
	err = summary.Phase("sort", "", func() (_ int64, err error) {
		if mapped, err = work.Map(ctx); err == nil {
			read, err = mapped.Read(), mapped.Rejects(rejects)
		}
		return opened.source.Bytes, err
	})
	if mapped == nil && failure.KindOf(err) == failure.Rejects {
		err = tooManyRejects(err, work.Rejects(rejects))
	}
	err = sorting.CloseRejects(rejects, err, read)
	summary.SetRejects(rejects, opened.rejectsFile())
	if err == nil {
		err = sorting.CheckRows(&opened.job.Input, read)
	}
	var rows []*sorting.Rows
	if err == nil {
		rows, err = mapped.Rows(rejects.Count())
	}
	if err != nil {
		return nil, nil, err
	}
	summary.SetSort(rows)
	return mapped, &sorted{t.run, t.todo, rows}, nil
}

// tooManyRejects is the error of a run with too many rejects. all is the error of passing on the rejects of all tasks: it
// counts if it says that there are too many. Otherwise the task's own error counts.
func tooManyRejects(task, all error) error {
	if limit := (*ingest.LimitError)(nil); errors.As(all, &limit) {
		return all
	}
	return errors.Join(task, all)
}

// writeByTasks has the files of all outputs written, and balances the counts of each.
func (r *ready) writeByTasks(ctx context.Context, mapped *tasks.Mapped) error {
	opened, summary, rows := r.sorted.run.opened, r.sorted.run.summary, r.sorted.rows
	stages := make([]*writing.Stage, len(opened.outputs))
	for i, w := range opened.outputs {
		if rows[i] != nil {
			stages[i] = w.writeStage(rows[i])
		}
	}
	err := summary.Phase("write", "", func() (int64, error) { return 0, mapped.Reduce(ctx, stages) })
	for i, w := range opened.outputs {
		if stages[i] != nil {
			w.reportStage(stages[i], summary)
		}
	}
	if err != nil {
		return err
	}
	for i, w := range opened.outputs {
		if stages[i] == nil {
			continue
		}
		if err := w.complete(rows[i]); err != nil {
			return opened.wrap(w, err)
		}
		w.reportWritten()
	}
	return nil
}

package run

import (
	"context"
	"errors"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// TaskEngine is the engine that does a run's tasks, with the sizes of the tasks.
type TaskEngine struct {
	Engine tasks.Engine
	tasks.Sizes
}

// EngineOf decides how a job is run. It is called once the options have their defaults. A nil function, or a nil
// result, means: in this process. An engine that is an io.Closer is closed after the run.
type EngineOf func(*jobfile.Job, options.Options) (*TaskEngine, error)

// Always returns an EngineOf that runs every job on this engine; nil: in this process.
func (b *TaskEngine) Always() EngineOf {
	return func(*jobfile.Job, options.Options) (*TaskEngine, error) { return b, nil }
}

// onEngine has the input sorted and the files written by tasks.
type onEngine struct {
	*runner
	work *tasks.Work
}

func (p *onEngine) begin(ctx context.Context, todo []*outputRun) (err error) {
	if p.opened.options.Force {
		if err := p.opened.clearTasks(); err != nil {
			return err
		}
	}
	var outputs []tasks.OutputDir
	for _, w := range p.opened.outputs {
		outputs = append(outputs, tasks.OutputDir{Job: w.out.Job, FS: w.out.FS, Dir: w.out.Path,
			Run: w.out.Manifest.Run.ID, Target: w.target})
	}
	if p.work, err = tasks.Begin(p.by.Engine, p.by.Sizes,
		tasks.Assignment{Job: p.opened.job, Source: p.opened.source, Splits: p.splits, Outputs: outputs,
			Properties: p.opened.site.ForTasks()}, p.opened.options); err != nil {
		return err
	}
	return p.beginOutputs(ctx, todo, p.opened.kept)
}

// end deletes what tasks have left, once all outputs are written.
func (p *onEngine) end(_ context.Context, err error) error {
	if err != nil {
		return err
	}
	return p.opened.endTasks()
}

// clearTasks deletes what tasks have left in the outputs.
func (r *opened) clearTasks() error { return r.eachOutput(tasks.Clear) }

// endTasks deletes what tasks have left in outputs that are all written, except for the plan.
func (r *opened) endTasks() error { return r.eachOutput(tasks.End) }

func (r *opened) eachOutput(do func(fsys storage.FS, output string) error) error {
	var errs []error
	for _, w := range r.outputs {
		errs = append(errs, do(w.out.FS, w.out.Path))
	}
	return errors.Join(errs...)
}

func (p *onEngine) sort(ctx context.Context, _ []*outputRun) error {
	rejects, err := p.opened.newRejects()
	if err != nil {
		return err
	}
	var read int64
	end := p.summary.Begin("sort", "")
	failed := p.work.Map(ctx)
	if err = failed; err == nil {
		read, err = p.work.Read(), p.work.Rejects(rejects)
	}
	end(p.opened.source.Bytes, err)
	if failed != nil && failure.KindOf(failed) == failure.Rejects {
		err = tooManyRejects(failed, p.work.Rejects(rejects))
	}
	err = sorting.CloseRejects(rejects, err, read)
	p.summary.SetRejects(rejects, p.opened.rejectsFile())
	if err == nil {
		err = sorting.CheckRows(&p.opened.job.Input, read)
	}
	if err == nil {
		p.rows, err = p.work.Rows(rejects.Count())
	}
	if err != nil {
		return err
	}
	p.summary.SetSort(p.rows)
	return nil
}

// tooManyRejects returns the error of a run with too many rejects. all is the error of passing on the rejects of all
// tasks. If it says that there are too many, it alone is returned; otherwise the task's own error is, too.
func tooManyRejects(task, all error) error {
	if limit := (*ingest.LimitError)(nil); errors.As(all, &limit) {
		return all
	}
	return errors.Join(task, all)
}

func (p *onEngine) write(ctx context.Context, _ []*outputRun) error {
	stages := make([]*writing.Stage, len(p.opened.outputs))
	for i, w := range p.opened.outputs {
		if p.rows[i] != nil {
			stages[i] = w.writeStage(p.rows[i])
		}
	}
	end := p.summary.Begin("write", "")
	err := p.work.Reduce(ctx, stages)
	end(0, err)
	for i, w := range p.opened.outputs {
		if stages[i] != nil {
			w.reportStage(stages[i].Report(), p.summary)
		}
	}
	if err != nil {
		return err
	}
	for i, w := range p.opened.outputs {
		if stages[i] == nil {
			continue
		}
		if err := w.complete(p.rows[i]); err != nil {
			return p.opened.wrap(w, err)
		}
		w.reportWritten()
	}
	return nil
}

package jobs

import (
	"cmp"
	"context"
	"errors"

	"bulkload/ingest"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/sorting"
	"bulkload/jobs/tasks"
)

// ByTasks says that a run is done by tasks.
type ByTasks struct {
	Engine tasks.Engine
	tasks.Sizes
}

// writeByTasks has the input sorted and the files written by tasks.
func (r *runner) writeByTasks(ctx context.Context, todo []*outputRun, splits []ingest.Split, summary *Summary) error {
	if r.options.Force {
		if err := r.clearTasks(); err != nil {
			return err
		}
	}
	work, err := tasks.Begin(r.by.Engine, r.by.Sizes, tasks.Run{Job: r.job, Source: r.source, Splits: splits, Outputs: r.outputDirs(),
		Properties: r.site.ForTasks()}, r.options)
	if err != nil {
		return err
	}
	if err := r.prepareOutputs(ctx, todo); err != nil {
		return err
	}
	mapped, rows, err := r.mapTasks(ctx, work, summary)
	if err != nil {
		return err
	}
	r.options.Failpoint.Reached(failpoint.Sorted)
	if err = r.beforeWriting(ctx, todo, rows, summary); err == nil {
		err = r.reduceTasks(ctx, mapped, rows, summary)
	}
	if err = errors.Join(err, sorting.CloseRows(rows)); err != nil {
		return err
	}
	return r.clearTasks()
}

// outputDirs are the outputs for the tasks.
func (r *runner) outputDirs() []tasks.OutputDir {
	var all []tasks.OutputDir
	for _, w := range r.outputs {
		all = append(all, tasks.OutputDir{Job: w.out.Job, FS: w.out.FS, Dir: w.out.Path, Run: w.out.Manifest.Run.ID, Target: w.target})
	}
	return all
}

// clearTasks deletes what tasks have left in the outputs.
func (r *runner) clearTasks() error {
	var errs []error
	for _, w := range r.outputs {
		errs = append(errs, tasks.Clear(w.out.FS, w.out.Path))
	}
	return errors.Join(errs...)
}

// mapTasks has the input read and sorted, and returns each output's rows; none for outputs that are written.
func (r *runner) mapTasks(ctx context.Context, work *tasks.Work, summary *Summary) (mapped *tasks.Mapped, rows []*sorting.Rows, err error) {
	rejects, err := r.newRejects()
	if err != nil {
		return nil, nil, err
	}
	var read int64
	err = summary.phase("sort", "", func() (_ int64, err error) {
		if mapped, err = work.Map(ctx); err == nil {
			read, err = mapped.Read(), mapped.Rejects(rejects)
		}
		return r.source.Bytes, err
	})
	if mapped == nil && failure.KindOf(err) == failure.Rejects {
		err = tooManyRejects(err, work.Rejects(rejects))
	}
	err = sorting.CloseRejects(rejects, err, read)
	r.sumRejects(summary, rejects)
	if err == nil {
		err = sorting.CheckRows(&r.job.Input, read)
	}
	if err == nil {
		rows, err = mapped.Rows(rejects.Count())
	}
	if err != nil {
		return nil, nil, err
	}
	summary.sorted(rows)
	return mapped, rows, nil
}

// tooManyRejects is the error of a run with too many rejects: what all of them say, if it says so, or else what a task says of its
// own.
func tooManyRejects(task, all error) error {
	if limit := (*ingest.LimitError)(nil); errors.As(all, &limit) {
		return all
	}
	return errors.Join(task, all)
}

// reduceTasks has the files of all outputs written, and balances the counts of each.
func (r *runner) reduceTasks(ctx context.Context, mapped *tasks.Mapped, rows []*sorting.Rows, summary *Summary) error {
	stages := make([]*tasks.Writing, len(r.outputs))
	for i, w := range r.outputs {
		if rows[i] != nil {
			stages[i] = &tasks.Writing{Stage: w.writeStage(rows[i]), Asked: w.out.Manifest.Existing}
		}
	}
	err := summary.phase("write", "", func() (int64, error) { return 0, mapped.Reduce(ctx, stages) })
	for i, w := range r.outputs {
		if stages[i] != nil {
			w.reportStage(stages[i].Stage, summary)
		}
	}
	if err != nil {
		return err
	}
	for i, w := range r.outputs {
		if stages[i] == nil {
			continue
		}
		if err := w.complete(rows[i]); err != nil {
			return r.wrapOutput(w, err)
		}
		w.reportWritten()
	}
	return nil
}

// PlanTasks does everything of a run up to its map tasks, which others run then: bulkload task map for each. There are none if
// the run is finished, or if they are all done.
func PlanTasks(ctx context.Context, j *jobfile.Job, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	return handOver(ctx, j, o, ByTasks{tasks.Others{Until: tasks.MapPhase}, sizes})
}

// GatherTasks goes on with a run whose map tasks are done, up to its reduce tasks, which others run then: bulkload task reduce
// for each.
func GatherTasks(ctx context.Context, document string, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	j, err := tasks.JobOf(document, o)
	if err != nil {
		return &TaskReport{Outcome: outcome.New()}, err
	}
	return handOver(ctx, j, o, ByTasks{tasks.Others{Until: tasks.ReducePhase}, sizes})
}

// FinishTasks finishes a run whose tasks are all done: it checks them, gives the files their names and loads them.
func FinishTasks(ctx context.Context, document string, o options.Options) (*Summary, error) {
	j, err := tasks.JobOf(document, o)
	if err != nil {
		return nil, err
	}
	return RunBy(ctx, &ByTasks{Engine: tasks.Others{}}, j, o)
}

// TaskReport says which tasks others must run now.
type TaskReport struct {
	outcome.Outcome
	Run      jobfile.RunInfo `json:"run"`
	Phase    string          `json:"phase,omitempty"`    // map or reduce
	Document string          `json:"document,omitempty"` // the plan or the units, for bulkload task
	Tasks    []int           `json:"tasks"`              // the indexes of those that are not done
}

// handOver does a run up to the phase that its engine hands over. The job file's task size counts if no other is given.
func handOver(ctx context.Context, j *jobfile.Job, o options.Options, by ByTasks) (*TaskReport, error) {
	by.Task = cmp.Or(by.Task, j.Engine.TaskSize)
	s, err := RunBy(ctx, &by, j, o)
	r := &TaskReport{Outcome: s.Outcome, Run: s.Run, Tasks: []int{}}
	over, err := tasks.Handed(err)
	if over != nil && err == nil {
		r.Status, r.Phase, r.Document, r.Tasks = outcome.Done, over.Phase.Name, over.Phase.Document, over.Phase.Tasks
	}
	return r, err
}

// MapTask is tasks.Map.
var MapTask = tasks.Map

// ReduceTask is tasks.Reduce.
var ReduceTask = tasks.Reduce

// MinMemory is options.MinMemory.
const MinMemory = options.MinMemory

// TaskSizes are tasks.Sizes.
type TaskSizes = tasks.Sizes

// LocalTasks is tasks.Local.
type LocalTasks = tasks.Local

package jobs

import (
	"cmp"
	"context"
	"errors"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// PlanTasks carries a run up to its map tasks, which another scheduler then runs with bulkload task map. No task is
// left if the run is finished, or if all of them are done.
func PlanTasks(ctx context.Context, j *jobfile.Job, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	return submitTasks(ctx, j, o, run.TaskEngine{Engine: tasks.ExternalScheduler{Until: tasks.MapPhase}, Sizes: sizes})
}

// GatherTasks continues a run whose map tasks are done, up to its reduce tasks, which another scheduler then runs with
// bulkload task reduce.
func GatherTasks(ctx context.Context, document string, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	j, err := tasks.JobOf(document, o)
	if over := (*tasks.WrittenError)(nil); errors.As(err, &over) {
		r := &TaskReport{Outcome: failure.NewOutcome(), Run: over.Manifest.Run, Tasks: []int{}}
		r.Status = failure.StatusNothing
		return r, nil
	}
	if err != nil {
		return &TaskReport{Outcome: failure.NewOutcome()}, err
	}
	return submitTasks(ctx, j, o, run.TaskEngine{Engine: tasks.ExternalScheduler{Until: tasks.ReducePhase}, Sizes: sizes})
}

// FinishTasks finishes a run whose tasks are all done: it checks their results, gives the files their names and loads
// them.
func FinishTasks(ctx context.Context, document string, o options.Options) (*summary.Summary, error) {
	j, err := tasks.JobOf(document, o)
	if over := (*tasks.WrittenError)(nil); errors.As(err, &over) {
		if over.Plan == "" {
			return finished(ctx, over, o)
		}
		j, err = tasks.JobOf(over.Plan, o)
	}
	if err != nil {
		return nil, err
	}
	return run.Job(ctx, (&run.TaskEngine{Engine: tasks.ExternalScheduler{}}).Always(), j, o)
}

// finished returns the summary of a run that was finished before. If its files were loaded, the table must serve them.
func finished(ctx context.Context, over *tasks.WrittenError, o options.Options) (*summary.Summary, error) {
	s := summary.New(new(jobfile.Job))
	out := s.Output(0)
	out.Output = over.Output
	out.Fill(over.Manifest)
	out.SetManifest(over.Manifest)
	if over.Manifest.State == manifest.Loaded {
		out.Load.Requested = true
		if _, err := loading.Directory(ctx, over.Output, over.Manifest.Run.Table, o); err != nil {
			return s, err
		}
	}
	out.Status = failure.StatusNothing
	s.SetStatus()
	return s, nil
}

// TaskReport says which tasks others must run now.
type TaskReport struct {
	failure.Outcome
	Run      jobfile.RunInfo `json:"run"`
	Phase    string          `json:"phase,omitempty"`    // map or reduce
	Document string          `json:"document,omitempty"` // the plan or the units, for bulkload task
	Tasks    []int           `json:"tasks"`              // the indexes of the tasks that are not done
}

// submitTasks carries a run up to the phase that its engine leaves to another scheduler. It uses the job file's task
// size if no other is given.
func submitTasks(ctx context.Context, j *jobfile.Job, o options.Options, engine run.TaskEngine) (*TaskReport, error) {
	engine.Task = cmp.Or(engine.Task, j.Engine.TaskSize)
	s, err := run.Job(ctx, engine.Always(), j, o)
	r := &TaskReport{Outcome: s.Outcome, Run: s.Run, Tasks: []int{}}
	r.Run.ID = s.Output(0).Run.ID // the ID that the tasks use; empty before the run is known
	over, err := tasks.SplitPending(err)
	if over != nil && err == nil {
		r.Run.ID = over.Phase.Run
		r.Status, r.Phase, r.Document, r.Tasks = failure.StatusDone, over.Phase.Name, over.Phase.Document, over.Phase.Tasks
	}
	return r, err
}

package jobs

import (
	"cmp"
	"context"

	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/run"
	"bulkload/jobs/tasks"
	"bulkload/jobs/tasks/local"
)

// RunBy is RunJob with an engine that is known; nil: in this process.
func RunBy(ctx context.Context, by *ByTasks, j *jobfile.Job, o options.Options) (*Summary, error) {
	return run.Job(ctx, by.Always(), j, o)
}

// PlanTasks does everything of a run up to its map tasks, which others run then: bulkload task map for each. There are none if
// the run is finished, or if they are all done.
func PlanTasks(ctx context.Context, j *jobfile.Job, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	return handOver(ctx, j, o, ByTasks{Engine: tasks.Others{Until: tasks.MapPhase}, Sizes: sizes})
}

// GatherTasks goes on with a run whose map tasks are done, up to its reduce tasks, which others run then: bulkload task reduce
// for each.
func GatherTasks(ctx context.Context, document string, o options.Options, sizes tasks.Sizes) (*TaskReport, error) {
	j, err := tasks.JobOf(document, o)
	if err != nil {
		return &TaskReport{Outcome: outcome.New()}, err
	}
	return handOver(ctx, j, o, ByTasks{Engine: tasks.Others{Until: tasks.ReducePhase}, Sizes: sizes})
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

// TaskSizes are tasks.Sizes.
type TaskSizes = tasks.Sizes

// LocalTasks is local.Engine.
type LocalTasks = local.Engine

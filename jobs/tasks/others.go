package tasks

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// ExternalScheduler is the engine of a run whose tasks other schedulers start, such as Airflow or Kubernetes, with the
// commands of bulkload task. It runs no tasks: the tasks of all phases before Until must already be done.
type ExternalScheduler struct {
	Until string // the phase whose tasks are left to the other scheduler, at which the command ends; "": none
}

// Pending says that another scheduler must now run the tasks of a phase, if there are any. It is not a failure.
type Pending struct{ Phase Phase }

// Error says how many tasks there are.
func (h *Pending) Error() string {
	return fmt.Sprintf("%s are to be run", jobfile.Plural(len(h.Phase.Tasks), h.Phase.Name+" task"))
}

// SplitPending divides an error into the Pending in it, nil if there is none, and the rest, because the end of the run
// may have failed, too.
func SplitPending(err error) (over *Pending, rest error) {
	if !errors.As(err, &over) {
		return nil, err
	}
	return over, withoutPending(err)
}

// withoutPending returns an error without the Pending in it; nil if nothing else is left.
func withoutPending(err error) error {
	if over := (*Pending)(nil); !errors.As(err, &over) {
		return err
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var rest []error
		for _, each := range e.Unwrap() {
			rest = append(rest, withoutPending(each))
		}
		return errors.Join(rest...)
	case interface{ Unwrap() error }:
		return withoutPending(e.Unwrap())
	}
	return nil // it is the Pending
}

// submits reports whether the tasks of a phase are left to another scheduler.
func (w *Work) submits(phase string) bool { return w.external != nil && w.external.Until == phase }

// Run runs nothing: its error names the tasks that are not done.
func (o ExternalScheduler) Run(_ context.Context, p Phase) error {
	return errcode.TaskFailed.Errorf("not all tasks of the run are done: %s lack their results, %s",
		jobfile.Plural(len(p.Tasks), p.Name+" task"), indexes(p.Tasks))
}

// indexes lists tasks, the first few by their index.
func indexes(tasks []int) string {
	const most = 10
	if len(tasks) <= most {
		return fmt.Sprint(tasks)
	}
	return fmt.Sprintf("%v and %d more", tasks[:most], len(tasks)-most)
}

// JobOf reads the job of a plan, for the commands that continue its run. document is the plan's path or URI, or the
// run's first output.
func JobOf(document string, o options.Options) (*jobfile.Job, error) {
	p := new(Plan)
	if _, err := open(document, planName, o, p); err != nil {
		return nil, err
	}
	if err := p.checkProgram(); err != nil {
		return nil, err
	}
	if p.Job == nil {
		return nil, errcode.TaskPlan.Errorf("%s contradicts itself", document)
	}
	return p.Job.Job()
}

package tasks

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/storage"
)

// Engine runs the tasks of a phase as processes of this program, anywhere that its files can be reached from.
//
// An engine only schedules. It may run a task several times, one after the other or side by side: a task changes nothing
// outside the folder of its attempt, and what the attempts of a task leave is equal. So an engine may retry, speculate and
// kill as it likes. What counts is not its word but the document that a task leaves at its end: a task that an engine
// reports as done without one was not done.
type Engine interface {
	// Run runs the tasks of a phase, and returns when none of them runs any more: nil if each was done once. If a task
	// failed for good, it ends the others and returns a *TaskError. If the context ends, it may end the tasks or leave
	// them running; the next Run of the same run and phase must not start a task beside one that it left, but wait for its
	// end, and then return ErrAgain.
	Run(ctx context.Context, p Phase) error
}

// ErrAgain says that an engine has waited for tasks that an earlier process had it run. It is asked again for those that they
// have left undone.
var ErrAgain = errors.New("the tasks of an earlier process have ended")

// The phases of a run.
const (
	MapPhase    = "map"
	ReducePhase = "reduce"
)

// Phase is a set of tasks that an engine runs, in any order.
type Phase struct {
	Name string // MapPhase or ReducePhase
	Run  string // the run's ID, in hex: together with Name the same for each Run of the phase, after a kill too
	// Document is the URI of what the tasks are: the plan, or the units. A task is the command
	//
	//	bulkload task <Name> <Document> <index>
	//
	// Instead of Document it may get a copy of it, and "-" instead of the index, which is then the first line of stdin.
	Document string
	Tasks    []int // the indexes of the tasks to be run, ascending
	Memory   int64 // --memory of a task, in bytes: the process uses about an eighth more
	Cores    int   // --cores of a task
	// FS and Dir are the phase's folder, in which tasks have a folder each, named by their index. Names that begin with "_"
	// are the engine's own: what it keeps there is deleted with the rest when the run is done.
	FS  storage.FS
	Dir string
	// Watch gets the number of tasks that are done and of those that run; it may be called from any goroutine.
	Watch func(done, running int)
}

// TaskError says that a task failed for good: its engine does not run it again.
type TaskError struct {
	Phase   string
	Task    int
	Attempt string // as the engine calls it; "" if it is not known
	Host    string // likewise
	Err     error
}

// Error names the task, the attempt and the host.
func (e *TaskError) Error() string {
	return fmt.Sprintf("%s task %d%s%s: %v", e.Phase, e.Task, named(", attempt ", e.Attempt), named(" on ", e.Host), e.Err)
}

func (e *TaskError) Unwrap() error { return e.Err }

// with adds what the attempt itself has left. If it has said why it failed, the engine knows less: nil.
func (e *TaskError) with(report *failureReport, last *identity) error {
	switch {
	case report != nil:
		return nil
	case last != nil && e.Attempt == "":
		return &TaskError{e.Phase, e.Task, last.Attempt, last.Host, e.Err}
	}
	return e
}

// named is a part of a sentence; "" without a name.
func named(what, name string) string {
	if name == "" {
		return ""
	}
	return what + name
}

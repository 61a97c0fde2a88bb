package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"bulkload/internal/storage"
)

// Engine runs the tasks of a phase as processes of this program, on any machines that reach the run's files.
//
// An engine only schedules. It may run a task several times, one after the other or side by side, because a task
// changes nothing outside the folder of its attempt, and all attempts at a task give the same result. So an engine may
// retry, speculate and kill as it likes. A task is done when it has left its result at its end, whatever the engine
// reports.
type Engine interface {
	// Run runs the tasks of a phase, and returns when none of them is running: nil if each has succeeded. If a task
	// failed for good, Run ends the others and returns an error, with a *TaskError if it knows the task. If the context
	// ends, it may end the tasks or leave them running. The next Run of the same run and phase must not start a task
	// beside one that was left running: it waits until that has ended, and then returns ErrAgain.
	Run(ctx context.Context, p Phase) error
}

// ErrAgain means that an engine has waited for the tasks of an earlier process, instead of running those of the phase,
// or that the cluster has lost them. The caller runs the engine again for the tasks that are not done.
var ErrAgain = errors.New("the tasks that ran have ended: those that are not done must run again")

// The phases of a run.
const (
	MapPhase    = "map"
	ReducePhase = "reduce"
)

// Phase is a set of tasks that an engine runs, in any order.
type Phase struct {
	Name string // MapPhase or ReducePhase
	Run  string // the run's ID, in hex: with Name it identifies the phase, even after a kill
	// Document is the URI of the document that describes the tasks: a Plan, or a ReducePlan. See Command.
	Document string
	Tasks    []int // the indexes of the tasks to be run, ascending
	Memory   int64 // --memory of a task, in bytes: the process uses about an eighth more
	Cores    int   // --cores of a task
	// FS and Dir are the phase's folder, in which tasks have a folder each, named by their index. Names that begin with
	// "_" are the engine's own; its files there are deleted with the rest when the run is done.
	FS  storage.FS
	Dir string
	// Watch gets the number of tasks that are done and of those that run; it may be called from any goroutine.
	Watch func(done, running int)
}

// Command returns the arguments with which this program runs a task. document is Document, or the name of a copy of it.
// index is the task's, or "-" if the task reads it from the first line of stdin. flags are added at the end.
func (p *Phase) Command(document, index string, flags ...string) []string {
	return append([]string{"task", p.Name, document, index, "--memory", strconv.FormatInt(p.Memory, 10), "--cores",
		strconv.Itoa(max(p.Cores, 1))}, flags...)
}

// TaskError means that a task failed for good: its engine does not run it again.
type TaskError struct {
	Phase   string
	Task    int
	Attempt string // the engine's own ID; "" if unknown
	Host    string // "" if unknown
	Err     error
}

// Error names the task, the attempt and the host.
func (e *TaskError) Error() string {
	return fmt.Sprintf("%s task %d%s%s: %v", e.Phase, e.Task, named(", attempt ", e.Attempt), named(" on ", e.Host), e.Err)
}

func (e *TaskError) Unwrap() error { return e.Err }

// with adds the attempt and the host that the attempt itself has recorded. It returns nil if there is a failure report,
// because that says more than the engine.
func (e *TaskError) with(report *failureReport, last *identity) error {
	switch {
	case report != nil:
		return nil
	case last != nil && e.Attempt == "":
		return &TaskError{e.Phase, e.Task, last.Attempt, last.Host, e.Err}
	}
	return e
}

// named returns what and name as part of a sentence; "" without a name.
func named(what, name string) string {
	if name == "" {
		return ""
	}
	return what + name
}

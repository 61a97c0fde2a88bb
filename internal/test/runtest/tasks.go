package runtest

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/tasks"
)

// InProcess is an engine that runs tasks in this process, one after another.
type InProcess struct {
	Options options.Options
	Ran     []string // phase and index of each task
	// Instead is called before each task and may handle it; nil: it handles none.
	Instead func(ctx context.Context, p tasks.Phase, task int) (handled bool, err error)

	mu sync.Mutex // guards Ran
}

// Run does the tasks of a phase, until one fails.
func (e *InProcess) Run(ctx context.Context, p tasks.Phase) error {
	for i, task := range p.Tasks {
		if err := e.one(ctx, p, task); err != nil {
			return &tasks.TaskError{Phase: p.Name, Task: task, Err: err}
		}
		p.Watch(i+1, 0)
	}
	return ctx.Err()
}

func (e *InProcess) one(ctx context.Context, p tasks.Phase, task int) error {
	e.mu.Lock()
	e.Ran = append(e.Ran, fmt.Sprint(p.Name, " ", task))
	e.mu.Unlock()
	if e.Instead != nil {
		if handled, err := e.Instead(ctx, p, task); handled {
			return err
		}
	}
	o := e.Options
	o.Memory = max(p.Memory, options.MinMemory)
	if p.Name == tasks.MapPhase {
		return tasks.Map(ctx, p.Document, task, o)
	}
	return tasks.Reduce(ctx, p.Document, task, o)
}

// SmallTasks cuts a run into as many tasks as possible.
var SmallTasks = tasks.Sizes{Task: 1, Memory: options.MinMemory}

// SameByTasks does the job of a folder in this process and by at least some number of tasks, and compares the results.
func SameByTasks(t *testing.T, what, dir string, sizes tasks.Sizes, least int) {
	t.Helper()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	want := Must(t, jobtest.Check(t, dir, here), options.Options{Memory: options.MinMemory, WorkDir: filepath.Join(dir, "work")})
	e := &InProcess{Options: options.Options{WorkDir: filepath.Join(dir, "work")}}
	by := &run.TaskEngine{Engine: e, Sizes: sizes}
	got, err := run.Job(t.Context(), by.Always(), jobtest.Check(t, dir, there), options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	SameFiles(t, what, here, there)
	EqualManifests(t, what, ManifestOf(t, here), ManifestOf(t, there))
	NothingLeft(t, there)
	if !reflect.DeepEqual(got.Counts, want.Counts) || got.Status != want.Status {
		t.Errorf("%s %v instead of %s %v", got.Status, got.Counts, want.Status, want.Counts)
	}
	NoTasks(t, there)
	if len(e.Ran) < least {
		t.Errorf("only these tasks ran: %v", e.Ran)
	}
}

package tasks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/manifest"
)

// attempt is one attempt at a task, by this process.
type attempt struct {
	folder
	identity
	of      *planned
	files   folder      // of a reduce task: the folder of its files, which may be in another output
	rejects *rejectSink // of a map task, once it has begun to read
}

// identity identifies an attempt. All documents of the attempt have it.
type identity struct {
	Schema  int       `json:"schema"`
	Plan    string    `json:"plan"` // the ID of the plan
	Phase   string    `json:"phase"`
	Task    int       `json:"task"`
	Attempt string    `json:"attempt"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Begun   time.Time `json:"begun"`
}

// String names the attempt for people.
func (i *identity) String() string {
	return fmt.Sprintf("%s task %d, attempt %s on %s", i.Phase, i.Task, i.Attempt, i.Host)
}

// failureReport says why an attempt failed.
type failureReport struct {
	identity
	Ended time.Time    `json:"ended"`
	Text  string       `json:"text"`
	Code  errcode.Code `json:"code"`
	// Run is the path of a sorted run that can't be read, so that the map task that left it must run again.
	Run string     `json:"run,omitempty"`
	Log *rejectLog `json:"log,omitempty"` // the rejected records, if there are any
}

// attemptVariable is the environment variable in which Hadoop Streaming passes Hadoop's name of an attempt.
const attemptVariable = "mapreduce_task_attempt_id"

// attemptID returns the name of this process's attempt. It ends with a random number, because an engine may use a name
// again.
func attemptID() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	id := hex.EncodeToString(random[:])
	if name := os.Getenv(attemptVariable); name != "" {
		return name + "-" + id
	}
	return id
}

// checkPlan checks that the run of the plan has neither ended nor begun anew: an engine may begin a task after that.
func (w *planned) checkPlan() error {
	home := w.home()
	text, err := storage.ReadFile(home.fs, home.path(planName), maxDocument)
	switch {
	case cantRead(err):
		return fmt.Errorf("read the plan of the run's tasks: %w", err)
	case err != nil:
		return errcode.TaskPlan.Errorf("the run of the plan is done or was begun anew: %w", err)
	case textID(text) != w.id:
		return errcode.TaskPlan.Errorf("the run of the plan was begun anew, with another plan: %s", home.uri(planName))
	}
	return nil
}

// newAttempt returns an attempt at a task. No other process knows its folder.
func (w *planned) newAttempt(phase string, task int) *attempt {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	a := &attempt{of: w, identity: identity{Schema: schema, Plan: w.id, Phase: phase, Task: task, Attempt: attemptID(),
		Host: host, PID: os.Getpid(),
		Begun: time.Now().UTC()}}
	a.folder = w.home().sub(phase, TaskFolder(task), a.Attempt)
	a.files = a.folder
	return a
}

// begin makes the folders of the attempt, its own and more, and writes its identity. No folder is made later, because
// the run may end meanwhile, and nobody deletes a folder that a task makes after that.
func (a *attempt) begin(more []folder) error {
	if err := a.of.checkPlan(); err != nil {
		if out := a.of.outputs[0]; errors.Is(err, fs.ErrNotExist) {
			return orWritten(out.fs, out.output, a.of.plan.Run, err)
		}
		return err
	}
	for _, f := range append([]folder{a.folder}, more...) {
		if err := f.make(); err != nil {
			return fmt.Errorf("begin the task: %w", err)
		}
	}
	return a.write(AttemptName, &a.identity)
}

// do begins the attempt, does the task, and writes its result last. If the task fails, do deletes its files and writes
// a failure report. If the context or the run has ended, it deletes the attempt's folder.
func (a *attempt) do(ctx context.Context, work func(context.Context) (result any, err error), more ...folder) error {
	var result any
	err := a.begin(more)
	if err == nil {
		result, err = work(ctx)
	}
	if err == nil {
		err = a.of.checkPlan()
	}
	if err == nil {
		err = a.write(ResultName, result)
	}
	if err == nil {
		return nil
	}
	if over := (*WrittenError)(nil); errors.As(err, &over) {
		return err
	}
	if ctx.Err() != nil {
		return errors.Join(err, a.remove(false))
	}
	// If the run is done or begun anew, that is the cause, whatever failed.
	if ended := a.of.checkPlan(); errcode.Outermost(ended) == errcode.TaskPlan {
		return errors.Join(ended, a.remove(errors.Is(ended, fs.ErrNotExist)))
	}
	report := &failureReport{identity: a.identity, Ended: time.Now().UTC(), Text: err.Error(),
		Code: failure.CodeOf(err), Run: damagedRun(err)}
	if a.rejects != nil {
		report.Log = a.rejects.log()
	}
	a.clear()
	_ = a.write(FailureName, report) // the process reports the error itself
	return err
}

// remove deletes the folders of the attempt. With above, because the run has ended, it also deletes the folders above
// them that are then empty: this attempt may have made them while the driver deleted them.
func (a *attempt) remove(above bool) error {
	var errs []error
	for _, f := range []folder{a.folder, a.files} {
		errs = append(errs, f.fs.RemoveAll(f.dir))
		for dir, empty := f.dir, above; empty && path.Base(dir) != manifest.TasksDir; {
			dir = path.Dir(dir)
			empty = f.fs.Remove(dir) == nil
		}
	}
	return errors.Join(errs...)
}

// clear deletes what a failed attempt has written, except its identity and its rejects, which people look into.
func (a *attempt) clear() {
	if a.files.uri("") != a.uri("") {
		_ = a.files.fs.RemoveAll(a.files.dir) // the driver deletes what is left here
	}
	all, err := a.fs.ReadDir(a.dir)
	if err != nil {
		return
	}
	for _, info := range all {
		if info.Name != AttemptName && info.Name != rejectsName {
			_ = a.fs.RemoveAll(a.path(info.Name)) // the driver deletes what is left
		}
	}
}

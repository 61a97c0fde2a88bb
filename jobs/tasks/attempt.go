package tasks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
)

// attempt is one attempt at a task, by this process.
type attempt struct {
	folder
	identity
	rejects *rejectSink // of a map task, once it reads
	files   *folder     // of a reduce task: its files, if they are in another output
}

// identity says whose attempt it is. All documents of an attempt have it.
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
	// Run is the path of a sorted run that can't be read: the map task that left it must run again.
	Run string     `json:"run,omitempty"`
	Log *rejectLog `json:"log,omitempty"` // the records that could not be used, if there are any
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

// checkPlan checks that the run is still that of the plan: an engine may begin a task of a run that has ended since.
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

// begin begins an attempt at a task: nobody else knows its folder.
func (w *planned) begin(phase string, task int) (*attempt, error) {
	if err := w.checkPlan(); err != nil {
		return nil, err
	}
	home := w.home()
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	a := &attempt{identity: identity{Schema: schema, Plan: w.id, Phase: phase, Task: task, Attempt: attemptID(), Host: host, PID: os.Getpid(),
		Begun: time.Now().UTC()}}
	a.folder = home.in(phase, TaskFolder(task), a.Attempt)
	if err := a.make(); err != nil {
		return nil, fmt.Errorf("begin the task: %w", err)
	}
	return a, a.write(AttemptName, &a.identity)
}

// do does the task, and writes its account last. If the task fails, do deletes its files and writes a failure report.
// If the context has ended, it deletes the attempt's folder.
func (a *attempt) do(ctx context.Context, work func(context.Context) (account any, err error)) error {
	account, err := work(ctx)
	if err == nil {
		err = a.write(AccountName, account)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return errors.Join(err, a.fs.RemoveAll(a.dir), a.clearFiles())
	}
	report := &failureReport{identity: a.identity, Ended: time.Now().UTC(), Text: err.Error(), Code: failure.CodeOf(err), Run: damagedRun(err)}
	if a.rejects != nil {
		report.Log = a.rejects.log()
	}
	a.clear()
	_ = a.write(FailureName, report) // the process ends with the error itself
	return err
}

// clearFiles deletes the files of a reduce task in another output.
func (a *attempt) clearFiles() error {
	if a.files == nil {
		return nil
	}
	return a.files.fs.RemoveAll(a.files.dir)
}

// clear deletes what a failed attempt has written, but for its rejects: people look into them.
func (a *attempt) clear() {
	_ = a.clearFiles() // the driver deletes what stays
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

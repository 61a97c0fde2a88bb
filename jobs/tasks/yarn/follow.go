package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/jobs/tasks"
)

const (
	pollPause   = 10 * time.Second // between two requests to YARN, each of which starts a JVM
	watchPause  = 20 * time.Second // between two looks at the folders of tasks
	killTime    = time.Minute      // for YARN to accept that a job is killed
	quotedLines = 4                // lines of diagnostics in an error
)

// follower follows the job of one phase.
type follower struct {
	*Runner
	phase    tasks.Phase
	watching context.CancelFunc
	watched  sync.WaitGroup

	mu          sync.Mutex
	application string
	failed      event // the last attempt that failed
	unknown     chan struct{}
	lost        bool
}

func (e *Runner) newFollower(ctx context.Context, p tasks.Phase) *follower {
	f := &follower{Runner: e, phase: p, unknown: make(chan struct{})}
	ctx, f.watching = context.WithCancel(ctx)
	if p.Watch != nil {
		f.watched.Go(func() { f.watch(ctx) })
	}
	return f
}

func (f *follower) stop() {
	f.watching()
	f.watched.Wait()
}

// watch reports how many tasks are done, and how many are running, until the context ends.
func (f *follower) watch(ctx context.Context) {
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	s := survey{map[int]bool{}}
	for {
		if done, running, err := s.look(f.phase); err == nil { // an error is ignored, because this is only progress
			f.phase.Watch(done, running)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// event receives what the client prints.
func (f *follower) event(v event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case v.application != "" && f.application == "":
		f.application = v.application
		f.Log.Info(fmt.Sprintf("%d %s tasks run on YARN as %s", len(f.phase.Tasks), f.phase.Name, v.application))
	case v.tracking != "":
		f.Log.Info("the job's page is " + v.tracking)
	case v.attempt != "":
		if !ofReducer(v.attempt) || f.failed.attempt == "" { // a task's failure says more than the reducer's
			f.failed = v
		}
		f.Log.Warn(fmt.Sprintf("%v; YARN tries it again, unless that was its last attempt", f.taskError(v)))
	case v.unknown && !f.lost:
		f.lost = true
		close(f.unknown)
	}
}

// taskError names a failed attempt, its task and its host, as far as they are known, and says why it failed, according
// to the attempt or else to YARN.
func (f *follower) taskError(v event) error {
	if ofReducer(v.attempt) {
		return errcode.YarnFailed.Errorf("the idle reducer of the %s tasks' job, attempt %s: %s: %s", f.phase.Name,
			v.attempt, strings.ToLower(v.state),
			cmp.Or(firstLines(v.diagnostics), "YARN gives no reason"))
	}
	w, found := wordOf(f.phase, v.attempt)
	err := errcode.YarnFailed.Errorf("%s: %s", strings.ToLower(v.state),
		cmp.Or(firstLines(w.Text), firstLines(v.diagnostics), "YARN gives no reason"))
	if !found {
		return fmt.Errorf("a %s task, attempt %s, which did not begin to work: %w", f.phase.Name, v.attempt, err)
	}
	return &tasks.TaskError{Phase: f.phase.Name, Task: w.Task, Attempt: v.attempt, Host: w.Host, Err: err}
}

// ofReducer reports whether an attempt is one of a job's reducer, which does nothing: see Settings.reduces.
func ofReducer(attempt string) bool { return strings.Contains(attempt, "_r_") }

// taskOf returns YARN's name of an attempt's task.
func taskOf(attempt string) string {
	return "task" + strings.TrimPrefix(attempt[:strings.LastIndexByte(attempt, '_')], "attempt")
}

// firstLines returns the start of a text, as one line.
func firstLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[:min(len(lines), quotedLines)]
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// run runs the client that submits and follows the job. If the client loses the job, run polls YARN.
func (f *follower) run(ctx context.Context, cmd *exec.Cmd) error {
	client, err := start(cmd, f.event, func(line string) { f.Log.Debug("hadoop: " + line) })
	if err != nil {
		return errcode.YarnCommands.Errorf("start %s: %w", cmd.Path, err)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-f.unknown:
			cancel()
		case <-watching.Done():
		}
	}()
	failure := client.wait(watching)
	if ctx.Err() != nil {
		return f.interrupted(ctx)
	}
	if failure == nil {
		return nil
	}
	said, last := client.text()
	if f.known() == "" {
		if said == "" {
			said = last
		}
		return errcode.YarnSubmit.Errorf("submit the %s tasks to YARN: %w: %s", f.phase.Name, failure, said)
	}
	return f.poll(ctx)
}

func (f *follower) known() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.application
}

// poll polls YARN until the job has ended.
func (f *follower) poll(ctx context.Context) error {
	for {
		var r report
		err := f.retryUntil(ctx, func() (err error) {
			r, err = f.status(ctx, f.known())
			return err
		})
		switch {
		case ctx.Err() != nil:
			return f.interrupted(ctx)
		case err != nil:
			return err
		case r.succeeded():
			return nil
		case r.state == stateForgotten:
			return f.goneOn()
		case r.ended():
			return f.ended(r)
		}
		if pause.For(ctx, pollPause) != nil {
			return f.interrupted(ctx)
		}
	}
}

// maxForgotten bounds how many jobs of a run YARN may forget.
const maxForgotten = 3

// goneOn stops following a job that YARN has forgotten: with tasks.ErrAgain, the caller runs the tasks that are not
// done. How the job ended is unknown, so maxForgotten bounds this.
func (f *follower) goneOn() error {
	application := f.known()
	f.forgotten++
	if f.forgotten > maxForgotten {
		return errcode.YarnFailed.Errorf("YARN no longer knows the %s tasks' job %s, and has forgotten %d jobs of this "+
			"run: does its ResourceManager keep restarting? Run the same command again to redo what is missing",
			f.phase.Name, application, f.forgotten)
	}
	f.Log.Warn(fmt.Sprintf("YARN no longer knows %s: its ResourceManager was restarted without recovery. The run goes "+
		"on with the tasks that are not done. Hadoop may have left the folder %s below yarn.app.mapreduce.am.staging-dir "+
		"in HDFS: delete it", application,
		strings.Replace(application, "application", "job", 1)))
	return tasks.ErrAgain
}

// ended returns the error of a job that did not succeed.
func (f *follower) ended(r report) error {
	f.mu.Lock()
	lost := f.failed
	f.mu.Unlock()
	if r.state == "KILLED" || r.final == "KILLED" {
		return errcode.YarnFailed.Errorf(
			"the %s tasks' job %s was killed: %s; run the same command again to redo what is missing",
			f.phase.Name, f.known(), firstLines(r.diagnostics))
	}
	err := errcode.YarnFailed.Errorf("the %s tasks' job failed: %s", f.phase.Name,
		cmp.Or(firstLines(r.diagnostics), "YARN gives no reason"))
	// The client prints the failed attempts of a task, except the last one.
	if lost.attempt != "" && strings.Contains(r.diagnostics, taskOf(lost.attempt)) {
		err = f.taskError(lost)
	}
	return fmt.Errorf("%w; `yarn logs -applicationId %s` has the log; run the same command again to redo what is missing",
		err, f.known())
}

// interrupted returns the error of an interrupted run. If Kill is set, it decides whether the job is killed.
func (f *follower) interrupted(ctx context.Context) error {
	cause := ctx.Err()
	application := f.known()
	if f.Kill == nil || !f.Kill(application) {
		if application == "" {
			application = "the job, if it was submitted yet,"
		}
		return fmt.Errorf("%w: %s goes on; run the same command again to follow it", cause, application)
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	var err error
	if application == "" {
		application, err = f.live(later, jobName(f.phase))
	}
	if err == nil && application != "" {
		err = f.kill(later, application)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: the job may go on", cause), err)
	}
	return fmt.Errorf("%w: %s was killed; run the same command again to redo what is missing", cause, application)
}

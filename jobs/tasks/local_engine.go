package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/child"
	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"

	"golang.org/x/sync/errgroup"
)

// LocalEngine runs tasks as processes of this machine, which end with this process.
type LocalEngine struct {
	Program  string   // the executable
	Name     string   // the name by which it was called, os.Args[0]
	Flags    []string // for every task, such as --conf DIR
	Parallel int      // how many tasks run at a time; 0: the machine's cores divided by a task's
}

// grace is how long a task may continue after a signal to end.
const grace = 10 * time.Second

// pauses are the pauses before a task that may succeed later is tried again: a restarted NameNode needs a minute or
// two.
var pauses = [...]time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// wait makes a pause. Only tests change it.
var wait = pause.For

// Run runs the tasks. A task that ends with exitLater, because a server is down, is tried again after a pause.
func (e *LocalEngine) Run(ctx context.Context, p Phase) error {
	group, running := errgroup.WithContext(ctx)
	parallel := e.Parallel
	if parallel == 0 {
		parallel = max(1, runtime.GOMAXPROCS(0)/p.Cores)
	}
	group.SetLimit(parallel)
	seen := &count{watch: p.Watch}
	for _, task := range p.Tasks {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			seen.add(0, 1)
			err := e.tryTask(running, p, task)
			seen.add(1, -1)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// count counts the tasks that are done and those that are running.
type count struct {
	mu            sync.Mutex
	done, running int
	watch         func(done, running int)
}

func (c *count) add(done, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.running = c.done+done, c.running+running
	c.watch(c.done, c.running)
}

func (e *LocalEngine) tryTask(ctx context.Context, p Phase, task int) error {
	for try := 0; ; try++ {
		err := e.runTask(ctx, p, task)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var exit *exec.ExitError
		later := errors.As(err, &exit) && exit.ExitCode() == exitLater
		if !later || try == len(pauses) {
			if later {
				err = failure.New(failure.Later, err)
			}
			host, _ := os.Hostname()
			return &TaskError{Phase: p.Name, Task: task, Host: host, Err: err}
		}
		if err := wait(ctx, pauses[try]); err != nil {
			return err
		}
	}
}

// exitLater is the exit code of a command that may succeed later: see docs/cli.md and cmd/bulkload/exit_codes.go.
const exitLater = 75

// runTask runs a task as a process. The kernel kills it when the thread that started it ends, so it ends with this
// process. Therefore the thread must wait for it.
func (e *LocalEngine) runTask(ctx context.Context, p Phase, task int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, e.Program, p.Command(p.Document, strconv.Itoa(task), e.Flags...)...)
	c.Args[0] = e.Name
	said := &tail{}
	c.Stderr = said
	child.EndWithThread(c)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = grace
	if err := c.Run(); err != nil {
		return failure.Default(errcode.TaskFailed, said.after(err))
	}
	return nil
}

// tail keeps the last bytes that a process has written to stderr.
type tail struct{ text []byte }

// maxStderr is how many bytes tail keeps.
const maxStderr = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text); n > maxStderr {
		t.text = bytes.Clone(t.text[n-maxStderr:])
	}
	return len(p), nil
}

// after adds the last line to an error.
func (t *tail) after(err error) error {
	text := strings.TrimSpace(string(t.text))
	if text = text[strings.LastIndexByte(text, '\n')+1:]; text == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}

// NewLocalEngine returns the engine that runs a job's tasks as processes of this machine, parallel at a time. They use
// the site files and the login of the driver, because a task reads its plan before it knows the job.
func NewLocalEngine(j *jobfile.Job, o options.Options, parallel int) *LocalEngine {
	at := site.Chosen(o, j.HBase)
	var flags []string
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, name, value)
		}
	}
	add("--work-dir", o.WorkDir)
	add("--conf", at.Conf)
	add("--principal", at.Kerberos.Principal)
	add("--keytab", at.Kerberos.Keytab)
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		add("-D", name+"="+o.Properties[name])
	}
	return &LocalEngine{Program: "/proc/self/exe", Name: os.Args[0], Flags: flags, Parallel: parallel}
}

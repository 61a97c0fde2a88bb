package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/failure"

	"golang.org/x/sync/errgroup"
)

// Local runs tasks as processes of this machine, which end with this process.
type Local struct {
	Program  string   // the executable
	Name     string   // its name for itself, os.Args[0]
	Flags    []string // for every task, such as --conf DIR
	Parallel int      // how many tasks run at a time; 0: the cores divided by those of a task
}

// How often a task is tried, and how long it may go on after it was asked to end.
const (
	localTries = 3
	localGrace = 10 * time.Second
)

// Run runs the tasks. One that ends with exitLater, as it does if a server is down, is tried again.
func (l *Local) Run(ctx context.Context, p Phase) error {
	group, running := errgroup.WithContext(ctx)
	parallel := l.Parallel
	if parallel == 0 {
		parallel = max(1, runtime.GOMAXPROCS(0)/p.Cores)
	}
	group.SetLimit(parallel)
	count := &localCount{watch: p.Watch}
	for _, task := range p.Tasks {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			count.add(0, 1)
			err := l.tryTask(running, p, task)
			count.add(1, -1)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// localCount counts the tasks that are done and those that run.
type localCount struct {
	mu            sync.Mutex
	done, running int
	watch         func(done, running int)
}

func (c *localCount) add(done, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.running = c.done+done, c.running+running
	c.watch(c.done, c.running)
}

func (l *Local) tryTask(ctx context.Context, p Phase, task int) error {
	for try := 1; ; try++ {
		err := l.runTask(ctx, p, task)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var exit *exec.ExitError
		if later := errors.As(err, &exit) && exit.ExitCode() == exitLater; !later || try == localTries {
			host, _ := os.Hostname()
			return &TaskError{Phase: p.Name, Task: task, Host: host, Err: err}
		}
	}
}

// exitLater is the exit code of a command that may succeed later: see docs/cli.md.
const exitLater = 75

// runTask runs a task as a process. The kernel kills it when the thread that started it ends, so it ends with this
// process, and the thread waits for it.
func (l *Local) runTask(ctx context.Context, p Phase, task int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, l.Program, p.Command(p.Document, strconv.Itoa(task), l.Flags...)...)
	c.Args[0] = l.Name
	said := &tail{}
	c.Stderr = said
	endWithThread(c)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = localGrace
	if err := c.Run(); err != nil {
		return failure.Default(errcode.TaskFailed, fmt.Errorf("%w%s", err, named(": ", said.String())))
	}
	return nil
}

// tail keeps the last bytes that a process has written to stderr.
type tail struct{ text []byte }

// maxStderr is how many bytes are kept.
const maxStderr = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text); n > maxStderr {
		t.text = bytes.Clone(t.text[n-maxStderr:])
	}
	return len(p), nil
}

// String is the last line.
func (t *tail) String() string {
	text := strings.TrimSpace(string(t.text))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

package testcluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyIn is how long a role may need to become ready, on a busy machine with two cores.
const readyIn = 2 * time.Minute

// goneIn is how long a killed process may need to vanish.
const goneIn = 10 * time.Second

// tailLines is how much of a role's log an error quotes.
const tailLines = 25

// endedLooks is how many times in a row a role must be seen without its process before it counts as ended, because a
// process that is replacing its program has no command line.
const endedLooks = 20

// pause is the time between two checks of a condition.
const pause = 100 * time.Millisecond

func (c *Cluster) logFile(role string) string { return c.path("log", role+".log") }
func (c *Cluster) pidFile(role string) string { return c.path("run", role+".pid") }

// marker is a property on a role's command line that identifies its process.
func (c *Cluster) marker(role string) string {
	return "bulkload.testcluster=" + filepath.Join(c.Dir, role)
}

// argument identifies a role's process on its command line.
func (c *Cluster) argument(role string) string {
	if role == kdcRole {
		return c.KDC().Marker()
	}
	return "-D" + c.marker(role)
}

// launch starts a role's JVM in a separate process group, which outlives this process, and returns the previous size of
// its log.
func (c *Cluster) launch(r role) (logged int64, err error) {
	log, err := os.OpenFile(c.logFile(r.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", r.name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	info, err := log.Stat()
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", r.name, err)
	}
	cmd, err := c.command(r)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", r.name, err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", r.name, err)
	}
	go func() { _ = cmd.Wait() }() // avoids a zombie if it ends before this process
	if err := os.WriteFile(c.pidFile(r.name), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return 0, fmt.Errorf("start %s: %w", r.name, err)
	}
	return info.Size(), nil
}

func (c *Cluster) command(r role) (*exec.Cmd, error) {
	if r.program != nil {
		return r.program()
	}
	return c.jvm(r).command(), nil
}

func (c *Cluster) jvm(r role) jvm {
	j := jvm{
		heap:       r.heap,
		flags:      r.flags,
		classpath:  []string{c.ConfDir(), cmp.Or(r.jars, c.jars)},
		properties: []string{c.marker(r.name), "java.io.tmpdir=" + c.path("tmp"), "zookeeper.admin.enableServer=false"},
		class:      r.class,
		args:       r.args,
		env:        r.env,
		brief:      !c.Measure,
	}
	return j.secured(c.ConfDir(), "hdfs")
}

// waitReady returns when a launched role is ready; logged is what launch returned.
func (c *Cluster) waitReady(ctx context.Context, r role, logged int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyIn, fmt.Errorf("not ready after %v", readyIn))
	defer cancel()
	again := false
	for ended := 0; ; {
		if _, alive := c.pid(r.name); alive {
			ended = 0
		} else if ended++; ended == endedLooks {
			err := c.failed(r, errors.New("it has ended"), logged)
			if r.name != "master" || again {
				return err
			}
			// A master that comes up while a server fails may give up. Sites have something that starts it again.
			if logged, err = c.launch(r); err != nil {
				return err
			}
			ended, again = 0, true
		}
		if portOpen(cmp.Or(r.address, c.address(r.port))) && c.says(r, logged) {
			return nil
		}
		select {
		case <-ctx.Done():
			return c.failed(r, context.Cause(ctx), logged)
		case <-time.After(pause):
		}
	}
}

// says reports whether the role's log, from an offset on, has all signs that the role is ready.
func (c *Cluster) says(r role, from int64) bool {
	log := c.logSince(r.name, from)
	return !slices.ContainsFunc(r.ready, func(s string) bool { return !bytes.Contains(log, []byte(s)) })
}

func (c *Cluster) logSince(role string, from int64) []byte {
	b, err := os.ReadFile(c.logFile(role))
	if err != nil || from > int64(len(b)) {
		return nil
	}
	return b[from:]
}

func (c *Cluster) failed(r role, err error, from int64) error {
	return fmt.Errorf("start %s: %w; the last lines of %s:\n%s", r.name, err, c.logFile(r.name), lastLines(string(c.logSince(r.name, from)), tailLines))
}

// pid returns a role's process id; false if it isn't running.
func (c *Cluster) pid(role string) (int, bool) {
	b, err := os.ReadFile(c.pidFile(role))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return 0, false
	}
	// The number may belong to another process by now. A process that has ended but was not waited for has an empty
	// command line.
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid, err == nil && bytes.Contains(line, []byte(c.argument(role)+"\x00"))
}

// gone reports whether a process has ended with all its threads, so that it no longer holds a port. A zombie counts as
// gone.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return true
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" Z")) && len(threads) == 1
}

// kill ends a role's process group at once (SIGKILL) and waits until it is gone; false if it wasn't running.
func (c *Cluster) kill(role string) (bool, error) {
	pid, alive := c.pid(role)
	if alive {
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return true, fmt.Errorf("kill %s (process %d): %w", role, pid, err)
		}
		for end := time.Now().Add(goneIn); !gone(pid); time.Sleep(pause / 10) {
			if time.Now().After(end) {
				return true, fmt.Errorf("kill %s: process %d is still there after %v", role, pid, goneIn)
			}
		}
	}
	if err := os.Remove(c.pidFile(role)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return alive, err
	}
	return alive, nil
}

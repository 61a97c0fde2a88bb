package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// shown is what a terminal shows.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shown) read(screen *os.File) {
	for b := make([]byte, 4096); ; {
		n, err := screen.Read(b)
		s.mu.Lock()
		s.text.Write(b[:n])
		s.mu.Unlock()
		if err != nil { // EIO after the last writer has closed
			return
		}
	}
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *shown) until(t *testing.T, text string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(s.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("no %q in %q", text, s)
		}
	}
}

// TestKillQuestion: after Ctrl-C on a terminal, while a job runs on YARN, the command asks whether to kill the job. A
// second Ctrl-C ends the command, and the job continues. Ctrl-C does not reach Hadoop's commands.
func TestKillQuestion(t *testing.T) {
	t.Parallel()
	c := testcluster.Use(t)
	for what, answer := range map[string]struct {
		keys, says string
		killed     bool // the job
		code       int  // of the command; -1: a signal ends it
	}{
		"yes":    {"y\n", "application_1_0001 was killed", true, exitInterrupted},
		"no":     {"\n", "application_1_0001 goes on", false, exitInterrupted},
		"Ctrl-C": {"\x03", "Kill it? [y/N]", false, -1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newYARNRig(t, c, 30, nil)
			asked := filepath.Join(t.TempDir(), "asked")
			home := fakeHadoop(t, fmt.Sprintf("#!/bin/sh\ntrap 'echo interrupted >> %s' INT\n"+
				"echo '2026-11-22 23:16:11,359 INFO [main] YarnClientImpl: Submitted application application_1_0001'\nwhile :; do sleep 0.1; done\n", asked),
				fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %s\n", asked))
			fatal(t, os.WriteFile(r.job, fmt.Appendf(nil, yarnJob, c.FS()+r.root, "'1', '2', '3'", home), 0o644))
			master, slave := openTerminal(t)
			cmd := exec.Command("bulkload", "run", r.job, "--memory", "64MiB", "--engine", "yarn")
			cmd.Env = append(os.Environ(), append(r.env, "TERM=xterm")...)
			cmd.Stdin, cmd.Stderr = slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			fatal(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended
			fatal(t, slave.Close())
			screen := new(shown)
			go screen.read(master)
			press := func(keys string) {
				_, err := master.WriteString(keys)
				fatal(t, err)
			}
			screen.until(t, "tasks run on YARN as application_1_0001")
			press("\x03")
			screen.until(t, "application_1_0001 goes on when this command ends. Kill it? [y/N]")
			press(answer.keys)
			_ = cmd.Wait() // its exit code is checked
			screen.until(t, answer.says)
			if code := cmd.ProcessState.ExitCode(); code != answer.code {
				t.Errorf("exit code %d: %q", code, screen)
			}
			calls, err := os.ReadFile(asked)
			fatal(t, err)
			if killed := strings.Contains(string(calls), "application -kill application_1_0001"); killed != answer.killed || strings.Contains(string(calls), "interrupted") {
				t.Errorf("Hadoop's commands: %s", calls)
			}
		})
	}
}

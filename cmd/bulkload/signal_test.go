package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/sample"
)

// TestTermination: after SIGTERM in the middle of a run, or after the SIGHUPs of a lost terminal, the exit code is 4,
// the log has the end, and the same command continues the run.
func TestTermination(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var rows bytes.Buffer
	if err := sample.Check(&rows, sample.Options{Rows: 300_000, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	// Under nohup this process ignores SIGHUP, and so would the programs that it starts.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for name, signals := range map[string][]syscall.Signal{"SIGTERM": {syscall.SIGTERM}, "SIGHUP": {syscall.SIGHUP, syscall.SIGHUP}} {
		if testing.Short() && name == "SIGTERM" {
			continue // one of them is enough
		}
		t.Run(name, func(t *testing.T) {
			dir := copyJobs(t, repository)
			if err := os.WriteFile(filepath.Join(dir, "jobs/examples/testdata/check/2026-11-20/part-m-00002"), rows.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			command := func() (*exec.Cmd, *bytes.Buffer) {
				// testscript.Main has put a bulkload of this binary into the path.
				cmd := exec.Command("bulkload", "run", "jobs/examples/check.yaml", "--date", "2026-11-20", "--log-file", "log")
				cmd.Dir = dir
				out := &bytes.Buffer{}
				cmd.Stderr = out
				return cmd, out
			}
			cmd, out := command()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(dir, "out/check/2026-11-20/_manifest.json"))
			for _, s := range signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond) // two at once would be one
			}
			_ = cmd.Wait() // its exit code is checked
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), "the same command goes on") {
				t.Fatalf("%v\n%s", cmd.ProcessState, out)
			}
			if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !strings.Contains(string(log), "msg=end status=failed exit=4 ") {
				t.Errorf("%v\n%s", err, log)
			}
			cmd, out = command()
			if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "303,000 read = 303,000 written") {
				t.Fatalf("going on: %v\n%s", err, out)
			}
		})
	}
}

// TestNohup: a SIGHUP that whoever starts the program has it ignore ends nothing.
func TestNohup(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyJobs(t, repository)
	in := filepath.Join(dir, "jobs/examples/testdata/check/")
	if err := os.Rename(filepath.Join(in, "2026-11-20"), filepath.Join(dir, "export")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP; exec bulkload run jobs/examples/check.yaml --date 2026-11-20 --wait 1h --wait-settle 10ms`)
	cmd.Dir = dir
	notes, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(notes)
	for lines.Scan() && !strings.Contains(lines.Text(), "waiting for the input") {
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "export"), filepath.Join(in, "2026-11-20")); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &rest)
	}
}

// TestLostStderr: a run goes on whose log nobody reads any more, as after "2>&1 | head -1".
func TestLostStderr(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bulkload", "run", "jobs/examples/check.yaml", "--date", "2026-11-20", "--log", "json", "--log-file", "log")
	cmd.Dir = copyJobs(t, repository)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close() // before the first line
	cmd.Stdout, cmd.Stderr = writer, writer
	err = cmd.Run()
	_ = writer.Close()
	if err != nil {
		t.Errorf("the run: %v", err)
	}
	if log, err := os.ReadFile(filepath.Join(cmd.Dir, "log")); err != nil || !strings.Contains(string(log), `"msg":"end","status":"done"`) {
		t.Errorf("%v\n%s", err, log)
	}
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	for range 10_000 {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s does not appear", name)
}

// TestSecondSignal: a second signal stops what the first one does not, here a NameNode that accepts calls and never
// answers.
func TestSecondSignal(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	cmd := exec.Command("bulkload", "inspect", "hdfs://"+silent.Addr().String()+"/file")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := silent.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	call, err := silent.Accept() // from here on signals are handled
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = call.Close() }()
	again, late := time.NewTicker(10*time.Millisecond), time.After(10*time.Second)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		case <-ended:
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			return
		case <-late:
			_ = cmd.Process.Kill()
			t.Fatal("signals did not end it")
		}
	}
}

// TestTerminationOfAWait: SIGTERM ends a wait for the input at once.
func TestTerminationOfAWait(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bulkload", "run", "jobs/examples/check.yaml", "--date", "2026-11-21", "--wait", "10h", "--json")
	cmd.Dir = copyJobs(t, repository)
	var out bytes.Buffer
	cmd.Stdout = &out
	notes, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(notes)
	for lines.Scan() && !strings.Contains(lines.Text(), "waiting for the input, at most 10h0m0s") {
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // reads to the end
	}
	_ = cmd.Wait() // its exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), `"exit":4,"error":"stopped; the same command goes on`) {
		t.Errorf("exit code %d\n%s", code, &out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "out")); err == nil {
		t.Error("the output was made")
	}
}

// awaitReader opens a named pipe to write it, as soon as another process has opened it to read it.
func awaitReader(t *testing.T, name string) *os.File {
	t.Helper()
	for range 10_000 {
		if f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			return f
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("nobody reads %s", name)
	return nil
}

// TestTerminationWhileTheJobIsRead: SIGTERM ends each command that reads a job file, even one whose text does not come:
// a named pipe here, a network folder elsewhere.
func TestTerminationWhileTheJobIsRead(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"run"}, {"run", "--from", "2026-11-20", "--to", "2026-11-21"}, {"plan"}, {"verify"}, {"get"}} {
		job := filepath.Join(dir, "job"+args[0]+strconv.Itoa(len(args))+".yaml")
		if err := syscall.Mkfifo(job, 0o600); err != nil {
			t.Fatal(err)
		}
		args = slices.Insert(args, 1, job)
		if args[0] == "get" {
			args = append(args, "a")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where the signal does not end it
		cmd := exec.CommandContext(ctx, "bulkload", args...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text := awaitReader(t, job)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is checked
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), "stopped before anything was changed") {
			t.Errorf("%s: exit code %d\n%s", args, code, &out)
		}
		_ = text.Close()
	}
}

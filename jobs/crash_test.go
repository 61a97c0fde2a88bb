package jobs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"bulkload/ingest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

const crashEnvironment = "BULKLOAD_TEST_CRASH"

// TestCrashChild is the process that TestKilledRunGoesOn kills: it runs the job of a folder until a point is reached the
// n-th time.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashEnvironment + "_DIR")
	if dir == "" {
		t.Skip("runs as a child of TestKilledRunGoesOn")
	}
	_, err := Run(context.Background(), readCheck(t, dir, filepath.Join(dir, "out")), options.Options{Failpoint: killedByPoint(t)})
	t.Fatalf("the run came to its end: %v", err)
}

// TestKilledRunGoesOn kills a run with SIGKILL at each of its points; the same command then gives the bytes of a run
// that was left alone, and once more does nothing.
func TestKilledRunGoesOn(t *testing.T) {
	dir := sampleDir(t, checkJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	mustRun(t, readCheck(t, dir, base), options.Options{})
	for _, c := range []struct {
		at    options.Point
		times int
	}{
		{options.Planned, 1}, {options.Sorted, 1}, {options.Verified, 1}, {options.Verified, 4}, {options.Renamed, 1}, {options.Renamed, 5},
		{options.Recorded, 1}, {options.Recorded, 9}, {options.Balanced, 1}, {options.Written, 1},
	} {
		t.Run(string(c.at)+strconv.Itoa(c.times), func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			crash(t, dir, c.at, c.times)
			s := mustRun(t, readCheck(t, dir, out), options.Options{})
			if s.Books.Written != 2000 {
				t.Errorf("books %v", s.Books)
			}
			sameFiles(t, "resumed", base, out)
			nothingLeft(t, out)
			if again := mustRun(t, readCheck(t, dir, out), options.Options{}); again.Status != failure.StatusNothing {
				t.Errorf("a run after that says %s", again.Status)
			}
			if _, err := os.Stat(filepath.Join(out, ingest.SuccessName)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKilledRunGivesWay: another run takes the place of a killed one with --force, whatever that one has left.
func TestKilledRunGivesWay(t *testing.T) {
	dir := sampleDir(t, checkJob, 2000)
	out := filepath.Join(dir, "out")
	for _, at := range []options.Point{options.Renamed, options.Recorded} {
		crash(t, dir, at, 4)
		part := filepath.Join(dir, "in/2026-11-20/part-m-00003")
		content, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		j := readCheck(t, dir, out)
		j.Input.MaxRejects.Count = 1 // the record that was cut
		if _, err := Run(context.Background(), j, options.Options{}); failure.KindOf(err) != failure.Refused {
			t.Errorf("%s: another run without --force: %v", at, err)
		}
		mustRun(t, j, options.Options{Force: true})
		if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if err := os.WriteFile(part, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}

func crash(t *testing.T, dir string, at options.Point, times int) {
	t.Helper()
	if killed, output := runChild("TestCrashChild", at, times, "_DIR="+dir); !killed {
		t.Fatalf("the child was not killed:\n%s", output)
	}
}

// runChild runs a test in another process, which is to be killed when it reaches a point the n-th time. killed is false if it
// ended before.
func runChild(test string, at options.Point, times int, environment ...string) (killed bool, output []byte) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), crashEnvironment+"_POINT="+string(at), crashEnvironment+"_TIMES="+strconv.Itoa(times))
	for _, e := range environment {
		cmd.Env = append(cmd.Env, crashEnvironment+e)
	}
	output, err := cmd.CombinedOutput()
	return err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, output
}

// killedByPoint kills this process, a child of runChild, at its point.
func killedByPoint(t *testing.T) func(options.Point) {
	t.Helper()
	at := options.Point(os.Getenv(crashEnvironment + "_POINT"))
	left, err := strconv.Atoi(os.Getenv(crashEnvironment + "_TIMES"))
	if err != nil {
		t.Fatal(err)
	}
	var times atomic.Int64
	return func(p options.Point) {
		if p == at && times.Add(1) == int64(left) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

package runtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testleak"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// Killed is a process that a test starts: its task, and when it kills itself. It is the test's own program, so the
// package needs a TestMain that calls Main.
type Killed struct {
	Dir  string // of the job file
	Job  string // the job file's name; "": check.yaml
	Date string // "": jobdir.Date
	Out  string // the output's folder in Dir, or the folder of several; "": as the job file says, and with its max_rejects

	Verify      bool   // the process verifies what the run has written or loaded, instead of running the job
	Load, Table string // the process loads this directory into this table instead

	Conf   string // the folder of the cluster's site files
	Work   string
	Memory int64
	Tasks  bool // the run is done by tasks, in the same process

	At    options.Point // it kills itself when it reaches this point,
	Times int           // for this many times,
	Part  float64       // or when this share of the input has been read
}

// childEnvironment has the Killed of a process started by Command, as JSON.
const childEnvironment = "BULKLOAD_TEST_KILLED"

// ready says that TestMain has called Main. Otherwise a child would run the package's tests, and start children of its
// own.
var ready bool

// Main runs a package's tests, and fails if a goroutine of this program is still running after the last of them. In a
// process started by Command it does that process's task.
func Main(m *testing.M) {
	text := os.Getenv(childEnvironment)
	if text == "" {
		ready = true
		testleak.Main(m)
		return
	}
	var k Killed
	err := json.Unmarshal([]byte(text), &k)
	if err == nil {
		err = k.do()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// do does the process's task.
func (k Killed) do() error {
	die := func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	var times atomic.Int64
	o := k.Options()
	o.Failpoint = func(p options.Point) {
		if p == k.At && times.Add(1) == int64(k.Times) {
			die()
		}
	}
	o.Watch = func(p options.Progress) {
		if k.Part > 0 && p.Phase == "sort" && float64(p.Done) > k.Part*float64(p.Total) {
			die()
		}
	}
	ctx := context.Background()
	if k.Load != "" {
		_, err := loading.Directory(ctx, k.Load, k.Table, o)
		return err
	}
	j, err := k.read()
	if err != nil {
		return err
	}
	if k.Verify {
		_, err = verify.Job(ctx, j, o, false)
		return err
	}
	var by *run.TaskEngine
	if k.Tasks {
		by = &run.TaskEngine{Engine: &InProcess{Options: o}, Sizes: SmallTasks}
	}
	_, err = run.Job(ctx, by.Always(), j, o)
	return err
}

// Options are those of the process, for repeating the command.
func (k Killed) Options() options.Options {
	return options.Options{Conf: k.Conf, Memory: k.Memory, WorkDir: k.Work}
}

// Read reads the job of the process.
func (k Killed) Read(t testing.TB) *jobfile.Job {
	t.Helper()
	j, err := k.read()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (k Killed) read() (*jobfile.Job, error) {
	date := jobdir.Date
	if k.Date != "" {
		var err error
		if date, err = jobfile.ParseText(k.Date); err != nil {
			return nil, err
		}
	}
	j, err := jobfile.Read(filepath.Join(k.Dir, cmp.Or(k.Job, "check.yaml")), jobfile.ReadOptions{Date: date})
	if err != nil || k.Out == "" {
		return j, err
	}
	j.Input.MaxRejects.Count = 1_000_000
	out := filepath.Join(k.Dir, k.Out)
	if len(j.Outputs) == 0 {
		j.Output = out
	}
	for _, one := range j.Outputs {
		one.Output = filepath.Join(out, filepath.Base(one.Output))
	}
	return j, nil
}

// Command is the process, not yet started.
func (k Killed) Command(t testing.TB) *exec.Cmd {
	t.Helper()
	if !ready {
		t.Fatal("the package needs a TestMain that calls runtest.Main")
	}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnvironment+"="+string(text))
	return cmd
}

// Died runs the process until it ends, and reports whether it killed itself.
func (k Killed) Died(t testing.TB) (died bool, output []byte) {
	t.Helper()
	cmd := k.Command(t)
	output, err := cmd.CombinedOutput()
	return err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, output
}

// Kill runs the process until it has killed itself.
func (k Killed) Kill(t testing.TB) {
	t.Helper()
	if died, output := k.Died(t); !died {
		t.Fatalf("%+v: the process was not killed:\n%s", k, output)
	}
}

// Crash kills a run of a folder made by jobdir.Check, with the output out, when it reaches a point for the n-th time.
func Crash(t testing.TB, dir string, at options.Point, times int) {
	t.Helper()
	Killed{Dir: dir, Out: "out", At: at, Times: times}.Kill(t)
}

// KillAnew is Kill of a run without an earlier output.
func (k Killed) KillAnew(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(k.Dir, k.Out)); err != nil {
		t.Fatal(err)
	}
	k.Kill(t)
}

// KillAndResume kills a run without an earlier output, resumes it with the same command, and compares the result with
// that of a run that was not killed.
func (k Killed) KillAndResume(t *testing.T, base string, want *summary.Summary) *summary.Summary {
	t.Helper()
	k.KillAnew(t)
	got := Must(t, k.Read(t), k.Options())
	SameRun(t, k, base, want, got)
	return got
}

// ManyProcesses skips a test of many processes in a short run. TestKilledAtAnyTime remains.
func ManyProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
}

// SameRun requires a resumed run to have the same result as the undisturbed one, and to leave nothing in the work
// folder.
func SameRun(t *testing.T, k Killed, base string, want, got *summary.Summary) {
	t.Helper()
	SameFiles(t, "resumed", filepath.Join(k.Dir, base), filepath.Join(k.Dir, k.Out))
	if got.OutputSummary != nil && (got.Counts != want.Counts || got.Digest != want.Digest) {
		t.Errorf("resumed: books %v, digest %v;\nundisturbed: books %v, digest %v", got.Counts, got.Digest, want.Counts, want.Digest)
	}
	for i, out := range got.Outputs {
		if out.Counts != want.Outputs[i].Counts || out.Digest != want.Outputs[i].Digest {
			t.Errorf("resumed: books %v; undisturbed: %v", out.Counts, want.Outputs[i].Counts)
		}
	}
	for _, name := range []string{"rejects.dat", "rejects.jsonl"} {
		find := func(out string) []byte {
			all, _ := filepath.Glob(filepath.Join(k.Dir, out, "*", manifest.RejectsDir, name))
			if all == nil {
				all = []string{filepath.Join(k.Dir, out, manifest.RejectsDir, name)}
			}
			content, err := os.ReadFile(all[0])
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			return content
		}
		if a, b := find(base), find(k.Out); !bytes.Equal(a, b) || len(a) == 0 && want.Rejects != nil && len(want.Rejects) > 0 {
			t.Errorf("%s: %d bytes, and %d in the resumed run", name, len(a), len(b))
		}
	}
	if left, err := os.ReadDir(k.Work); err == nil && len(left) > 0 {
		t.Errorf("%v is left in the work folder", left)
	}
}

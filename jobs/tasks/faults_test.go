package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// taskFault is a fault of a run by tasks.
type taskFault struct {
	instead func(ctx context.Context, e *runtest.InProcess, p tasks.Phase, task int) (handled bool, err error)
	code    errcode.Code // of the run; "": it ends well all the same
	says    string
	again   []string // what the same command runs then
}

// once does something instead of the first attempt at a task.
func once(phase string, task int, do func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error)) func(context.Context, *runtest.InProcess, tasks.Phase, int) (bool, error) {
	done := false
	return func(ctx context.Context, e *runtest.InProcess, p tasks.Phase, at int) (bool, error) {
		if done || p.Name != phase || at != task {
			return false, nil
		}
		done = true
		return do(ctx, e, p)
	}
}

// runOf is the sorted run of a map task.
func runOf(t *testing.T, p tasks.Phase, task int) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(filepath.Dir(p.Dir), "map", fmt.Sprintf("%05d", task), "*", "0", "run"))
	if err != nil || len(all) != 1 {
		t.Fatalf("task %d has the runs %v, %v", task, all, err)
	}
	return all[0]
}

// changeFile changes some bytes of a file.
func changeFile(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{0xA5, 0x5A, 0xA5}, at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fullFS is a file system without space for some files.
type fullFS struct {
	storage.FS
	full func(name string) bool
}

func (f fullFS) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	if f.full(filepath.Base(name)) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.Create(name, perm)
}

// without are the options of a task without space for some files.
func without(e *runtest.InProcess, full func(name string) bool) options.Options {
	o := e.Options
	o.Storage = func(f storage.FS) storage.FS { return fullFS{f, full} }
	return o
}

// losingFS fails once while a file is written, as HDFS does if a DataNode fails.
type losingFS struct {
	storage.FS
	base string
	lost *atomic.Bool
}

type losingWriter struct {
	storage.FileWriter
	lost *atomic.Bool
}

func (f losingFS) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	w, err := f.FS.Create(name, perm)
	if err == nil && filepath.Base(name) == f.base {
		return &losingWriter{w, f.lost}, nil
	}
	return w, err
}

func (w *losingWriter) Write(p []byte) (int, error) {
	if !w.lost.CompareAndSwap(false, true) {
		return w.FileWriter.Write(p)
	}
	n, err := w.FileWriter.Write(p[:len(p)/2])
	return n, errors.Join(err, &fs.PathError{Op: "write", Path: "run", Err: fmt.Errorf("%w: %w", storage.ErrUnavailable, storage.ErrDataNode)})
}

// losingDataNode are the options of a task that loses a DataNode once.
func losingDataNode(e *runtest.InProcess, base string) options.Options {
	o, lost := e.Options, new(atomic.Bool)
	o.Storage = func(f storage.FS) storage.FS { return losingFS{f, base, lost} }
	return o
}

// TestTaskFaults: whatever happens to a task, the run ends with words that name it, its attempt and its host. The same
// command then does only what is missing, and comes to the files of an undisturbed run.
func TestTaskFaults(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 3000)
	in := filepath.Join(dir, "in", "2026-11-20", "part-m-00003")
	runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "here")), options.Options{})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(jobdir.Parts(t, dir)); n != 4 {
		t.Fatalf("%d input files", n)
	}
	last := []string{"map 3"} // and all reduce tasks: nine regions have the salts 1 to 9, and one nothing before them
	for i := range 10 {
		last = append(last, fmt.Sprint("reduce ", i))
	}
	for what, f := range map[string]taskFault{
		"ends well without a result": {once("map", 3, func(context.Context, *runtest.InProcess, tasks.Phase) (bool, error) { return true, nil }),
			errcode.TaskFailed, "map task 3 has ended without its result, and no attempt at it has begun", last},
		"is killed": {once("map", 3, func(_ context.Context, _ *runtest.InProcess, p tasks.Phase) (bool, error) {
			at := filepath.Join(p.Dir, "00003", "attempt_1_m_1_0-abcd")
			who, err := seal.Marshal(map[string]any{"plan": planID(t, p), "phase": "map", "task": 3, "attempt": "attempt_1_m_1_0-abcd", "host": "node7"})
			return true, errors.Join(err, os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, "attempt.json"), who, 0o600))
		}), errcode.TaskFailed, "map task 3, attempt attempt_1_m_1_0-abcd on node7, has ended without its result", last},
		"has a changed input": {once("map", 3, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			info, err := os.Stat(in)
			if err != nil {
				return true, err
			}
			touch := func(at time.Time) { err = errors.Join(err, os.Chtimes(in, at, at)) }
			touch(info.ModTime().Add(time.Hour))
			failed := tasks.Map(ctx, p.Document, 3, e.Options)
			touch(info.ModTime())
			return true, errors.Join(failed, err)
		}), errcode.InputChanged, " on " + host + ": the input file", last},
		"has no space for its run": {once("map", 3, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			return true, tasks.Map(ctx, p.Document, 3, without(e, func(name string) bool { return name == "run" }))
		}), errcode.DiskFull, "map task 3, attempt ", last},
		"has no space for its files": {once("reduce", 9, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			return true, tasks.Reduce(ctx, p.Document, 9, without(e, hfiles.IsName))
		}), errcode.DiskFull, "reduce task 9, attempt ", []string{"reduce 0"}},
		"loses a DataNode while it writes its run": {once("map", 3, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			return true, tasks.Map(ctx, p.Document, 3, losingDataNode(e, "run"))
		}), "", "", nil},
		"is done twice": {once("map", 3, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			return true, errors.Join(tasks.Map(ctx, p.Document, 3, e.Options), tasks.Map(ctx, p.Document, 3, e.Options))
		}), "", "", nil},
		"fails for its engine and has a result": {once("map", 3, func(ctx context.Context, e *runtest.InProcess, p tasks.Phase) (bool, error) {
			if err := tasks.Map(ctx, p.Document, 3, e.Options); err != nil {
				return true, err
			}
			return true, errors.New("the container was killed when the task was done")
		}), "", "", nil},
		"lost its run": {once("reduce", 9, func(_ context.Context, _ *runtest.InProcess, p tasks.Phase) (bool, error) {
			return false, os.Remove(runOf(t, p, 1))
		}), errcode.SpillDamaged, "reduce task 9, attempt ", []string{"map 1", "reduce 0"}},
		"has a changed run": {once("reduce", 9, func(_ context.Context, _ *runtest.InProcess, p tasks.Phase) (bool, error) {
			changeFile(t, runOf(t, p, 1), 20)
			return false, nil
		}), errcode.SpillDamaged, "reduce task 9, attempt ", []string{"map 1", "reduce 0"}},
	} {
		t.Run(what, func(t *testing.T) {
			out := filepath.Join(dir, strings.ReplaceAll(what, " ", "-"))
			e := &runtest.InProcess{Options: options.Options{Memory: options.MinMemory, WorkDir: t.TempDir()}}
			e.Instead = func(ctx context.Context, p tasks.Phase, task int) (bool, error) { return f.instead(ctx, e, p, task) }
			by := &run.TaskEngine{Engine: e, Sizes: tasks.Sizes{Task: 100_000, Memory: options.MinMemory}}
			_, err := run.Job(t.Context(), by.Always(), jobtest.Check(t, dir, out), options.Options{})
			if f.code == "" && err != nil || f.code != "" && (failure.CodeOf(err) != f.code || !strings.Contains(err.Error(), f.says)) {
				t.Fatalf("%s: %v", failure.CodeOf(err), err)
			}
			if err == nil {
				runtest.SameFiles(t, what, filepath.Join(dir, "here"), out)
				return
			}
			if _, err := os.Stat(filepath.Join(out, "_SUCCESS")); err == nil {
				t.Error("the output says that it is complete")
			}
			e.Ran = nil
			if _, err := run.Job(t.Context(), by.Always(), jobtest.Check(t, dir, out), options.Options{}); err != nil {
				t.Fatal(err)
			}
			if f.again != nil && !slices.Equal(e.Ran, f.again) {
				t.Errorf("the same command ran %v, want %v", e.Ran, f.again)
			}
			runtest.SameFiles(t, what, filepath.Join(dir, "here"), out)
			runtest.EqualManifests(t, what, runtest.ManifestOf(t, filepath.Join(dir, "here")), runtest.ManifestOf(t, out))
			runtest.NoTasks(t, out)
		})
	}
}

// planID is the ID of a phase's plan, as a result has it.
func planID(t *testing.T, p tasks.Phase) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(p.Dir, "*", "*", "result.json"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	text, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	var who struct{ Plan string }
	if err := json.Unmarshal(text, &who); err != nil {
		t.Fatal(err)
	}
	return who.Plan
}

// TestRejectsOfTasks: too many rejects end a run by tasks as one in a process, with the same files of rejects, whether
// one task has too many or all of them together.
func TestRejectsOfTasks(t *testing.T) {
	t.Parallel()
	for what, every := range map[string]int{"all together": 200, "each": 20} {
		dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "in/${date}", "in/${date}\n  max_rejects: 10", 1), 3000)
		jobdir.RejectsEvery(t, dir, every)
		out := filepath.Join(dir, "out")
		e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
		s, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{})
		if failure.CodeOf(err) != errcode.RejectColumns || !strings.Contains(err.Error(), jobdir.Parts(t, dir)[0]) {
			t.Errorf("%s: %s: %v", what, failure.CodeOf(err), err)
		}
		if found, err := os.ReadFile(filepath.Join(out, manifest.RejectsDir, "rejects.dat")); err != nil || bytes.Count(found, []byte("one too many")) < 11 {
			t.Errorf("%s: %d bytes of rejects, %v", what, len(found), err)
		}
		if len(s.Rejects) != 1 || s.Rejects[0].Records < 11 {
			t.Errorf("%s: the summary has %v", what, s.Rejects)
		}
	}
}

// manyFiles adds so many input files of one row.
func manyFiles(t *testing.T, dir string, n int) {
	t.Helper()
	in := jobdir.Parts(t, dir)
	text, err := os.ReadFile(in[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := filepath.Join(filepath.Dir(in[0]), fmt.Sprintf("part-m-%05d", 100+i))
		if err := os.WriteFile(name, text[:bytes.IndexByte(text, 0x10)+1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTasksThatCantBeMerged: a run of more map tasks than can be merged, or of tasks with too little memory to merge
// their runs, is refused, with what to do.
func TestTasksThatCantBeMerged(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 100)
	manyFiles(t, dir, 600)
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{})
	if failure.CodeOf(err) != errcode.TaskMemory || e.Ran != nil {
		t.Errorf("%s: %v; %v ran", failure.CodeOf(err), err, e.Ran)
	}
	_, err = run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: tasks.Sizes{Task: 1000, Memory: 100_000}}).Always(), jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{})
	if failure.CodeOf(err) != errcode.TaskMemory || slices.ContainsFunc(e.Ran, func(s string) bool { return strings.HasPrefix(s, "reduce") }) {
		t.Errorf("%s: %v; %v ran", failure.CodeOf(err), err, e.Ran)
	}
}

// TestPlannedSizesCount: the commands after task plan use the tasks as they were planned. So they need neither its task
// size nor, where no slice is left, its memory.
func TestPlannedSizesCount(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 100)
	manyFiles(t, dir, 600)
	out, o := filepath.Join(dir, "out"), options.Options{WorkDir: dir}
	planned, err := jobs.PlanTasks(t.Context(), jobtest.CheckTo(t, dir, out), options.Options{}, tasks.Sizes{Task: 50_000})
	if err != nil || len(planned.Tasks) < 2 {
		t.Fatal(planned, err)
	}
	for _, task := range planned.Tasks {
		err = errors.Join(err, tasks.Map(t.Context(), planned.Document, task, o))
	}
	gathered, failed := jobs.GatherTasks(t.Context(), out, options.Options{}, runtest.SmallTasks)
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	const little = 1000
	// The tasks of others have their own memory: too little is a warning.
	var said []string
	o.Say = func(text string) { said = append(said, text) }
	again, err := jobs.GatherTasks(t.Context(), out, o, tasks.Sizes{Task: 1, Memory: little})
	if err != nil || !slices.Equal(again.Tasks, gathered.Tasks) || !strings.Contains(strings.Join(said, "\n"), "memory") {
		t.Errorf("slices for tasks with %d bytes of memory: %v, said %q", little, err, said)
	}
	o.Say = nil
	for _, task := range gathered.Tasks {
		err = errors.Join(err, tasks.Reduce(t.Context(), gathered.Document, task, o))
	}
	if err != nil {
		t.Fatal(err)
	}
	if none, err := jobs.GatherTasks(t.Context(), out, options.Options{}, tasks.Sizes{Task: 1, Memory: little}); err != nil || len(none.Tasks) > 0 {
		t.Error(none, err)
	}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: tasks.ExternalScheduler{}, Sizes: tasks.Sizes{Task: 1, Memory: little}}).Always(), jobtest.Check(t, dir, out), options.Options{}); err != nil {
		t.Error(err)
	}
	runtest.NoTasks(t, out)
}

// TestTaskOfAnotherProgram: a task does nothing for a plan of another program, and a driver begins anew instead of
// going on with it.
func TestTaskOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 500)
	out := filepath.Join(dir, "out")
	r, err := jobs.PlanTasks(t.Context(), jobtest.Check(t, dir, out), options.Options{}, runtest.SmallTasks)
	if err != nil || len(r.Tasks) < 2 {
		t.Fatal(r, err)
	}
	plan := strings.TrimPrefix(r.Document, "file://")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := seal.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	p["program"] = strings.Repeat("0", 64)
	if text, err = seal.Marshal(p); err == nil {
		err = os.WriteFile(plan, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := tasks.Map(t.Context(), plan, 0, options.Options{}); failure.CodeOf(err) != errcode.TaskProgram {
		t.Errorf("%s: %v", failure.CodeOf(err), err)
	}
	if all, err := os.ReadDir(filepath.Join(filepath.Dir(plan), "map")); err == nil {
		t.Errorf("%v is in the output", all)
	}
	e := &runtest.InProcess{}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{}); err != nil {
		t.Error(err)
	}
	var over *tasks.WrittenError
	if err := tasks.Map(t.Context(), plan, 0, options.Options{}); !errors.As(err, &over) {
		t.Errorf("after the run: %s: %v", failure.CodeOf(err), err)
	}
	if err := os.WriteFile(plan, bytes.Replace(text, []byte(`"pieces"`), []byte(`"pieceS"`), 1), 0o600); err == nil {
		t.Error("the plan's folder is left")
	}
}

// TestEveryCallOfTasksFails is TestEveryCallOfStorageFails for runs by tasks: driver and tasks have the same faulty
// file system. Some calls fail, and in make exhaustive each.
func TestEveryCallOfTasksFails(t *testing.T) {
	job := strings.Replace(jobdir.CheckJob, "['1', '2', '3', '4', '5', '6', '7', '8', '9']", "['5']", 1)
	dir := jobdir.Check(t, strings.Replace(strings.Replace(job, "salt(check_id, 10) + ", "", 1), "in/${date}", "in/${date}\n  max_rejects: 10", 1), 40)
	jobdir.RejectsEvery(t, dir, 10)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	local := storage.Local
	t.Cleanup(func() { storage.Local = local })
	faulty := &testfs.Failing{FS: local, Fault: new(testfs.Fault)}
	storage.Local = faulty
	run := func() error {
		_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: &runtest.InProcess{Options: options.Options{WorkDir: dir}}, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{})
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	calls := -faulty.Left.Load()
	for _, n := range runtest.FaultsOf(t, calls, 40) {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		faulty.Left.Store(n)
		err := run()
		what := fmt.Sprintf("call %d, %v", n, faulty.Failed())
		if err == nil {
			runtest.WantHarmless(t, faulty.Fault, n)
		} else if !strings.Contains(err.Error(), syscall.EIO.Error()) {
			t.Errorf("%s: %v", what, err)
		}
		faulty.Left.Store(0)
		if err := run(); err != nil {
			t.Errorf("%s: the same command again: %v", what, err)
			continue
		}
		runtest.SameFiles(t, what, base, out)
		sameRejects(t, what, base, out)
		runtest.NoFilesIn(t, what, filepath.Join(out, lock.TempDir))
		runtest.NoTasks(t, out)
	}
}

func sameRejects(t *testing.T, what, a, b string) {
	t.Helper()
	for _, name := range []string{"rejects.dat", "rejects.jsonl"} {
		x, err1 := os.ReadFile(filepath.Join(a, manifest.RejectsDir, name))
		y, err2 := os.ReadFile(filepath.Join(b, manifest.RejectsDir, name))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s: %s has %d bytes, and %d (%v)", what, name, len(x), len(y), err)
		}
	}
}

// TestKilledTasks kills a run by tasks, driver and tasks together, at each of its points. The same command goes on, by
// tasks or in one process, and comes to the files of an undisturbed run.
func TestKilledTasks(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.SlicedJob, 4000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, Tasks: true}
	want := runtest.Must(t, runtest.Killed{Dir: dir, Out: "base"}.Read(t), k.Options())
	for i, at := range []options.Point{options.Planned, options.Sorted, options.Begun, options.Verified, options.Renamed,
		options.Recorded, options.Balanced, options.Written} {
		k.At, k.Times = at, 1
		if at == options.Begun || at == options.Renamed || at == options.Recorded {
			k.Times = 4
		}
		k.KillAnew(t)
		by, how := &run.TaskEngine{Engine: &runtest.InProcess{Options: k.Options()}, Sizes: runtest.SmallTasks}, "by tasks"
		if i%2 == 1 {
			by, how = nil, "in one process"
		}
		got, err := run.Job(t.Context(), by.Always(), k.Read(t), k.Options())
		if err != nil {
			t.Fatalf("killed at %s, %s: %v", at, how, err)
		}
		runtest.SameRun(t, k, "base", want, got)
		runtest.NoTasks(t, filepath.Join(dir, "out"))
	}
}

// unreadableFS can't open a file if unreadable returns an error.
type unreadableFS struct {
	storage.FS
	unreadable func(name string) error
}

func (f unreadableFS) Open(name string) (storage.File, error) {
	if err := f.unreadable(name); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.FS.Open(name)
}

// unreadable are options with a file system whose files of a name can't be read.
func unreadable(base string, err error) options.Options {
	return options.Options{Storage: func(f storage.FS) storage.FS {
		return unreadableFS{f, func(name string) error {
			if filepath.Base(name) == base {
				return err
			}
			return nil
		}}
	}}
}

var errNoContainer = errors.New("no container")

// mappedOnly has the map tasks of a run done, and fails with the first reduce task.
func mappedOnly(t *testing.T, dir, out string) {
	t.Helper()
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	e.Instead = func(_ context.Context, p tasks.Phase, _ int) (bool, error) {
		return p.Name == tasks.ReducePhase, errNoContainer
	}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{}); !errors.Is(err, errNoContainer) {
		t.Fatal(err)
	}
}

// ranAgain does a run by tasks and returns the map tasks that it ran.
func ranAgain(t *testing.T, dir, out string) (maps []string) {
	t.Helper()
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, one := range e.Ran {
		if strings.HasPrefix(one, "map") {
			maps = append(maps, one)
		}
	}
	return maps
}

// TestPlanThatCantBeRead: a plan that can't be read now, or is of another format, ends the run, and deletes nothing:
// the same command goes on with its tasks. One that is damaged is no plan.
func TestPlanThatCantBeRead(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	out := filepath.Join(dir, "out")
	mappedOnly(t, dir, out)
	for cause, want := range map[error]failure.Kind{storage.ErrUnavailable: failure.Later, fs.ErrPermission: failure.Refused, syscall.EIO: failure.Failed} {
		e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
		_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), unreadable("plan.json", cause))
		if err == nil || failure.KindOf(err) != want || e.Ran != nil {
			t.Errorf("%v: kind %d: %v; ran %v", cause, failure.KindOf(err), err, e.Ran)
		}
	}
	all, err := filepath.Glob(filepath.Join(out, manifest.TasksDir, "*", "plan.json"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	text, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.Marshal(map[string]any{"schema": 2, "outputs": "of another type"})
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{string(sealed), `{"schema": 2}`} {
		if err := os.WriteFile(all[0], []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
		_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{})
		if failure.CodeOf(err) != errcode.ManifestVersion || failure.KindOf(err) != failure.Refused || !testwords.Names(err, "plan.json") || e.Ran != nil {
			t.Errorf("%s: %v; ran %v", other, err, e.Ran)
		}
	}
	if err := os.WriteFile(all[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	if maps := ranAgain(t, dir, out); maps != nil {
		t.Errorf("%v ran again", maps)
	}
	out = filepath.Join(dir, "damaged")
	mappedOnly(t, dir, out)
	if all, err = filepath.Glob(filepath.Join(out, manifest.TasksDir, "*", "plan.json")); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	changeFile(t, all[0], 20)
	if maps := ranAgain(t, dir, out); len(maps) != 4 {
		t.Errorf("only %v ran again", maps)
	}
}

// killedOutOfMemory is the word of an engine that killed a task, of which nothing but its beginning is left.
func killedOutOfMemory(t *testing.T, p tasks.Phase, task int, attempt string) error {
	t.Helper()
	at := filepath.Join(p.Dir, fmt.Sprintf("%05d", task), attempt)
	who, err := seal.Marshal(map[string]any{"plan": planID(t, p), "phase": p.Name, "task": task, "attempt": attempt, "host": "node7", "begun": time.Now()})
	if err = errors.Join(err, os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, "attempt.json"), who, 0o600)); err != nil {
		t.Fatal(err)
	}
	return errcode.TaskFailed.New("it used more memory than its container has")
}

// TestNewCauseOfFailure: a run fails because of what happened now. The report of an earlier attempt, in this command or
// in one before, is not the reason if a later attempt ended without one.
func TestNewCauseOfFailure(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	for _, phase := range []string{"map", "reduce"} {
		out, down := filepath.Join(dir, phase), ""
		e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
		fail := func(ctx context.Context, p tasks.Phase, task int) error {
			o := unreadable(down, storage.ErrUnavailable)
			if p.Name == tasks.MapPhase {
				return tasks.Map(ctx, p.Document, task, o)
			}
			return tasks.Reduce(ctx, p.Document, task, o)
		}
		run := func(instead func(ctx context.Context, p tasks.Phase, task int) (bool, error)) error {
			e.Instead = func(ctx context.Context, p tasks.Phase, task int) (bool, error) {
				if p.Name != phase || task != 2 {
					return false, nil
				}
				return instead(ctx, p, task)
			}
			_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{})
			return err
		}
		if down = "part-m-00002"; phase == "reduce" {
			down = "run"
		}
		err := run(func(ctx context.Context, p tasks.Phase, task int) (bool, error) { return true, fail(ctx, p, task) })
		if failure.KindOf(err) != failure.Later || failure.CodeOf(err) == errcode.TaskFailed {
			t.Errorf("%s: with a file system that is down: %v", phase, err)
		}
		err = run(func(_ context.Context, p tasks.Phase, task int) (bool, error) {
			return true, killedOutOfMemory(t, p, task, "attempt_2")
		})
		memory := func(what string) {
			if failure.CodeOf(err) != errcode.TaskFailed || !strings.Contains(err.Error(), "more memory than its container has") ||
				strings.Contains(err.Error(), storage.ErrUnavailable.Error()) {
				t.Errorf("%s, %s: kind %d: %v", phase, what, failure.KindOf(err), err)
			}
		}
		memory("killed by the next command")
		err = run(func(ctx context.Context, p tasks.Phase, task int) (bool, error) {
			if err := fail(ctx, p, task); failure.KindOf(err) != failure.Later {
				t.Error(err)
			}
			return true, killedOutOfMemory(t, p, task, "attempt_3")
		})
		memory("killed after another attempt")
		err = run(func(context.Context, tasks.Phase, int) (bool, error) { return true, nil })
		if failure.CodeOf(err) != errcode.TaskFailed || !strings.Contains(err.Error(), phase+" task 2 ") {
			t.Errorf("%s: of an engine that did nothing: %v", phase, err)
		}
	}
}

// TestLostRejectsOfTasks: the map task whose log of rejects is lost or has changed is done again.
func TestLostRejectsOfTasks(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "in/${date}", "in/${date}\n  max_rejects: 100", 1), 400)
	jobdir.RejectsEvery(t, dir, 20)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for what, harm := range map[string]func(name string){
		"lost": func(name string) {
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		},
		"changed": func(name string) { changeFile(t, name, 5) },
	} {
		out := filepath.Join(dir, what)
		mappedOnly(t, dir, out)
		all, err := filepath.Glob(filepath.Join(out, manifest.TasksDir, "*", "map", "00001", "*", "rejects"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		harm(all[0])
		if maps := ranAgain(t, dir, out); !slices.Equal(maps, []string{"map 1"}) {
			t.Errorf("%s: %v ran again", what, maps)
		}
		runtest.SameFiles(t, what, base, out)
		sameRejects(t, what, base, out)
	}
}

// TestRunsThatCantBeReached: a reduce task that can't reach the file system blames no sorted run, and no map task runs
// again. One without a replica of a block does: then the map task is done again. So is that of a run which has no
// replica when the command begins.
func TestRunsThatCantBeReached(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	missing := errcode.HDFSBlockMissing.Errorf("%w: %w: block 17", storage.ErrUnavailable, storage.ErrDataNode)
	for what, c := range map[string]struct {
		err  error
		kind failure.Kind
		maps int // that run again
	}{
		"down": {storage.ErrUnavailable, failure.Later, 0}, "refused": {fs.ErrPermission, failure.Refused, 0}, "no replica": {missing, failure.Later, 1},
	} {
		out := filepath.Join(dir, what)
		e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
		e.Instead = func(ctx context.Context, p tasks.Phase, task int) (bool, error) {
			if p.Name != tasks.ReducePhase {
				return false, nil
			}
			return true, tasks.Reduce(ctx, p.Document, task, unreadable("run", c.err))
		}
		_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{})
		if failure.KindOf(err) != c.kind {
			t.Errorf("%s: kind %d: %v", what, failure.KindOf(err), err)
		}
		if maps := ranAgain(t, dir, out); len(maps) != c.maps {
			t.Errorf("%s: %v ran again", what, maps)
		}
		runtest.SameFiles(t, what, base, out)
	}
	out := filepath.Join(dir, "lost")
	mappedOnly(t, dir, out)
	lost := filepath.Dir(runIn(t, out, 2))
	o := options.Options{Storage: func(f storage.FS) storage.FS {
		return unreadableFS{f, func(name string) error {
			if filepath.Dir(name) == lost {
				return missing
			}
			return nil
		}}
	}}
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), o); err != nil || len(e.Ran) == 0 || e.Ran[0] != "map 2" {
		t.Errorf("without a replica of a run: %v; ran %v", err, e.Ran)
	}
	runtest.SameFiles(t, "lost", base, out)
}

// runIn is the sorted run of a map task in an output.
func runIn(t *testing.T, out string, task int) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(out, manifest.TasksDir, "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return runOf(t, tasks.Phase{Dir: filepath.Join(all[0], "reduce")}, task)
}

// TestTaskOfAnotherPlan: a task of a plan that was replaced since does nothing, and leaves nothing in the folder of the
// new one.
func TestTaskOfAnotherPlan(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	out := filepath.Join(dir, "out")
	planned, err := jobs.PlanTasks(t.Context(), jobtest.CheckTo(t, dir, out), options.Options{}, runtest.SmallTasks)
	if err != nil {
		t.Fatal(err)
	}
	plan, old := strings.TrimPrefix(planned.Document, "file://"), filepath.Join(dir, "old.json")
	text, err := os.ReadFile(plan)
	if err = errors.Join(err, os.WriteFile(old, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := tasks.Map(t.Context(), old, 0, options.Options{WorkDir: dir}); err != nil {
		t.Fatalf("a copy of the plan: %v", err)
	}
	again, err := jobs.PlanTasks(t.Context(), jobtest.CheckTo(t, dir, out), options.Options{Force: true}, tasks.Sizes{})
	if err != nil || again.Document != planned.Document {
		t.Fatal(again, err)
	}
	err = tasks.Map(t.Context(), old, 0, options.Options{WorkDir: dir})
	if failure.CodeOf(err) != errcode.TaskPlan {
		t.Errorf("%s: %v", failure.CodeOf(err), err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(plan), "map")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the task has left a folder: %v", err)
	}
	err = tasks.Map(t.Context(), old, 0, unreadable("plan.json", storage.ErrUnavailable))
	if failure.KindOf(err) != failure.Later {
		t.Errorf("a plan that can't be read now: %v", err)
	}
}

// TestFoldersOfTasks: what tasks leave is private in each output, and a reduce task that fails leaves no files,
// whatever its output.
func TestFoldersOfTasks(t *testing.T) {
	t.Parallel()
	dir := jobdir.Orders(t, jobdir.OrdersJob, 1000)
	j, err := jobfile.Read(filepath.Join(dir, "orders.yaml"), jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	failed := -1
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	e.Instead = func(ctx context.Context, p tasks.Phase, task int) (bool, error) {
		if p.Name != tasks.ReducePhase || task != p.Tasks[len(p.Tasks)-1] {
			return false, nil
		}
		failed = task
		return true, tasks.Reduce(ctx, p.Document, task, without(e, func(name string) bool { return name == "result.json.tmp" }))
	}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), j, options.Options{}); failure.CodeOf(err) != errcode.DiskFull || failed < 0 {
		t.Fatal(failed, err)
	}
	for _, name := range []string{"seller", "buyer", "index"} {
		runs, err := filepath.Glob(filepath.Join(dir, "out", name, manifest.TasksDir, "*"))
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		if info, err := os.Stat(runs[0]); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has the mode %v, %v", runs[0], info.Mode(), err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "out", "index", manifest.TasksDir, "*", "reduce", fmt.Sprintf("%05d", failed), "*"))
	if err != nil || left != nil {
		t.Errorf("the failed task has left %v, %v", left, err)
	}
}

// stuckFS can't remove files of a name.
type stuckFS struct {
	storage.FS
	base string
}

func (f stuckFS) Remove(name string) error {
	if filepath.Base(name) == f.base {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EIO}
	}
	return f.FS.Remove(name)
}

// TestHandedOverWithAnError: a command that hands tasks over fails if the end of its run fails. Nothing is handed over
// then.
func TestHandedOverWithAnError(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	o := options.Options{Storage: func(f storage.FS) storage.FS { return stuckFS{f, lock.LockName} }}
	r, err := jobs.PlanTasks(t.Context(), jobtest.Check(t, dir, filepath.Join(dir, "out")), o, runtest.SmallTasks)
	if !errors.Is(err, syscall.EIO) || len(r.Tasks) > 0 || r.Document != "" {
		t.Errorf("%v; handed over: %+v", err, r)
	}
	if over := (*tasks.Pending)(nil); errors.As(err, &over) {
		t.Errorf("the error still hands over: %v", err)
	}
}

// endedMeanwhile does a task of a run whose other tasks are all done, and the run finished, at the n-th call of that
// task to its file systems. It returns the number of calls, and whether the task was done before that.
func endedMeanwhile(t *testing.T, dir, phase string, n int64) (calls int64, done bool, err error) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	o := options.Options{WorkDir: dir}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	j, err := jobfile.Read(filepath.Join(dir, "orders.yaml"), jobfile.ReadOptions{Date: jobdir.Date})
	check(err)
	planned, err := jobs.PlanTasks(t.Context(), j, o, runtest.SmallTasks)
	check(err)
	work, others := tasks.Map, planned.Tasks[1:]
	stopped, document := planned.Tasks[0], planned.Document
	finish := func() {
		if phase == tasks.MapPhase {
			check(tasks.Map(t.Context(), planned.Document, stopped, o))
			gathered, err := jobs.GatherTasks(t.Context(), planned.Document, o, runtest.SmallTasks)
			check(err)
			for _, task := range gathered.Tasks {
				check(tasks.Reduce(t.Context(), gathered.Document, task, o))
			}
		} else {
			check(tasks.Reduce(t.Context(), document, stopped, o))
		}
		_, err := jobs.FinishTasks(t.Context(), planned.Document, o)
		check(err)
	}
	for _, task := range others {
		check(tasks.Map(t.Context(), planned.Document, task, o))
	}
	if phase == tasks.ReducePhase {
		check(tasks.Map(t.Context(), planned.Document, stopped, o))
		gathered, err := jobs.GatherTasks(t.Context(), planned.Document, o, runtest.SmallTasks)
		check(err)
		work, document = tasks.Reduce, gathered.Document
		last := len(gathered.Tasks) - 1 // of another output than the first
		for _, task := range gathered.Tasks[:last] {
			check(tasks.Reduce(t.Context(), document, task, o))
		}
		stopped = gathered.Tasks[last]
	}
	f := &testfs.Fault{Instead: func() {
		results, err := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(document, "file://")), phase, fmt.Sprintf("%05d", stopped), "*", tasks.ResultName))
		done = len(results) > 0
		check(err)
		finish()
	}}
	f.Left.Store(n)
	o.Storage = func(fsys storage.FS) storage.FS { return &testfs.Failing{FS: fsys, Fault: f} }
	err = work(t.Context(), document, stopped, o)
	return n - f.Left.Load(), done, err
}

// TestTaskAfterItsRunAtEveryCall: a task that goes on after its run has ended, wherever it was stopped, is refused and
// leaves nothing. In make exhaustive it is stopped at each of its calls.
func TestTaskAfterItsRunAtEveryCall(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 90)
	for _, phase := range []string{tasks.MapPhase, tasks.ReducePhase} {
		calls, _, err := endedMeanwhile(t, dir, phase, 0)
		if err != nil {
			t.Fatal(err)
		}
		step := calls/8 + 1
		if testcluster.In("exhaustive") {
			step = 1
		}
		for n := int64(1); n <= calls; n += step {
			what := fmt.Sprintf("%s, stopped at call %d of %d", phase, n, calls)
			_, done, err := endedMeanwhile(t, dir, phase, n)
			var over *tasks.WrittenError // it had not begun
			if (err == nil) != done || err != nil && failure.CodeOf(err) != errcode.TaskPlan && !errors.As(err, &over) {
				t.Errorf("%s, done %t: %s: %v", what, done, failure.CodeOf(err), err)
			}
			for _, out := range []string{"seller", "buyer", "index"} {
				runtest.NoTasks(t, filepath.Join(dir, "out", out))
			}
			if t.Failed() {
				t.Fatal(what)
			}
		}
	}
}

// openingFS counts how often files of some names are opened, and how many calls of Open run at a time.
type openingFS struct {
	storage.FS
	mu         *sync.Mutex
	opened     map[string]int
	open, most *atomic.Int64
}

func newOpeningFS() *openingFS {
	return &openingFS{mu: new(sync.Mutex), opened: map[string]int{}, open: new(atomic.Int64), most: new(atomic.Int64)}
}

func (f *openingFS) of(fsys storage.FS) storage.FS {
	return &openingFS{fsys, f.mu, f.opened, f.open, f.most}
}

func (f *openingFS) Open(name string) (storage.File, error) {
	f.mu.Lock()
	f.opened[filepath.Base(name)]++
	f.mu.Unlock()
	if filepath.Base(name) == tasks.ResultName {
		open := f.open.Add(1)
		f.mu.Lock()
		f.most.Store(max(f.most.Load(), open))
		f.mu.Unlock()
		defer f.open.Add(-1)
		time.Sleep(time.Millisecond) // others may begin
	}
	return f.FS.Open(name)
}

// TestOpensOfTasks: a reduce task opens the run of each map task once. The driver reads each result once in each of
// its looks, several side by side.
func TestOpensOfTasks(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	manyFiles(t, dir, 12)
	inTasks, inDriver := newOpeningFS(), newOpeningFS()
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir, Storage: inTasks.of}}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{Storage: inDriver.of}); err != nil {
		t.Fatal(err)
	}
	maps, reduces := 0, 0
	for _, task := range e.Ran {
		if strings.HasPrefix(task, "map") {
			maps++
		} else {
			reduces++
		}
	}
	if n := inTasks.opened["run"]; maps < 16 || reduces < 10 || n != maps*reduces {
		t.Errorf("%d map tasks and %d reduce tasks: %d runs were opened", maps, reduces, n)
	}
	if n := inDriver.opened[tasks.ResultName]; n > 1*maps+2*reduces {
		t.Errorf("%d map tasks and %d reduce tasks: %d results were read", maps, reduces, n)
	}
	if n := inDriver.most.Load(); n < 2 || n > 16 {
		t.Errorf("%d results were read at a time", n)
	}
}

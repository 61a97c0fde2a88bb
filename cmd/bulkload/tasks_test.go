package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testrand"
	"bulkload/jobs/base/options"
)

// program is a command that runs as this test's process: TestMain makes it one by its name.
func bulkload(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Args[0] = "bulkload"
	return c
}

// taskJob is a job over some files, in a folder of its own.
func taskJob(t *testing.T, rows int) (job string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "jobs/examples/check.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		var b bytes.Buffer
		if err := sample.Check(&b, sample.Options{Rows: rows, Seed: uint64(i), RecordDelimiter: "\x10", FieldDelimiter: "\x01"}); err != nil {
			t.Fatal(err)
		}
		in := filepath.Join(dir, "testdata/check/2026-11-20")
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprint("part-", i)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job = filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(job, bytes.Replace(text, []byte("../../out/check/${date}"), []byte("out-${HOW}"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return job
}

// sameOutputs wants the files of two outputs to be equal.
func sameOutputs(t *testing.T, a, b string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(a, "f", "*"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	others, _ := filepath.Glob(filepath.Join(b, "f", "*"))
	if len(others) != len(all) {
		t.Errorf("%d files, and %d", len(all), len(others))
	}
	for _, name := range all {
		x, err1 := os.ReadFile(name)
		y, err2 := os.ReadFile(filepath.Join(b, "f", filepath.Base(name)))
		if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs (%v, %v)", filepath.Base(name), err1, err2)
		}
	}
	if _, err := os.Stat(filepath.Join(b, ".tasks")); err == nil {
		t.Error(".tasks is left")
	}
}

// taskProcesses are the processes of tasks that a process has begun.
func taskProcesses(t *testing.T, parent int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) && f[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitTask waits for the first process of a task.
func awaitTask(t *testing.T, parent int) int {
	t.Helper()
	for range 1000 {
		if pids := taskProcesses(t, parent); len(pids) > 0 {
			return pids[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("no task began")
	return 0
}

// TestKilledLocalTasks: with --engine local-tasks a run whose process of a task is killed fails and names the task; one
// whose driver is killed takes its tasks with it. The same command then comes to the files of a run in one process.
func TestKilledLocalTasks(t *testing.T) {
	t.Parallel()
	rows := 20_000
	if testing.Short() {
		rows = 10_000
	}
	job := taskJob(t, rows)
	run := func(how string, more ...string) *exec.Cmd {
		return bulkload(t, append([]string{"run", job, "--date", "2026-11-20", "--set", "HOW=" + how, "-q"}, more...)...)
	}
	byTasks := func() *exec.Cmd { return run("tasks", "--engine", "local-tasks", "--task-size", "1MiB") }
	if out, err := run("here").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := filepath.Join(filepath.Dir(job), "out-tasks")

	var said bytes.Buffer
	c := byTasks()
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(awaitTask(t, c.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || !strings.Contains(said.String(), "map task ") || !strings.Contains(said.String(), "signal: killed") {
		t.Errorf("a task was killed: %v\n%s", err, &said)
	}

	c = byTasks()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	task := awaitTask(t, c.Process.Pid)
	_ = c.Process.Kill()
	_ = c.Wait() // it was killed
	for n := 0; syscall.Kill(task, 0) == nil && n < 1000; n++ {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", task)); err != nil || strings.Contains(string(text), ") Z ") {
			break
		}
		time.Sleep(5 * time.Millisecond)
		if n == 999 {
			t.Error("a task outlives its driver")
		}
	}
	if said, err := byTasks().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	sameOutputs(t, filepath.Join(filepath.Dir(job), "out-here"), out)
}

// TestTasksKilledAnywhere: whatever is killed of a run with --engine local-tasks, the driver or processes of tasks, at
// moments that the seed decides, the same command comes to the files of a run in one process, and leaves nothing else.
func TestTasksKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes again and again")
	}
	t.Parallel()
	random := testrand.New(t)
	job := taskJob(t, 3000)
	start := func(how string, more ...string) (*exec.Cmd, *bytes.Buffer) {
		c, said := bulkload(t, append([]string{"run", job, "--date", "2026-11-20", "--set", "HOW=" + how, "-q", "--work-dir", t.TempDir()}, more...)...), new(bytes.Buffer)
		c.Stderr = said
		fatal(t, c.Start())
		return c, said
	}
	if c, said := start("here"); c.Wait() != nil {
		t.Fatal(said)
	}
	byTasks := func() (*exec.Cmd, *bytes.Buffer) {
		return start("tasks", "--engine", "local-tasks", "--task-size", "100KiB")
	}
	out := filepath.Join(filepath.Dir(job), "out-tasks")
	begun := time.Now()
	if c, said := byTasks(); c.Wait() != nil {
		t.Fatal(said)
	}
	undisturbed := time.Since(begun)
	killed := map[string]int{}
	for range 3 {
		fatal(t, os.RemoveAll(out))
		for kills := 1 + random.IntN(5); ; kills-- {
			c, said := byTasks()
			if kills > 0 {
				time.Sleep(time.Duration(random.Int64N(int64(undisturbed))))
				victim, what := c.Process.Pid, "driver"
				if pids := taskProcesses(t, victim); len(pids) > 0 && random.IntN(2) == 0 {
					victim, what = pids[random.IntN(len(pids))], "task"
				}
				if syscall.Kill(victim, syscall.SIGKILL) == nil {
					killed[what]++
				}
			}
			err := c.Wait()
			if err == nil {
				break
			}
			if kills <= 0 {
				t.Fatalf("nothing was killed: %v\n%s", err, said)
			}
		}
		sameOutputs(t, filepath.Join(filepath.Dir(job), "out-here"), out)
		if c, said := start("tasks"); c.Wait() != nil { // it compares what it finds with what was written
			t.Error(said)
		}
	}
	t.Logf("killed: %v", killed)
}

// TestSecuredLocalTasks: tasks of --engine local-tasks use the site files and the login of the job file, as their
// driver does.
func TestSecuredLocalTasks(t *testing.T) {
	t.Parallel()
	c := testcluster.UseSecured(t)
	job := taskJob(t, 300)
	text, err := os.ReadFile(job)
	fatal(t, err)
	root := fmt.Sprintf("hdfs:///user/test/%s-%x", t.Name(), time.Now().UnixNano())
	text = append(bytes.Replace(text, []byte("out-${HOW}"), []byte(root+"/${HOW}"), 1),
		fmt.Sprintf("\nhbase: {conf: %s, kerberos: {principal: loader, keytab: %s}}\n", c.ConfDir(), c.Keytab("loader"))...)
	fatal(t, os.WriteFile(job, text, 0o600))
	for how, engine := range map[string]string{"here": "local", "tasks": "local-tasks"} {
		cmd := bulkload(t, "run", job, "--date", "2026-11-20", "--set", "HOW="+how, "-q", "--engine", engine)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR=", "HBASE_CONF_DIR=", "KRB5_CONFIG="+c.Krb5Conf(), "KRB5CCNAME="+filepath.Join(t.TempDir(), "none"))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", engine, err, said)
		}
	}
	conf, err := siteconf.Load(c.ConfDir())
	fatal(t, err)
	login, err := kerberos.Open(t.Context(), kerberos.Config{Principal: "loader", Keytab: c.Keytab("loader"), Krb5Conf: c.Krb5Conf()})
	fatal(t, err)
	fsys, dir, err := storage.ResolveAs(root, "/", conf, storage.Identity{Login: login})
	fatal(t, err)
	t.Cleanup(func() { fatal(t, errors.Join(fsys.RemoveAll(dir), fsys.Close())) })
	r := &yarnRig{fsys: fsys, root: dir}
	want, got := map[string][]byte{}, map[string][]byte{}
	r.addFiles(t, "here/f", want)
	r.addFiles(t, "tasks/f", got)
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("%d files, and %d by tasks", len(want), len(got))
	}
	for name, content := range want {
		if !bytes.Equal(got[strings.Replace(name, "here", "tasks", 1)], content) {
			t.Errorf("%s differs", name)
		}
	}
}

// runIn is the ID of the run whose tasks are in an output.
func runIn(t *testing.T, out string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(out, ".tasks", "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return filepath.Base(all[0])
}

// TestTaskCommands does a run by the commands for other schedulers, with the tasks in another order, some of them
// twice, and others by an index from stdin.
func TestTaskCommands(t *testing.T) {
	t.Parallel()
	job := taskJob(t, 300)
	out := filepath.Join(filepath.Dir(job), "out-tasks")
	call := func(want int, args ...string) string {
		t.Helper()
		var text bytes.Buffer
		if code := execute(context.Background(), append(args, "-q"), &text, &text); code != want {
			t.Fatalf("%v: exit code %d\n%s", args, code, &text)
		}
		return text.String()
	}
	call(0, "run", job, "--date", "2026-11-20", "--set", "HOW=here")
	plan := []string{"task", "plan", job, "--date", "2026-11-20", "--set", "HOW=tasks", "--task-size", "1KiB"}
	if said := call(0, append(plan, "--json")...); !strings.Contains(said, `"phase":"map"`) || !strings.Contains(said, `"tasks":[0,1,2,3]`) ||
		!strings.Contains(said, `"id":"`+runIn(t, out)+`"`) {
		t.Fatal(said)
	}
	if said := call(1, "task", "gather", out); !strings.Contains(said, "4 map tasks") {
		t.Error(said)
	}
	for _, i := range []int{3, 1, 1, 0} {
		call(0, "task", "map", out, strconv.Itoa(i))
	}
	if said := call(0, plan...); !strings.Contains(said, "1 map task\n") || !strings.HasSuffix(said, "plan.json 2\n") {
		t.Error(said)
	}
	call(2, "task", "map", out, "4")
	call(2, "task", "map", out, "x")
	c := bulkload(t, "task", "map", out, "-", "-q")
	c.Stdin = strings.NewReader("2\n")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if said := call(0, "task", "gather", out, "--task-size", "1KiB"); !strings.HasPrefix(said, "10 reduce tasks\n") {
		t.Error(said)
	}
	for i := range 10 {
		call(0, "task", "reduce", out, strconv.Itoa(9-i))
	}
	if said := call(0, "task", "gather", out); !strings.HasPrefix(said, "0 reduce tasks") {
		t.Error(said)
	}
	home := filepath.Join(out, ".tasks", runIn(t, out))
	copied := filepath.Join(t.TempDir(), "plan.json")
	text, err := os.ReadFile(filepath.Join(home, "plan.json"))
	fatal(t, errors.Join(err, os.WriteFile(copied, text, 0o600)))
	call(0, "task", "finish", out)
	sameOutputs(t, filepath.Join(filepath.Dir(job), "out-here"), out)

	// A scheduler that has lost an answer repeats a command.
	documents := map[string][]string{"map": {"plan.json"}, "gather": {"plan.json"}, "reduce": {"units.json", "units-0123456789ab.json"}, "finish": {"plan.json"}}
	for command, names := range documents {
		all := []string{out}
		for _, name := range names {
			all = append(all, filepath.Join(home, name))
		}
		if command != "reduce" {
			all = append(all, copied)
		}
		for _, document := range all {
			args := []string{"task", command, document}
			if command == "map" || command == "reduce" {
				args = append(args, "0")
			}
			if said := call(0, args...); command != "finish" && !strings.Contains(said, "nothing to do") {
				t.Errorf("%v: %s", args, said)
			}
			if said := call(0, append(args, "--json")...); !strings.Contains(said, `"status":"nothing to do"`) {
				t.Errorf("%v: %s", args, said)
			}
		}
	}
	call(exitRefused, "task", "map", filepath.Join(out, ".tasks", "0123", "plan.json"), "0") // another run
	sameOutputs(t, filepath.Join(filepath.Dir(job), "out-here"), out)
}

// TestTaskSizeOfJob: task plan cuts the input by the job file's engine.task_size, unless --task-size gives another one.
func TestTaskSizeOfJob(t *testing.T) {
	t.Parallel()
	job := taskJob(t, 100)
	text, err := os.ReadFile(job)
	if err == nil {
		err = os.WriteFile(job, append(text, "\nengine: {task_size: 1KiB}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{"": "4 map tasks\n", "--task-size 1GiB": "1 map task\n"} {
		var said bytes.Buffer
		args := append([]string{"task", "plan", job, "--date", "2026-11-20", "--set", "HOW=x" + fmt.Sprint(len(flags)), "-q"}, strings.Fields(flags)...)
		if code := execute(context.Background(), args, &said, &said); code != 0 || !strings.HasPrefix(said.String(), want) {
			t.Errorf("%q: exit code %d, %s; want %s", flags, code, &said, want)
		}
	}
}

// TestIndexOfTask: a task's index is an argument, or the first line of stdin, as NLineInputFormat gives it.
func TestIndexOfTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, stdin string
		want        int
		ok          bool
	}{{"7", "", 7, true}, {"-", "7\n", 7, true}, {"-", "7\t\n", 7, true}, {"-", "7", 7, true}, {"-", "7\n8\n", 7, true},
		{"-", "", 0, false}, {"-", "x\n", 0, false}, {"-1", "", 0, false}, {"", "", 0, false}} {
		if n, err := readIndex(c.text, strings.NewReader(c.stdin)); n != c.want || (err == nil) != c.ok {
			t.Errorf("%q with %q: %d, %v", c.text, c.stdin, n, err)
		}
	}
}

// TestStatusOfTasks: a task of Hadoop Streaming reports its progress each minute, since Hadoop kills a task that is
// silent for ten minutes. Other tasks write no such lines.
func TestStatusOfTasks(t *testing.T) {
	for attempt, want := range map[string]string{
		"": "",
		"attempt_1_0001_m_000007_0": "reporter:status:no progress yet after 1m0s\nreporter:status:sort: 5 of 10 records\n" +
			"reporter:status:sort: 5 of 10 records, no progress for 1m30s\n",
	} {
		t.Setenv("mapreduce_task_attempt_id", attempt)
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			s := quietSession(&out, common{})
			if err := s.openLog(); err != nil {
				t.Fatal(err)
			}
			did := -1
			_, err := s.task(t.Context(), func(_ context.Context, _ string, task int, _ options.Options) error {
				did = task
				time.Sleep(90 * time.Second)
				s.tracker.show(options.Progress{Phase: "sort", Done: 5, Total: 10})
				time.Sleep(90*time.Second + time.Millisecond)
				return nil
			}, "plan.json", "7")
			time.Sleep(time.Hour)
			if err != nil || did != 7 || out.String() != want {
				t.Errorf("task %d, %v: %q, want %q", did, err, &out, want)
			}
		})
	}
}

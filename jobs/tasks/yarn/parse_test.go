package yarn

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/tasks"
)

// clientText is what the client of Hadoop 3.4.2 printed of a job, shortened.
const clientText = `2026-11-22 23:16:11,359 INFO [main] YarnClientImpl: Submitted application application_1795389345588_0001
2026-11-22 23:16:11,384 INFO [main] Job: The url to track the job: http://localhost:29644/proxy/application_1795389345588_0001/
2026-11-22 23:16:11,385 INFO [main] Job: Running job: job_1795389345588_0001
2026-11-22 23:16:18,525 INFO [main] Job:  map 0% reduce 0%
2026-11-22 23:16:23,700 INFO [main] Job: Task Id : attempt_1795389345588_0001_m_000000_0, Status : FAILED
Error: java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 3
	at org.apache.hadoop.streaming.PipeMapRed.waitOutputThreads(PipeMapRed.java:326)

2026-11-22 23:16:30,803 INFO mapreduce.Job: Task Id : attempt_1795389345588_0001_m_000001_0, Status : FAILED
[2026-11-22 23:16:30.801]Container is running 402681856B beyond the 'PHYSICAL' memory limit.
26/11/22 23:16:31 INFO mapreduce.Job:  map 100% reduce 0%
2026-11-22 23:16:31,900 INFO [main] ClientServiceDelegate: Application state is completed. FinalApplicationStatus=FAILED. Redirecting to job history server
2026-11-22 23:23:14,000 ERROR [main] StreamJob: Error Launching job : Application with id 'x' is unknown
Streaming Command Failed!
`

func TestClientOutput(t *testing.T) {
	t.Parallel()
	var got []event
	c := &client{events: func(e event) { got = append(got, e) }, debug: func(string) {}}
	c.read(strings.NewReader(clientText))
	const job = "application_1795389345588_0001"
	want := []event{
		{application: job},
		{tracking: "http://localhost:29644/proxy/application_1795389345588_0001/"},
		{application: job},
		{attempt: "attempt_1795389345588_0001_m_000000_0", state: "FAILED",
			diagnostics: "Error: java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 3"},
		{attempt: "attempt_1795389345588_0001_m_000001_0", state: "FAILED",
			diagnostics: "[2026-11-22 23:16:30.801]Container is running 402681856B beyond the 'PHYSICAL' memory limit."},
		{unknown: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if said, last := c.text(); said != "Application with id 'x' is unknown" || !strings.HasSuffix(last, "Failed!") {
		t.Errorf("%q, %q", said, last)
	}
}

// TestClientsEnd: the client's output is read to its end, its exit status is reported, and it can be killed.
func TestClientsEnd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	debug := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	c, err := start(exec.Command("sh", "-c", "echo a; echo b >&2; exit 5"), func(event) {}, debug)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.wait(t.Context()); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("error %v", err)
	}
	if len(lines) != 2 {
		t.Errorf("it printed %q", lines)
	}
	c, err = start(exec.Command("sh", "-c", "sleep 1000 & wait"), func(event) {}, debug)
	if err != nil {
		t.Fatal(err)
	}
	c.kill()
	if err := c.wait(t.Context()); err == nil {
		t.Error("a client that was killed ended well")
	}
	if _, err := start(exec.Command("/nowhere/hadoop"), func(event) {}, debug); err == nil {
		t.Error("what does not exist was started")
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	r, err := parseReport("Application Report : \n\tApplication-Id : application_1_0001\n\tState : FINISHED\n\tFinal-State : FAILED\n" +
		"\tTracking-URL : http://localhost:1/x\n\tDiagnostics : Task failed task_1\nJob failed as tasks failed. failedMaps:1 : 0\n\n" +
		"\tUnmanaged Application : false\n\tTimeoutType : LIFETIME\tExpiryTime : UNLIMITED\n")
	want := report{state: "FINISHED", final: "FAILED", tracking: "http://localhost:1/x", diagnostics: "Task failed task_1\nJob failed as tasks failed. failedMaps:1 : 0"}
	if err != nil || r != want || !r.ended() || r.succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = parseReport("Application with id 'application_1_0001' doesn't exist in RM or Timeline Server.\n")
	if !testwords.Names(err, "application_1_0001", "doesn't exist") {
		t.Errorf("error %v", err)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	const text = "Total number of applications (application-types: [MAPREDUCE]):2\n" +
		"                Application-Id\t    Application-Name\t    Application-Type\t      User\n" +
		"application_1_0001\t       bulkload-ab-map\t           MAPREDUCE\t      root\n" +
		"application_1_0002\t    bulkload-ab-reduce\t           MAPREDUCE\t      root\n"
	if got := parseList(text, "bulkload-ab-map"); len(got) != 1 || got[0] != "application_1_0001" {
		t.Errorf("%q", got)
	}
	if got := parseList(text, "bulkload-a"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	got, err := commandLine([]string{"bulkload", "a b", `c"d`, "it's", ""})
	if want := `bulkload "a b" 'c"d' "it's" ""`; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := commandLine([]string{`a"b'c`}); err == nil {
		t.Error("both kinds of quotes are passed on")
	}
	if got, want := quoted([]string{"hadoop", "-D", "a=b c", "it's"}), `hadoop -D 'a=b c' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFiles: Hadoop refuses these characters in the names of files that it ships, escaped or not.
func TestFiles(t *testing.T) {
	t.Parallel()
	got, err := files([2]string{"file:///opt/bulkload", "bulkload"}, [2]string{"hdfs://ns1/o/dt=1/.tasks/1/plan.json", "plan.json"})
	if want := "file:///opt/bulkload#bulkload,hdfs://ns1/o/dt=1/.tasks/1/plan.json#plan.json"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for _, name := range []string{"hdfs://ns1/a b", "hdfs://ns1/a,b", "hdfs://ns1/a%20b"} {
		_, err := files([2]string{name, "x"})
		if errcode.Outermost(err) != errcode.YarnSubmit || !testwords.Names(err, name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestSurvey: a task counts once, whatever its attempts did.
func TestSurvey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"00001/a-1/failure.json", "00001/b-2/result.json", "00002/attempt_1_m_3_0-77/failure.json", "00003/d-1/attempt.json", "00003/e-1/attempt.json",
		"00009/h-1/result.json", "_yarn/tasks-0001",
	} {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	p := tasks.Phase{FS: storage.Local, Dir: dir, Tasks: []int{1, 2, 3, 4}}
	s := survey{map[int]bool{}}
	for range 2 {
		if done, running, err := s.look(p); done != 1 || running != 2 || err != nil {
			t.Errorf("%d done and %d running, %v, want 1 and 2", done, running, err)
		}
	}
	text, err := seal.Marshal(word{Task: 2, Host: "node7", Text: "the disk is full"})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "00002/attempt_1_m_3_0-77/failure.json"), text, 0o644))
	if w, found := wordOf(p, "attempt_1_m_3_0"); !found || w != (word{2, "node7", "the disk is full"}) {
		t.Errorf("%+v, %t", w, found)
	}
	if _, found := wordOf(p, "attempt_1_m_3"); found {
		t.Error("another attempt is found")
	}
}

// TestIdleReducerFails: a failed attempt of a job's reducer is not reported as a task, and does not hide the failure of
// one.
func TestIdleReducerFails(t *testing.T) {
	t.Parallel()
	const mapper, reducer = "attempt_1_0001_m_000003_1", "attempt_1_0001_r_000000_0"
	var log strings.Builder
	e := &Runner{Log: slog.New(slog.NewTextHandler(&log, nil))}
	f := &follower{Runner: e, phase: tasks.Phase{Name: tasks.MapPhase, FS: storage.Local, Dir: t.TempDir(), Tasks: []int{3}}, application: "application_1_0001"}
	f.event(event{attempt: reducer, state: "FAILED", diagnostics: "no memory"})
	if text := log.String(); !strings.Contains(text, "the idle reducer of the map tasks' job, attempt "+reducer+": failed: no memory") || strings.Contains(text, "a map task") {
		t.Errorf("it says %s", text)
	}
	err := f.ended(report{diagnostics: "Task failed task_1_0001_r_000000"})
	if errcode.Outermost(err) != errcode.YarnFailed || !testwords.Names(err, reducer, "idle reducer") {
		t.Errorf("the reducer ended the job: %v", err)
	}
	f.event(event{attempt: mapper, state: "FAILED", diagnostics: "subprocess failed"})
	f.event(event{attempt: reducer, state: "FAILED", diagnostics: "no memory"})
	err = f.ended(report{diagnostics: "Task failed task_1_0001_m_000003"})
	if errcode.Outermost(err) != errcode.YarnFailed || !testwords.Names(err, mapper) || testwords.Names(err, "idle") {
		t.Errorf("a task ended the job: %v", err)
	}
}

// TestForgottenJob: a job that YARN does not know any more has ended, so the run goes on with what is missing, at once.
// A run whose jobs are forgotten again and again fails. The test is not parallel: a process that another test forks
// would keep the script open for writing.
func TestForgottenJob(t *testing.T) {
	program := filepath.Join(t.TempDir(), "yarn")
	for what, script := range map[string]string{
		"fails":      "echo \"Application with id '$3' doesn't exist in RM or Timeline Server.\"; exit 255",
		"on stderr":  "echo \"ApplicationNotFoundException: Application with id '$3' doesn't exist in RM. Please check\" >&2; exit 1",
		"exits well": "echo \"Application with id '$3' doesn't exist in RM or Timeline Server.\"",
	} {
		check(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		var log strings.Builder
		e := &Runner{Log: slog.New(slog.NewTextHandler(&log, nil)), tools: tools{yarn: program}}
		for i := range maxForgotten + 1 {
			f := &follower{Runner: e, phase: tasks.Phase{Name: tasks.MapPhase}, application: "application_1_0007"}
			err := f.poll(t.Context())
			if last := i == maxForgotten; !last && !errors.Is(err, tasks.ErrAgain) || last &&
				errcode.Outermost(err) != errcode.YarnFailed {
				t.Fatalf("%s: job %d: %v", what, i, err)
			}
		}
		if text := log.String(); !strings.Contains(text, "job_1_0007") || strings.Contains(text, "does not answer") {
			t.Errorf("%s: it says %s", what, text)
		}
		if err := e.kill(t.Context(), "application_1_0007"); err != nil {
			t.Errorf("%s: kill: %v", what, err)
		}
	}
}

package yarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// rig is an engine on a real YARN, whose tasks run a shell script.
type rig struct {
	*Runner
	cluster *testcluster.Cluster
	phase   tasks.Phase

	mu  sync.Mutex
	log strings.Builder
}

func (r *rig) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *rig) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// newRig makes an engine whose program is a script. It finds the index of its task in $task, and in $out a local
// folder.
func newRig(t *testing.T, c *testcluster.Cluster, script string) *rig {
	t.Helper()
	conf, err := siteconf.Load(c.ConfDir())
	check(t, err)
	out := t.TempDir()
	program := filepath.Join(t.TempDir(), "program")
	check(t, os.WriteFile(program, []byte("#!/bin/bash\nread -r task rest\nout="+out+"\n"+script+"\n"), 0o755))
	dir := fmt.Sprintf("/yarn-%s-%x/.tasks/r/map", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	fsys, dir, err := storage.ResolveAs(c.FS()+dir, "/", conf, storage.Identity{})
	check(t, err)
	check(t, fsys.MkdirAll(dir, 0))
	t.Cleanup(func() { check(t, fsys.Close()) })
	r := &rig{cluster: c}
	r.Runner = &Runner{Settings: Settings{EngineSettings: jobfile.EngineSettings{HadoopHome: c.HadoopHome()}}, Program: program, ConfDirs: []string{c.ConfDir()}, WorkDir: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	t.Cleanup(func() { check(t, r.Close()) })
	w, err := fsys.Create(path.Join(dir, "plan.json"), 0)
	check(t, err)
	_, err = w.Write([]byte("planned\n"))
	check(t, err)
	check(t, w.Close())
	r.phase = tasks.Phase{Name: "map", Run: fmt.Sprintf("%x", time.Now().UnixNano()), Document: fsys.URI(path.Join(dir, "plan.json")), Tasks: []int{0, 7, 12},
		Memory: 64 << 20, Cores: 1, FS: fsys, Dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.logged())
		}
	})
	return r
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outputs are the names and contents of the files that the script left.
func (r *rig) outputs(t *testing.T) map[string]string {
	t.Helper()
	script, err := os.ReadFile(r.Program)
	check(t, err)
	_, rest, _ := strings.Cut(string(script), "out=")
	out, _, _ := strings.Cut(rest, "\n")
	entries, err := os.ReadDir(out)
	check(t, err)
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(out, e.Name()))
		check(t, err)
		all[e.Name()] = string(b)
	}
	return all
}

// TestOnYARN runs the cases on one cluster.
func TestOnYARN(t *testing.T) {
	testcluster.OnlyIn(t, "test-yarn")
	c := testcluster.UseYARN(t)
	for name, run := range map[string]func(*testing.T, *testcluster.Cluster){
		"once":     onceEach,
		"failing":  failing,
		"memory":   beyondMemory,
		"followed": followed,
		"anew":     anew,
		"killed":   killedWhenAsked,
		"refused":  refused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, c)
		})
	}
}

// onceEach: each task runs once, with its command line, its index on stdin, and a copy of the plan.
func onceEach(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `echo "$*|$rest|$(cat plan.json)|$HADOOP_CONF_DIR" >> $out/$task`)
	check(t, r.Run(t.Context(), r.phase))
	const want = "task map plan.json - --memory 67108864 --cores 1||planned|.\n"
	got := r.outputs(t)
	for _, task := range []string{"0", "7", "12"} {
		if got[task] != want {
			t.Errorf("task %s left %q, want %q", task, got[task], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d tasks ran: %v", len(got), got)
	}
}

// failing: an attempt fails and another one is done; a task whose attempts all fail ends the run, and the error names
// it.
func failing(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `[ $task = 7 ] && [[ $mapreduce_task_attempt_id == *_0 ]] && exit 3; echo x >> $out/$task`)
	check(t, r.Run(t.Context(), r.phase))
	if got := r.outputs(t); len(got) != 3 || got["7"] != "x\n" {
		t.Errorf("%v", got)
	}
	if log := r.logged(); !strings.Contains(log, "YARN tries it again") || !strings.Contains(log, "subprocess failed with code 3") {
		t.Error("the failed attempt is not reported")
	}
	r = newRig(t, c, `[ $task = 7 ] && exit 3; echo x >> $out/$task`)
	r.Attempts = 2
	err := r.Run(t.Context(), r.phase)
	if errcode.Outermost(err) != errcode.YarnFailed || !testwords.Names(err, "attempt_", "code 3") {
		t.Errorf("error %v", err)
	}
}

// beyondMemory: a container that uses more than it may is killed, and the error says so.
func beyondMemory(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `head -c 700m /dev/zero | tail -c 700m | sleep 60`)
	r.Attempts, r.phase.Tasks = 2, []int{7}
	err := r.Run(t.Context(), r.phase)
	if errcode.Outermost(err) != errcode.YarnFailed || !testwords.Names(err, "PHYSICAL") {
		t.Errorf("error %v", err)
	}
}

// wantStatus wants YARN to say something of the phase's live job.
func (r *rig) wantStatus(t *testing.T, pattern string) {
	t.Helper()
	id, err := r.live(t.Context(), jobName(r.phase))
	check(t, err)
	text, err := r.yarn(t.Context(), "application", "-status", id)
	check(t, err)
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("no %s in\n%s", pattern, text)
	}
}

// followed: a run that is interrupted leaves its job running. Another one follows it, and submits only what the job
// lacks.
func followed(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `echo begun >> $out/$task; until [ -e $out/go ]; do sleep 0.2; done; echo ended >> $out/$task`)
	r.Priority = "HIGH"
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(r.outputs(t)) < 3 && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
	}()
	err := r.Run(ctx, r.phase)
	if !errors.Is(err, context.Canceled) || !testwords.Names(err, "goes on") {
		t.Fatalf("error %v", err)
	}
	r.wantStatus(t, `Application Priority : \D*4\b`) // HIGH (TypeConverter.toYarnApplicationPriority)
	r.goWhenFollowed(t)
	if err := r.Run(t.Context(), r.phase); !errors.Is(err, tasks.ErrAgain) {
		t.Fatalf("followed: %v", err)
	}
	r.phase.Tasks = []int{13} // which that job did not have
	check(t, r.Run(t.Context(), r.phase))
	got := r.outputs(t)
	for _, task := range []string{"0", "7", "12", "13"} {
		if got[task] != "begun\nended\n" {
			t.Errorf("task %s left %q", task, got[task])
		}
	}
	if !strings.Contains(r.logged(), "run on YARN already") {
		t.Error("the job was not followed")
	}
}

// goWhenFollowed lets the tasks end, which wait for a file, when their job is followed. It returns their folder.
func (r *rig) goWhenFollowed(t *testing.T) (out string) {
	t.Helper()
	script, err := os.ReadFile(r.Program)
	check(t, err)
	_, rest, _ := strings.Cut(string(script), "out=")
	out, _, _ = strings.Cut(rest, "\n")
	go func() {
		for !strings.Contains(r.logged(), "run on YARN already") && t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		_ = os.WriteFile(filepath.Join(out, "go"), nil, 0o644)
	}()
	return out
}

// anew: a run that begins anew, and so has deleted what the engine kept, waits for the end of the job that it had. That
// its tasks fail is no failure of the new plan.
func anew(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `echo begun >> $out/$task; until [ -e $out/go ]; do sleep 0.2; done; [ -e $out/new ] || exit 5`)
	r.Attempts = 1
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(r.outputs(t)) < 3 && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
	}()
	if err := r.Run(ctx, r.phase); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	check(t, r.phase.FS.RemoveAll(path.Join(r.phase.Dir, folder)))
	out := r.goWhenFollowed(t)
	if err := r.Run(t.Context(), r.phase); !errors.Is(err, tasks.ErrAgain) {
		t.Fatalf("the old job has ended: %v", err)
	}
	check(t, os.WriteFile(filepath.Join(out, "new"), nil, 0o644))
	check(t, r.Run(t.Context(), r.phase))
}

// killedWhenAsked: the job of an interrupted run is killed if that is asked for.
func killedWhenAsked(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, `echo begun >> $out/$task; sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(r.outputs(t)) < 3 && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
	}()
	asked := ""
	r.Kill = func(application string) bool { asked = application; return true }
	err := r.Run(ctx, r.phase)
	if !errors.Is(err, context.Canceled) || !testwords.Names(err, asked, "killed") ||
		!strings.HasPrefix(asked, "application_") {
		t.Fatalf("error %v, asked for %q", err, asked)
	}
	if id, err := r.live(t.Context(), jobName(r.phase)); err != nil || id != "" {
		t.Errorf("the job %s goes on, %v", id, err)
	}
}

// refused: YARN's reason for not accepting a job is in the error.
func refused(t *testing.T, c *testcluster.Cluster) {
	r := newRig(t, c, "")
	r.Queue = "nosuch"
	err := r.Run(t.Context(), r.phase)
	if errcode.Outermost(err) != errcode.YarnSubmit || !testwords.Names(err, "nosuch") {
		t.Errorf("error %v", err)
	}
}

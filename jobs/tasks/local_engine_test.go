package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
)

// engineOf is an engine whose tasks run a shell script in a folder of their own. $4 is the index of the task. The tests
// are not parallel: a process that another test forks while the script is written would keep it open for writing, and
// it could not be run ("text file busy").
func engineOf(t *testing.T, script string) (*LocalEngine, string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &LocalEngine{Program: program, Name: program, Flags: []string{"--conf", "x"}, Parallel: 2}, dir
}

// noPauses lets a test wait only in its imagination, until it has waited for some time: then up is called.
func noPauses(t *testing.T, after time.Duration, up func()) {
	t.Helper()
	var mu sync.Mutex
	var waited time.Duration
	t.Cleanup(func() { wait = pause.For })
	wait = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		if waited += d; waited >= after {
			up()
		}
		return nil
	}
}

// TestTaskOutlastsAnOutage: a task whose server is away for a minute is tried again until the server is back.
func TestTaskOutlastsAnOutage(t *testing.T) {
	e, dir := engineOf(t, `[ -e up ] || exit 75`)
	noPauses(t, time.Minute, func() { _ = os.WriteFile(filepath.Join(dir, "up"), nil, 0o600) })
	if err := e.Run(t.Context(), phaseOf(func(int, int) {}, 0, 1)); err != nil {
		t.Error(err)
	}
}

func phaseOf(watch func(done, running int), indexes ...int) Phase {
	return Phase{Name: MapPhase, Document: "plan", Tasks: indexes, Memory: 1 << 20, Cores: 1, Watch: watch}
}

// TestTasksAreTriedAgain: a task that may succeed later is tried again; each of the others is run once.
func TestTasksAreTriedAgain(t *testing.T) {
	noPauses(t, time.Hour, nil)
	e, dir := engineOf(t, `echo "$*" >> ran-$4; [ $4 != 1 ] || [ $(wc -l < ran-1) = 3 ] || exit 75`)
	var last [2]int
	if err := e.Run(t.Context(), phaseOf(func(done, running int) { last = [2]int{done, running} }, 0, 1, 2)); err != nil || last != [2]int{3, 0} {
		t.Errorf("%v; %d tasks are done, %d run", err, last[0], last[1])
	}
	for task, times := range []int{1, 3, 1} {
		ran, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("ran-", task)))
		want := strings.Repeat(fmt.Sprintf("task map plan %d --memory 1048576 --cores 1 --conf x\n", task), times)
		if err != nil || string(ran) != want {
			t.Errorf("task %d: %v, %q", task, err, ran)
		}
	}
}

// TestTaskThatFails: a failed task ends the others. The error names the task and its last line on stderr, and may pass
// by if the task's did.
func TestTaskThatFails(t *testing.T) {
	noPauses(t, time.Hour, nil)
	for code, tries := range map[int]int{1: 1, 75: len(pauses) + 1} {
		e, dir := engineOf(t, fmt.Sprintf(`if [ $4 = 7 ]; then while [ ! -e ready ]; do sleep 0.01; done; echo x >> ran; echo first >&2; echo the cause >&2; exit %d; fi
trap 'echo ended > ended; exit 4' TERM; echo > ready; while :; do sleep 0.01; done`, code))
		err := e.Run(t.Context(), phaseOf(func(int, int) {}, 3, 7))
		fault := (*TaskError)(nil)
		if !errors.As(err, &fault) || fault.Task != 7 || fault.Host == "" ||
			failure.CodeOf(err) != map[int]errcode.Code{1: errcode.TaskFailed, 75: errcode.OtherLater}[code] ||
			!testwords.Names(err, "the cause") {
			t.Errorf("exit code %d: %v", code, err)
		}
		if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || len(ran) != 2*tries {
			t.Errorf("exit code %d: %v, run %d times", code, err, len(ran)/2)
		}
		if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
			t.Errorf("exit code %d: the other task was not asked to end: %v", code, err)
		}
	}
}

// TestStoppedTasks: a canceled context ends the tasks that run, and begins no other.
func TestStoppedTasks(t *testing.T) {
	e, dir := engineOf(t, `trap 'exit 4' TERM; echo x >> ran; while :; do sleep 0.01; done`)
	e.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if err := e.Run(ctx, phaseOf(func(int, int) {}, 0, 1, 2)); err == nil {
		t.Error("no error")
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || len(ran) != 2 {
		t.Errorf("%v: %q", err, ran)
	}
}

package lock_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/loading"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
)

// TestTwoJobsIntoOneTable: each learns of the other; the second one's load waits for the first one's end, unless the
// options say to fail or to go on beside it. All rows of both arrive.
func TestTwoJobsIntoOneTable(t *testing.T) {
	const second = "2026-11-21"
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 200, 93)
	l.Night(t, second, 200, 94)

	atLoad, goOn := make(chan struct{}), make(chan struct{})
	var first runtest.Notes
	o := l.Options()
	o.Say = first.Say
	var once sync.Once
	o.Failpoint = func(p options.Point) {
		if p == options.Staging {
			once.Do(func() { close(atLoad); <-goOn })
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), o)
		ended <- err
	}()
	select {
	case <-atLoad:
	case err := <-ended:
		t.Fatal(err)
	}

	all, err := l.Findings(t, livetest.Night20, l.Options())
	if failure.KindOf(err) != failure.Later { // the output is locked
		t.Errorf("a check beside a load: %v", err)
	}
	livetest.WantFinding(t, all, "other runs", preflight.Warning, "check.yaml for "+livetest.Night20)

	fails := l.Options()
	fails.OnBusy = options.BusyFail
	if _, err := run.Job(context.Background(), nil, l.Job(t, second), fails); failure.CodeOf(err) != errcode.TableBusy || !strings.Contains(err.Error(), "check.yaml for "+livetest.Night20) {
		t.Errorf("--on-busy fail: %v", err)
	}
	waiting := make(chan struct{})
	var noted sync.Once
	other := runtest.Notes{Seen: func(text string) {
		if strings.Contains(text, "waiting for another load to end") {
			noted.Do(func() { close(waiting) })
		}
	}}
	waits := l.Options()
	waits.Say = other.Say
	secondEnded := make(chan error, 1)
	go func() {
		_, err := run.Job(context.Background(), nil, l.Job(t, second), waits)
		secondEnded <- err
	}()
	select {
	case <-waiting:
	case err := <-secondEnded:
		t.Fatalf("the second load did not wait: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-secondEnded; err != nil {
		t.Error(err)
	}
	if !other.Has("other run into this table") {
		t.Errorf("the second run did not report the other one at its beginning: %q", other.Said)
	}
	l.WantTable(t, "both", l.Expected(t, livetest.Night20), l.Expected(t, second))
	if all, _ := l.Findings(t, livetest.Night20, l.Options()); all["other runs"].State != preflight.OK {
		t.Errorf("afterwards: %+v", all["other runs"])
	}
}

// TestLoadBesideAnother: a table's lock that is held does not stop a load with --on-busy load, and a directory's load
// takes its turn, too.
func TestLoadBesideAnother(t *testing.T) {
	l := livetest.WrittenNight(t, 200, 95)
	held, err := lock.OpenTable(l.Ledger(t), l.Table,
		lock.Request{User: "tina", Purpose: "another job", Lost: func(error) {}}).Lock(t.Context(), l.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	}()
	dir := l.Out + "/" + livetest.Night20
	o := l.Options()
	o.OnBusy = options.BusyFail
	if _, err := loading.Directory(context.Background(), dir, l.Table, o); failure.CodeOf(err) != errcode.TableBusy {
		t.Errorf("load --on-busy fail: %v", err)
	}
	limited, cancel := context.WithCancel(context.Background())
	o = l.Options()
	o.Say = func(text string) {
		if strings.Contains(text, "waiting for another load") && strings.Contains(text, "another job") {
			cancel()
		}
	}
	if _, err := loading.Directory(limited, dir, l.Table, o); failure.KindOf(err) != failure.Interrupted {
		t.Errorf("a load that waits was stopped: %v", err)
	}
	var said runtest.Notes
	o = l.Options()
	o.Say, o.OnBusy = said.Say, options.BusyLoad
	if r, err := loading.Directory(context.Background(), dir, l.Table, o); err != nil || r.Load.Files != 10 || !said.Has("--on-busy load") {
		t.Errorf("load --on-busy load: %+v, %v; said %q", r, err, said.Said)
	}
	l.WantTable(t, "loaded beside another", l.Expected(t, livetest.Night20))
}

// TestInterruptedLoadTakesItsTurn: a run that goes on with its load waits for, or fails because of, another load like
// any run.
func TestInterruptedLoadTakesItsTurn(t *testing.T) {
	const second = "2026-11-21"
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 200, 95)
	l.Night(t, second, 200, 96)
	stopped, stop := context.WithCancel(context.Background())
	o := l.Options()
	o.Failpoint = func(p options.Point) {
		if p == options.Staging {
			stop()
		}
	}
	if _, err := run.Job(stopped, nil, l.Job(t, livetest.Night20), o); failure.KindOf(err) != failure.Interrupted {
		t.Fatalf("interrupted: %v", err)
	}
	atLoad, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	other := l.Options()
	other.Failpoint = func(p options.Point) {
		if p == options.Staging {
			once.Do(func() { close(atLoad); <-goOn })
		}
	}
	go func() {
		_, err := run.Job(context.Background(), nil, l.Job(t, second), other)
		ended <- err
	}()
	select {
	case <-atLoad:
	case err := <-ended:
		t.Fatal(err)
	}
	fails := l.Options()
	fails.OnBusy = options.BusyFail
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), fails); failure.CodeOf(err) != errcode.TableBusy {
		t.Errorf("beside another load: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), fails); err != nil {
		t.Error(err)
	}
	l.WantTable(t, "both", l.Expected(t, livetest.Night20), l.Expected(t, second))
}

package lock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// two are two runs into one table.
func two(t *testing.T) (a, b *TableLock, dir string) {
	t.Helper()
	l := ledger.Open(storage.Local, t.TempDir())
	_, dir = l.TableFolder("ns:t")
	open := func(purpose string) *TableLock {
		return OpenTable(l, "ns:t",
			Request{User: "tina", Purpose: purpose, Output: "file:///out/" + purpose, Lost: func(error) {}})
	}
	return open("a.yaml for 2026-11-20"), open("b.yaml"), dir
}

// TestAnnounce: runs see each other from the beginning to the end of both, and leave nothing.
func TestAnnounce(t *testing.T) {
	a, b, dir := two(t)
	check(t, a.Announce(t.Context()))
	others, err := b.Others()
	if err != nil || len(others) != 1 || !strings.Contains(others[0], "a.yaml for 2026-11-20") {
		t.Errorf("b sees %q, %v", others, err)
	}
	check(t, b.Announce(t.Context()))
	if others, err := a.Others(); err != nil || len(others) != 1 || !strings.Contains(others[0], "b.yaml") {
		t.Errorf("a sees %q, %v", others, err)
	}
	check(t, a.Close())
	check(t, a.Close())
	if others, err := b.Others(); err != nil || len(others) != 0 {
		t.Errorf("b sees %q, %v", others, err)
	}
	check(t, b.Close())
	left, err := os.ReadDir(filepath.Join(dir, runsFolder))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// deadOwner makes every lock below a folder that of a process that has ended.
func deadOwner(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("true")
	check(t, cmd.Run())
	found := 0
	check(t, filepath.Walk(dir, func(name string, _ os.FileInfo, err error) error {
		if err != nil || filepath.Base(name) != LockName {
			return err
		}
		found++
		text, err := os.ReadFile(name)
		check(t, err)
		var owner map[string]any
		check(t, json.Unmarshal(text, &owner))
		owner["pid"] = cmd.Process.Pid
		text, err = json.Marshal(owner)
		check(t, err)
		return os.WriteFile(name, text, 0o600)
	}))
	if found == 0 {
		t.Fatal("there is no lock")
	}
}

// TestKilledRun: neither the sign nor the lock of a killed process keeps anybody waiting.
func TestKilledRun(t *testing.T) {
	a, b, dir := two(t)
	check(t, a.Announce(t.Context()))
	_, err := a.Lock(t.Context(), options.Options{})
	check(t, err)
	deadOwner(t, dir)
	if others, err := b.Others(); err != nil || len(others) != 0 {
		t.Errorf("a dead run is seen: %q, %v", others, err)
	}
	o, err := options.Options{OnBusy: options.BusyFail}.WithDefaults()
	check(t, err)
	lock, err := b.Lock(t.Context(), o)
	check(t, err)
	check(t, lock.Fresh())
	check(t, lock.Release())
}

// TestTurns: a load waits for the other one's end, or fails, or goes on, or is stopped while it waits.
func TestTurns(t *testing.T) {
	a, b, _ := two(t)
	held, err := a.Lock(t.Context(), options.Options{})
	check(t, err)
	if _, err := b.Lock(t.Context(), options.Options{OnBusy: options.BusyFail}); failure.CodeOf(err) != errcode.TableBusy || failure.KindOf(err) != failure.Later ||
		!testwords.Names(err, "a.yaml", "2026-11-20") {
		t.Errorf("fail: %v", err)
	}
	beside, err := b.Lock(t.Context(), options.Options{OnBusy: options.BusyLoad})
	check(t, err)
	check(t, beside.Fresh())
	check(t, beside.Release())

	stopped, stop := context.WithCancel(t.Context())
	o, err := options.Options{Say: func(string) { stop() }}.WithDefaults()
	check(t, err)
	if _, err := b.Lock(stopped, o); failure.KindOf(err) != failure.Interrupted {
		t.Errorf("stopped: %v", err)
	}

	var said bytes.Buffer
	o, err = options.Options{Say: func(text string) { // only this goroutine's
		said.WriteString(text)
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	}}.WithDefaults()
	check(t, err)
	lock, err := b.Lock(t.Context(), o)
	check(t, err)
	if !strings.Contains(said.String(), "waiting for another load to end: a.yaml for 2026-11-20") {
		t.Errorf("said %q", said.String())
	}
	check(t, lock.Release())
}

// countingFS counts attempts to make a lock.
type countingFS struct {
	storage.FS
	locks *atomic.Int64
}

func (f countingFS) Create(name string, perm os.FileMode) (storage.FileWriter, error) {
	if filepath.Base(name) == LockName {
		f.locks.Add(1)
	}
	return f.FS.Create(name, perm)
}

// TestLongWait: a load that waits for hours asks the NameNode less and less often, and says how long it has waited for
// whom.
func TestLongWait(t *testing.T) {
	a, b, _ := two(t)
	synctest.Test(t, func(t *testing.T) {
		held, err := a.Lock(t.Context(), options.Options{})
		check(t, err)
		var locks atomic.Int64
		b.fsys = countingFS{b.fsys, &locks}
		stopped, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var said []string
		o, err := options.Options{Say: func(text string) { said = append(said, text) }}.WithDefaults()
		check(t, err)
		if _, err := b.Lock(stopped, o); failure.KindOf(err) != failure.Interrupted && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped: %v", err)
		}
		if n := locks.Load(); n < 300 || n > 400 {
			t.Errorf("%d attempts in an hour", n)
		}
		if len(said) < 50 || !strings.Contains(said[len(said)-1], ": a.yaml for 2026-11-20") || !strings.Contains(said[len(said)-1], "59m") {
			t.Errorf("%d notes: %q", len(said), said[max(0, len(said)-1):])
		}
		check(t, held.Release())
	})
}

package lock

// Runs into one table must see each other and take turns, so they share a folder: the table's in the ledger. From start
// to end, a run holds a lock of its own there, by which others notice it. While it loads, it also holds the table's
// lock.

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
)

// The folders in a table's folder of the ledger: one has a folder for each run, and the other is locked by the load.
const (
	runsFolder = "runs"
	loadFolder = "load"
)

// TableLock is a table that several jobs may load into, as one run sees it.
type TableLock struct {
	Name    string
	options Request
	ledger  *ledger.Ledger
	fsys    storage.FS
	dir     string
	sign    *DirectoryLock // this run's own lock; nil before Announce
	own     string         // the folder of the sign
}

// OpenTable finds a table in the ledger, for a run that has the lock of an output.
func OpenTable(l *ledger.Ledger, name string, o Request) *TableLock {
	fsys, dir := l.TableFolder(name)
	return &TableLock{Name: name, options: o, ledger: l, fsys: fsys, dir: dir}
}

func (t *TableLock) runs() string { return path.Join(t.dir, runsFolder) }

// Announce makes this run known to others until Close.
func (t *TableLock) Announce(ctx context.Context) error {
	t.own = path.Join(t.runs(), NewToken())
	err := t.ledger.MakeFolder(t.own)
	if err == nil {
		o := t.options
		o.Output = "" // not the table's lock
		t.sign, err = Acquire(ctx, t.fsys, t.own, o)
	}
	if err != nil {
		return fmt.Errorf("announce the run into table %s: %w", t.Name, err)
	}
	return nil
}

// Close ends what Announce began.
func (t *TableLock) Close() error {
	if t == nil || t.sign == nil {
		return nil
	}
	err := t.sign.Release()
	t.sign = nil
	return errors.Join(err, t.fsys.RemoveAll(t.own))
}

// Others describes the other runs into the table that are under way. It removes the signs of runs that were killed.
func (t *TableLock) Others() ([]string, error) {
	folders, err := storage.List(t.fsys, t.runs())
	if err != nil {
		return nil, fmt.Errorf("look for other runs into table %s: %w", t.Name, err)
	}
	var others []string
	for _, f := range folders {
		dir := path.Join(t.runs(), f.Name)
		if dir == t.own || !f.Dir {
			continue
		}
		switch held, alive, err := Holder(t.fsys, dir, t.options.User); {
		case err != nil:
			return nil, fmt.Errorf("look for other runs into table %s: %w", t.Name, err)
		case alive:
			others = append(others, held.String())
		case held != (Owner{}) || time.Since(f.ModTime) > LockStale: // a new run may not have its lock yet
			_ = t.fsys.RemoveAll(dir) // the next run tries again
		}
	}
	return others, nil
}

// Turn is the right to load into a table. A nil Turn is the right of a load that does not take turns.
type Turn struct{ held *DirectoryLock }

const (
	pollBusy = time.Second      // between the first two attempts to lock a table, each of which asks the NameNode
	pollLong = 10 * time.Second // likewise, after a while
	sayBusy  = time.Minute      // between two notes about waiting for it
)

// Lock returns when this run may load. If another load is under way, o.OnBusy decides: it waits, loads beside it, or
// fails. Release must follow.
func (t *TableLock) Lock(ctx context.Context, o options.Options) (*Turn, error) {
	dir := path.Join(t.dir, loadFolder)
	if err := t.ledger.MakeFolder(dir); err != nil {
		return nil, fmt.Errorf("lock table %s: %w", t.Name, err)
	}
	begun, wait := time.Now(), pollBusy
	var said time.Time
	for {
		held, err := Acquire(ctx, t.fsys, dir, t.options)
		if err == nil {
			t.tell(o)
			return &Turn{held}, nil
		}
		if failure.CodeOf(err) != errcode.Locked {
			return nil, fmt.Errorf("lock table %s: %w", t.Name, err)
		}
		switch by := t.holder(dir); {
		case o.OnBusy == options.BusyFail:
			return nil, errcode.TableBusy.Errorf("table %s: another load is under way: %s; try again later, or wait with "+
				"--on-busy wait", t.Name, by)
		case o.OnBusy == options.BusyLoad:
			o.Warnf("table %s: loading although another load is under way: %s (--on-busy load)", t.Name, by)
			return nil, nil
		case time.Since(said) >= sayBusy:
			text := fmt.Sprintf("table %s: waiting for another load to end: %s (--on-busy load does not wait)",
				t.Name, by)
			if !said.IsZero() {
				text += fmt.Sprintf("; %v so far. It is alive: it has renewed its lock in the last %v",
					time.Since(begun).Round(time.Second), LockStale)
			}
			o.Infof("%s", text)
			said = time.Now()
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, fmt.Errorf("wait for the load of another job into table %s: %w", t.Name, err)
		}
		wait = min(wait*3/2, pollLong)
	}
}

// tell logs other runs into the table, which may have begun after this one.
func (t *TableLock) tell(o options.Options) {
	if t.sign == nil {
		return
	}
	others, err := t.Others()
	if err != nil {
		o.Warnf("%v", err)
	}
	for _, other := range others {
		o.Infof("table %s: another run into it is under way: %s; its load waits for this one", t.Name, other)
	}
}

// holder describes who holds the lock of a folder.
func (t *TableLock) holder(dir string) string {
	held, _, err := Holder(t.fsys, dir, t.options.User)
	if err != nil {
		return fmt.Sprintf("a process that can't be named (%v)", err)
	}
	if held == (Owner{}) {
		return "a process that has just ended"
	}
	return held.String()
}

// Fresh returns an error if another process may have taken the lock over. It reads nothing, so it may be called before
// each request.
func (l *Turn) Fresh() error {
	if l == nil {
		return nil
	}
	return l.held.Fresh()
}

// TempFolder returns the folder for what the load writes into the ledger (ledger.Ledger.Write), or "" if it takes no
// turns.
func (l *Turn) TempFolder() (string, error) {
	if l == nil {
		return "", nil
	}
	return l.held.TempFolder()
}

// Explain replaces an error by the loss of the turn if it is lost: see DirectoryLock.Explain.
func (l *Turn) Explain(err error) error {
	if l == nil {
		return err
	}
	return l.held.Explain(err)
}

// Release lets the next load begin.
func (l *Turn) Release() error {
	if l == nil {
		return nil
	}
	return l.held.Release()
}

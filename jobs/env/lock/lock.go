// Package lock keeps runs apart. It locks a directory on any file system against other runs, including those on other
// machines, and takes over the locks of dead processes. Jobs that load into one table learn of each other and take
// turns.
package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
)

// A lock is a file in the directory.
const (
	LockName    = "_lock"          // in the directory
	lockRefresh = time.Minute      // how often the holder touches it
	LockStale   = 10 * time.Minute // if untouched for so long, the lock of an invisible owner is taken over
	lockBlank   = time.Minute      // likewise, if it names nobody because it could not be written
	lockRemoval = 5 * time.Second  // how long to try to remove a lock that could not be written
)

// DirectoryLock is the lock of a directory: it keeps other runs out of an output directory.
type DirectoryLock struct {
	FS      storage.FS
	dir     string
	me      Owner
	polling bool   // the caller polls
	Text    []byte // the file's content
	stop    chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex // guards what follows
	touched time.Time  // when it was last written
	failed  error      // why it could not be written after that

	making parallel.Lock // guards temps
	temps  bool          // the folder for temporary files exists
}

// Request says who takes a lock, and for what.
type Request struct {
	User    string
	Purpose string // what the run does, for people; "" if the user's name is enough
	// Output is the URI of the output whose lock the run has; "" if it has none. Each run checks that lock before it
	// does anything with the output, so this one need not protect data: it only makes runs of different outputs take
	// turns. It is taken over at once from a run with the same output, because that run has lost the output's lock. It
	// is also taken over from a process that exists but has not touched it for LockStale, because that process is
	// stopped or hangs.
	Output string
	Lost   func(error) // called if another run takes the lock over
}

// Acquire locks an existing directory, or returns an error that names the holder (try later).
func Acquire(ctx context.Context, fsys storage.FS, dir string, o Request) (*DirectoryLock, error) {
	l := &DirectoryLock{FS: fsys, dir: dir, me: newOwner(o.User),
		polling: o.Output != "", stop: make(chan struct{}), making: parallel.NewLock()}
	l.me.Purpose, l.me.Output = o.Purpose, o.Output
	var err error
	if l.Text, err = json.Marshal(l.me); err != nil {
		return nil, fmt.Errorf("write the lock: %w", err)
	}
	acquired := false
	defer func() {
		if !acquired {
			heldHere.Delete(l.me.Token)
		}
	}()
	for range 3 {
		l.SetTouched(time.Now())
		heldHere.Store(l.me.Token, true) // set before others can see the lock
		err = storage.Rewrite(ctx, l.create, func(error) {})
		if err == nil {
			l.done.Add(1)
			go l.refresh(ctx, o.Lost)
			acquired = true
			if err := l.clearTemps(); err != nil {
				return nil, errors.Join(fmt.Errorf("clean the output: %w", err), l.Release())
			}
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, errMovedAway) {
			return nil, fmt.Errorf("lock %s: %w", fsys.URI(dir), err)
		}
		if err := l.takeOver(); err != nil {
			return nil, err
		}
	}
	return nil, errcode.Locked.Errorf("lock %s: other runs keep locking it; try again later", fsys.URI(dir))
}

// Holder describes the owner of a directory's lock. ok is false if there is no lock, or its owner is gone.
func Holder(fsys storage.FS, dir, user string) (held Owner, ok bool, err error) {
	l := &DirectoryLock{FS: fsys, dir: dir, me: newOwner(user), polling: true}
	held, err = l.read(l.name())
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("read the lock: %w", err)
	}
	f, _ := systemProcesses.liveness(held, l.me)
	if f == unknown {
		old, err := l.isStale(held) // if the age can't be found out, the owner may be alive
		return held, !old || err != nil, nil
	}
	return held, f == alive, nil
}

// NotHeld returns the lock of a directory that is only read. Until it is acquired, whatever needs the lock fails.
func NotHeld(fsys storage.FS, dir string) *DirectoryLock { return &DirectoryLock{FS: fsys, dir: dir} }

// Held reports whether the lock was acquired. Check finds out whether it still is this run's.
func (l *DirectoryLock) Held() bool { return l.stop != nil }

func (l *DirectoryLock) name() string { return path.Join(l.dir, LockName) }

// errMovedAway means that another run took the lock for that of a dead owner while this one wrote it (takeOver). It may
// have put it back.
var errMovedAway = errors.New("another run moved the lock away while it was written")

// create writes the lock. If it can't be written in full, create removes it, because it would keep everybody out,
// unless it is another run's by now, which took this one for that of a dead run while it was empty.
func (l *DirectoryLock) create() error {
	w, err := l.FS.Create(l.name(), storage.FilePerm)
	if err != nil {
		return err
	}
	if _, err = w.Write(l.Text); err == nil {
		err = w.Close()
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, storage.ErrLeaseLost) {
		go func() { _ = w.Abort() }() // removes nothing, because the file is another run's, but may wait for a DataNode
		return fmt.Errorf("%w: %v", errMovedAway, err)
	}
	moved, removed := false, make(chan struct{})
	go func() { // if a file system is down, this may fail only after minutes
		defer close(removed)
		held, unread := l.read(l.name())
		if moved = unread == nil && !held.blank() && held.Token != l.me.Token; !moved {
			_ = w.Abort()
			_ = storage.RemoveIfThere(l.FS, l.name()) // if it stays, the next run takes it over in a minute
		}
	}()
	select {
	case <-removed:
		if moved {
			return fmt.Errorf("%w: %v", errMovedAway, err)
		}
	case <-time.After(lockRemoval):
	}
	return err
}

// takeOver moves the lock of a dead owner away. It returns an error if the owner may be alive.
//
// A rename is one step, so of several runs that find the same dead owner, only one moves its lock. The others find
// nothing to move, and the one that creates the new lock first has it. Between the look and the move, the dead owner's
// lock may have been replaced by that of a living run. So takeOver reads what it moved, and puts it back if it is
// another lock, or can't be read. It can't be put back if a third run has locked the directory in that moment, because
// Rename refuses a name that exists. (On HDFS it looks first, so it may replace a lock that is made after that look.)
// Whoever loses its lock in this way, or because this process is killed before it has put it back, finds that out
// before its next change (Check), and ends.
//
// takeOver alone is not safe if the owner only seems to be dead because it was stopped for LockStale: the rename does
// not prevent its next change. Fresh and Check do, and each change needs them (Guarded). But the owner may have been
// stopped even between them and the change. Then it has nothing left to rename, because its temporary files are moved
// away before the new owner looks at anything else (clearTemps). A file that it was about to remove, however, it still
// removes.
func (l *DirectoryLock) takeOver() error {
	held, err := l.read(l.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the lock: %w", err)
	}
	turn := l.me.Output != "" && held.Output != ""
	f, why := systemProcesses.liveness(held, l.me)
	isGone := f == dead || turn && held.Output == l.me.Output
	if !isGone && (f == unknown || turn) {
		switch isGone, err = l.isStale(held); {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was released meanwhile
		case err != nil:
			return fmt.Errorf("find out how old the lock of %v is, which may be gone: %w", held, err)
		}
	}
	switch {
	case isGone:
	case f == alive:
		return errcode.Locked.Errorf("%s is locked by %v, which is running; try again when it is done", l.FS.URI(l.dir), held)
	default:
		return errcode.Locked.Errorf("%s is locked by %v; try again when it is done. This process can't tell whether it is "+
			"still running: %s. Its lock is taken over when it has not been renewed for %v; delete %s before that only if you "+
			"know that the process is gone", l.FS.URI(l.dir), held, why, staleAfter(held), l.FS.URI(l.name()))
	}
	// The lock that is moved away stays until the former owner's temporary files are moved away (clearTemps), because this
	// process may be killed in between.
	if err := l.FS.MkdirAll(path.Join(l.dir, TempDir), storage.DirPerm); err != nil {
		return fmt.Errorf("take over the lock of %v: %w", held, err)
	}
	aside := path.Join(l.dir, TempDir, staleName+NewToken())
	if err := l.FS.Rename(l.name(), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take over the lock of %v: %w", held, err)
	}
	switch moved, err := l.read(aside); {
	case errors.Is(err, fs.ErrNotExist): // it was released, or another run has taken it over and cleared what was moved
	case err != nil:
		return errors.Join(fmt.Errorf("take over the lock of %v: read what was moved: %w", held, err),
			l.FS.Rename(aside, l.name()))
	case !moved.same(held):
		return errors.Join(errcode.Locked.Errorf("%s was just locked by %v", l.FS.URI(l.dir), moved),
			l.FS.Rename(aside, l.name()))
	}
	return nil
}

func (l *DirectoryLock) read(name string) (Owner, error) {
	var o Owner
	text, err := storage.ReadFile(l.FS, name, 64<<10)
	if err == nil && (json.Unmarshal(text, &o) != nil || o.blank()) {
		// After a crash it may be empty or incomplete; then its age decides.
		o = Owner{foreign: json.Valid(text)}
	}
	return o, err
}

// isStale reports whether an invisible owner has left its lock untouched for too long, by the file system's own clock.
//
// To read that clock, it must create a file. A caller that polls, every few seconds, does this only if the lock may be
// old by this machine's clock. If that clock is wrong, little is lost: a lock is taken for fresh, and left alone, while
// it seems to have been touched less than half of the limit ago, or as far in the future. A caller that does not poll
// always creates the file, which also shows whether it can write into the folder at all.
func (l *DirectoryLock) isStale(held Owner) (bool, error) {
	limit := staleAfter(held)
	then, err := l.FS.Stat(l.name())
	if err != nil || l.polling && time.Since(then.ModTime).Abs() < limit/2 {
		return false, err
	}
	now, err := l.clock()
	return err == nil && now.Sub(then.ModTime) > limit, err
}

func staleAfter(held Owner) time.Duration {
	if held.blank() && !held.foreign {
		return lockBlank
	}
	return LockStale
}

// clock returns the time of the file system.
func (l *DirectoryLock) clock() (time.Time, error) {
	probe := l.name() + "_probe_" + l.me.Token
	if err := storage.CreateFile(l.FS, probe, nil); err != nil {
		return time.Time{}, err
	}
	defer func() { _ = l.FS.Remove(probe) }() // a file that stays does no harm
	info, err := l.FS.Stat(probe)
	return info.ModTime, err
}

// refresh touches the lock periodically, so that other machines see that this process lives.
func (l *DirectoryLock) refresh(ctx context.Context, lost func(error)) {
	defer l.done.Done()
	tick := time.NewTicker(lockRefresh)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.Touch(); err != nil {
			lost(err)
			return
		}
	}
}

// Touch rewrites the lock. It returns an error only if the lock is lost, or soon will be: after a single failure the
// next tick tries again, well before others may take the lock over.
func (l *DirectoryLock) Touch() error {
	held, err := l.read(l.name())
	if gone := errors.Is(err, fs.ErrNotExist); gone || err == nil && !held.same(l.me) {
		return l.takenOver(held, gone)
	}
	now := time.Now()
	var temps string
	if err == nil {
		temps, err = l.TempFolder()
	}
	if err == nil {
		err = storage.ReplaceFile(l.FS, l.name(), path.Join(temps, LockName), l.Text)
	}
	if err == nil {
		l.SetTouched(now)
		return nil
	}
	l.mu.Lock()
	l.failed = err
	l.mu.Unlock()
	return l.Fresh()
}

// Check checks that the lock is still this run's, before a change that another run would rely on.
func (l *DirectoryLock) Check() error {
	if err := l.Fresh(); err != nil {
		return err
	}
	return l.checkOwner()
}

// checkOwner is Check for a lock that may be old.
func (l *DirectoryLock) checkOwner() error {
	held, err := l.read(l.name())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		held, err = l.read(l.name()) // it may have been rewritten meanwhile, so that its old blocks are gone
	}
	if gone := errors.Is(err, fs.ErrNotExist); gone || err == nil && !held.same(l.me) {
		return l.takenOver(held, gone)
	}
	if err != nil {
		return fmt.Errorf("read the lock: %w", err)
	}
	return nil
}

// Explain replaces an error by the loss of the lock if the lock is lost: the loss is then regarded as the cause, so the
// same command may succeed later. A lock that can't be read is not lost.
func (l *DirectoryLock) Explain(err error) error {
	if err == nil || failure.KindOf(err) == failure.Later {
		return err
	}
	lost := l.Check()
	if lost == nil && l.isCleared() {
		return errcode.RunAgain.Errorf("another run took over the lock of %s and moved this run's temporary files away (%v)",
			l.FS.URI(l.dir), err)
	}
	if failure.KindOf(lost) == failure.Later && !errors.Is(lost, storage.ErrUnavailable) {
		return errcode.RunAgain.Errorf("%w; nothing was changed since (%v)", lost, err)
	}
	return err
}

// Fresh returns an error if the lock was untouched for so long that another machine may soon take it over. Unlike
// Check, it reads nothing.
func (l *DirectoryLock) Fresh() error {
	if !l.Held() {
		return fmt.Errorf("%s is not locked by this run", l.FS.URI(l.dir))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Measured by the wall clock, which continues while a machine sleeps.
	if age := time.Now().Round(0).Sub(l.touched); age > LockStale/2 {
		why := ""
		if l.failed != nil {
			why = fmt.Sprintf(" (it can't be written: %v)", l.failed)
		}
		return errcode.RunAgain.Errorf("the lock of %s was not renewed for %v%s, so others may take it over; try again",
			l.FS.URI(l.dir), age.Round(time.Second), why)
	}
	return nil
}

// SetTouched sets when the lock was last written.
func (l *DirectoryLock) SetTouched(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched, l.failed = t.Round(0), nil
}

func (l *DirectoryLock) takenOver(by Owner, gone bool) error {
	if gone {
		return errcode.RunAgain.Errorf("the lock %s was deleted while this run held it", l.FS.URI(l.name()))
	}
	return errcode.RunAgain.Errorf("the lock of %s was taken by %v", l.FS.URI(l.dir), by)
}

// Release unlocks the directory. If the lock can't be deleted, it still keeps nobody on this machine out.
func (l *DirectoryLock) Release() error {
	// Done last: otherwise a run of this process could take the lock over while it is being deleted.
	defer heldHere.Delete(l.me.Token)
	close(l.stop)
	l.done.Wait()
	_ = l.FS.RemoveAll(l.tempPath()) // the next run to lock the directory removes the rest
	held, err := l.read(l.name())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !held.same(l.me) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release the lock: %w", err)
	}
	return storage.RemoveIfThere(l.FS, l.name())
}

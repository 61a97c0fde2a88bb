package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/storage"
)

const (
	lockName    = "_lock"
	lockRefresh = time.Minute      // how often the holder touches it
	lockStale   = 10 * time.Minute // untouched for this long, another machine's lock is given up
	lockBlank   = time.Minute      // and this long where it names nobody: whoever made it failed to write it
	lockRemoval = 5 * time.Second  // how long a failed lock is tried to be removed
)

// owner says who holds a lock.
type owner struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Process string    `json:"process"` // when the process began, so that a reused pid is not taken for it
	User    string    `json:"user"`
	Since   time.Time `json:"since"`
}

func (o owner) String() string {
	if o.blank() {
		return "a process that has not said who it is"
	}
	return fmt.Sprintf("process %d on %s (user %s, since %s)", o.PID, o.Host, o.User, o.Since.Format(time.RFC3339))
}

// blank tells whether the lock names nobody: its writing failed, or lasts still.
func (o owner) blank() bool { return o.PID == 0 }

func (o owner) same(p owner) bool {
	return o.Host == p.Host && o.PID == p.PID && o.Process == p.Process && o.Since.Equal(p.Since)
}

func thisProcess(user string) owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	return owner{host, pid, processStart(pid), user, time.Now().UTC().Truncate(time.Second)}
}

// ended stands for the start of a process that has ended and is only listed still, until its parent asks how.
const ended = "ended"

// processStart tells one life of a pid from the next: the kernel's start time and boot, or "" where it does not say.
func processStart(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return ended
	}
	return fields[19] + "@" + bootID()
}

// bootID tells one life of the machine from the next; "" where that is not known.
func bootID() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // where it is not there, the callers do without
	return strings.TrimSpace(string(boot))
}

// dead tells whether the owner is known to be gone: a process of this machine that is not there any more.
func (o owner) dead(me owner) bool {
	if o.Host != me.Host {
		return false
	}
	if errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH) {
		return true
	}
	return o.Process != "" && processStart(o.PID) != o.Process
}

// lock keeps other runs out of an output directory.
type lock struct {
	fsys storage.FS
	dir  string
	me   owner
	text []byte // the file's content
	stop chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	touched time.Time  // when it was last written
}

// takeLock locks an output directory, which must be there, or says who holds it (try later). lost is called when the
// lock turns out to be somebody else's later.
func takeLock(ctx context.Context, fsys storage.FS, dir, user string, lost func(error)) (*lock, error) {
	l := &lock{fsys: fsys, dir: dir, me: thisProcess(user), stop: make(chan struct{})}
	var err error
	if l.text, err = json.Marshal(l.me); err != nil {
		return nil, fmt.Errorf("write the lock: %w", err)
	}
	for range 3 {
		l.setTouched(time.Now())
		err = l.create()
		if err == nil {
			l.done.Add(1)
			go l.refresh(ctx, lost)
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock %s: %w", fsys.URI(dir), err)
		}
		if err := l.takeOver(); err != nil {
			return nil, err
		}
	}
	return nil, laterf("lock %s: others keep taking it; try again later", fsys.URI(dir))
}

func (l *lock) name() string { return path.Join(l.dir, lockName) }

// create writes the lock. One that could not be written in full is removed: it would keep everybody out.
func (l *lock) create() error {
	w, err := l.fsys.Create(l.name(), filePerm)
	if err != nil {
		return err
	}
	if _, err = w.Write(l.text); err == nil {
		err = w.Close()
	} else {
		err = errors.Join(err, w.Abort())
	}
	if err == nil {
		return nil
	}
	removed := make(chan struct{})
	go func() { // a file system that is down may take minutes to say so
		defer close(removed)
		_ = removeIfThere(l.fsys, l.name()) // where it is left, the next run takes it over in a minute
	}()
	select {
	case <-removed:
	case <-time.After(lockRemoval):
	}
	return err
}

// takeOver moves the lock of a dead owner away; an error where the owner may be alive.
func (l *lock) takeOver() error {
	held, err := l.read(l.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the lock: %w", err)
	}
	if !held.dead(l.me) && !l.old(held) {
		return laterf("%s is locked by %v; try again when it is done, or delete %s if you know that it is gone",
			l.fsys.URI(l.dir), held, l.fsys.URI(l.name()))
	}
	aside := fmt.Sprintf("%s_stale_%d_%d", l.name(), l.me.PID, time.Now().UnixNano())
	if err := l.fsys.Rename(l.name(), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take over the lock of %v: %w", held, err)
	}
	// Between the look and the move another run may have taken over: then it is its lock that was moved.
	if moved, err := l.read(aside); err == nil && !moved.same(held) {
		return errors.Join(laterf("%s was just locked by %v", l.fsys.URI(l.dir), moved), l.fsys.Rename(aside, l.name()))
	}
	return removeIfThere(l.fsys, aside)
}

func (l *lock) read(name string) (owner, error) {
	var o owner
	text, err := readFile(l.fsys, name, 64<<10)
	if err == nil && json.Unmarshal(text, &o) != nil {
		// A crash may leave it empty; its age decides then.
		o = owner{}
	}
	return o, err
}

// old tells whether another machine's lock was not touched for too long, by the file system's own clock.
func (l *lock) old(held owner) bool {
	if held.Host == l.me.Host {
		return false
	}
	probe := fmt.Sprintf("%s_probe_%d", l.name(), l.me.PID)
	if createFile(l.fsys, probe, nil) != nil {
		return false
	}
	defer func() { _ = l.fsys.Remove(probe) }() // a probe that stays behind does no harm
	now, err1 := l.fsys.Stat(probe)
	then, err2 := l.fsys.Stat(l.name())
	limit := lockStale
	if held.blank() {
		limit = lockBlank
	}
	return err1 == nil && err2 == nil && now.ModTime.Sub(then.ModTime) > limit
}

// refresh touches the lock now and then, so that other machines see that we live.
func (l *lock) refresh(ctx context.Context, lost func(error)) {
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
		if err := l.touch(); err != nil {
			lost(err)
			return
		}
	}
}

// touch writes the lock anew. It is an error only where the lock is lost, or will be before long: one failure is none,
// since the next tick tries again, well before others give the lock up.
func (l *lock) touch() error {
	held, err := l.read(l.name())
	if gone := errors.Is(err, fs.ErrNotExist); gone || err == nil && !held.same(l.me) {
		return l.taken(held, gone)
	}
	now := time.Now()
	if err == nil {
		err = replaceFile(l.fsys, l.name(), fmt.Sprintf("%s_%d", l.name(), l.me.PID), l.text)
	}
	if err == nil {
		l.setTouched(now)
		return nil
	}
	return l.fresh()
}

// check looks whether the lock is still ours, before something is changed that another run would rely on.
func (l *lock) check() error {
	if err := l.fresh(); err != nil {
		return err
	}
	held, err := l.read(l.name())
	if gone := errors.Is(err, fs.ErrNotExist); gone || err == nil && !held.same(l.me) {
		return l.taken(held, gone)
	}
	if err != nil {
		return fmt.Errorf("read the lock: %w", err)
	}
	return nil
}

// fresh is an error once the lock was not touched for so long that another machine may soon take it over.
func (l *lock) fresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := time.Now().Round(0).Sub(l.touched); age > lockStale/2 { // by the clock on the wall: it goes on while a machine sleeps
		return laterf("the lock of %s was not written for %v, and others may take it over; try again", l.fsys.URI(l.dir), age.Round(time.Second))
	}
	return nil
}

func (l *lock) setTouched(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = t.Round(0)
}

func (l *lock) taken(by owner, gone bool) error {
	if gone {
		return laterf("the lock %s was deleted while this run held it", l.fsys.URI(l.name()))
	}
	return laterf("the lock of %s was taken by %v", l.fsys.URI(l.dir), by)
}

// release gives the directory free.
func (l *lock) release() error {
	close(l.stop)
	l.done.Wait()
	held, err := l.read(l.name())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !held.same(l.me) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release the lock: %w", err)
	}
	return removeIfThere(l.fsys, l.name())
}

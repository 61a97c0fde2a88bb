package partition

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A sort's folder is <work folder>/bulkload-sort-<random>: spilled runs, and a lock file that is locked for as long as the
// sort lives. What a killed sort has left is known by its lock being free, and the next sort there removes it.
const (
	folderPrefix = "bulkload-sort-"
	newPrefix    = "bulkload-new-" // until the lock is held
	lockName     = "lock"
	runName      = "run-%06d"
)

// newFor is how long a folder may be without its name. It has it within milliseconds; an older one is what a kill has left.
const newFor = time.Hour

// folder is where one sort has its spilled runs: a store of the caller's, where they outlive the process, or a folder of its
// own, made when the first one comes. That one is on the local disk whatever Kept's store is: its runs are of use to this
// process alone, each is written and read once, and the lock by which a killed sort is known is the machine's own.
type folder struct {
	work       string // the work folder; "" where runs are kept
	persistent Store  // the caller's, of which nothing is deleted; nil: a folder of its own

	mu   sync.Mutex
	path string // of the sort's own folder; "" until it is made
	lock *os.File
	runs int  // given names
	made bool // the work folder was not there before
}

// newFolder is a sort's folder in a work folder, the system's temporary one where none is named.
func newFolder(work string) *folder {
	if work == "" {
		work = os.TempDir()
	}
	return &folder{work: work}
}

// next gives the store and a name for the next run.
func (f *folder) next() (Store, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.persistent == nil && f.path == "" {
		if err := f.create(); err != nil {
			return nil, "", err
		}
	}
	f.runs++
	return f.store(), fmt.Sprintf(runName, f.runs), nil
}

// store is where the runs are.
func (f *folder) store() Store {
	if f.persistent != nil {
		return f.persistent
	}
	return Folder(f.path)
}

// where is what a user would look for when runs can't be written.
func (f *folder) where() string {
	if f.persistent != nil {
		return f.persistent.Path("")
	}
	return f.work
}

func (f *folder) create() error {
	if _, err := os.Stat(f.work); errors.Is(err, fs.ErrNotExist) {
		f.made = true
	}
	if err := os.MkdirAll(f.work, 0o700); err != nil {
		return err
	}
	RemoveStale(f.work)
	path, err := os.MkdirTemp(f.work, newPrefix)
	if err != nil {
		return err
	}
	lock, err := LockFolder(path)
	if err != nil {
		return errors.Join(err, os.RemoveAll(path))
	}
	named := filepath.Join(f.work, folderPrefix+filepath.Base(path)[len(newPrefix):])
	if err := os.Rename(path, named); err != nil {
		return errors.Join(err, lock.Close(), os.RemoveAll(path))
	}
	f.path, f.lock = named, lock
	return nil
}

// CheckPrivateDir refuses a folder that others could have made or can write to, as os.Lstat describes it.
func CheckPrivateDir(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder that belongs to this user alone", info.Name())
	}
	return nil
}

// LockFolder makes a folder's lock file if need be and locks it until it is closed: syscall.EWOULDBLOCK where another
// process has locked it. The kernel keeps the lock, for all containers of a machine, and ends it with the process.
func LockFolder(folder string) (*os.File, error) {
	return lockFile(filepath.Join(folder, lockName), func() {})
}

// lockFile locks a file. opened is called between opening and locking it.
func lockFile(name string, opened func()) (*os.File, error) {
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	opened()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	// Who had it locked may have deleted it with its folder meanwhile: the next one locks another file of that name.
	ours, err := lock.Stat()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if there, err := os.Lstat(name); err != nil || !os.SameFile(ours, there) {
		return nil, errors.Join(syscall.EWOULDBLOCK, lock.Close())
	}
	return lock, nil
}

// RemoveStale removes from a work folder what this user's killed sorts have left that kept nothing. What can't be removed
// stays.
func RemoveStale(work string) {
	entries, err := os.ReadDir(work)
	if err != nil {
		return
	}
	for _, e := range entries {
		unnamed := strings.HasPrefix(e.Name(), newPrefix)
		if !unnamed && !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		stale := filepath.Join(work, e.Name())
		info, err := os.Lstat(stale)
		if err != nil || CheckPrivateDir(info) != nil {
			continue // the work folder may be open to all
		}
		if unnamed && time.Since(info.ModTime()) < newFor {
			continue // its sort has not locked it yet, perhaps
		}
		if lock, err := LockFolder(stale); err == nil {
			_ = os.RemoveAll(stale)
			_ = lock.Close()
		}
	}
}

// free says how many bytes can still be written there; "" where that is not known.
func (f *folder) free() string {
	store := f.persistent
	if store == nil {
		store = Folder(f.work)
	}
	free, err := store.Free()
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" and %d are free there", free)
}

// release gives runs up: kept ones are closed, others deleted.
func (f *folder) release(runs []*spilledRun) error {
	var errs []error
	for _, r := range runs {
		if f.persistent != nil {
			errs = append(errs, r.close())
		} else {
			errs = append(errs, r.remove())
		}
	}
	return errors.Join(errs...)
}

// remove deletes the folder with all that is in it, and the work folder where it was made for it and is empty.
func (f *folder) remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(f.path), f.lock.Close())
	f.path = ""
	if f.made {
		_ = os.Remove(f.work)
	}
	return err
}

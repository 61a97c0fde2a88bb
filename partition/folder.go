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

// A sort's folder is <work folder>/bulkload-sort-<random>: spilled runs, and a lock file that is locked while the
// sort lives. The folder of a killed sort is recognised by its free lock, and the next sort there removes it.
const (
	folderPrefix = "bulkload-sort-"
	newPrefix    = "bulkload-new-" // until the lock is held
	lockName     = "lock"
	runName      = "run-%06d"
)

// newFor is how long a folder may lack its final name. Renaming takes milliseconds; an older folder is from a killed
// sort.
const newFor = time.Hour

// folder is where one sort has its spilled runs: the caller's store, where they outlive the process, or a folder of its
// own, created for the first run. A sort's own folder is always on the local disk, because only this process needs its
// runs, each is written and read once, and the lock that reveals a killed sort belongs to the machine.
type folder struct {
	work       string // the work folder; "" for persistent runs
	persistent Store  // the caller's store, in which nothing is deleted; nil: a folder for this sort only

	mu   sync.Mutex
	path string // of the sort's own folder; "" until it exists
	lock *os.File
	runs int  // number of names given
	made bool // the work folder did not exist before and was created
}

// newFolder returns a sort's folder in a work folder, by default the system's temporary one.
func newFolder(work string) *folder {
	if work == "" {
		work = os.TempDir()
	}
	return &folder{work: work}
}

// next returns the store and a name for the next run.
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

// store is the store of the runs.
func (f *folder) store() Store {
	if f.persistent != nil {
		return f.persistent
	}
	return LocalStore(f.path)
}

// where is the place to name in an error when runs can't be written.
func (f *folder) where() string {
	if f.persistent != nil {
		return f.persistent.Path("")
	}
	return f.work
}

func (f *folder) create() error {
	made, err := MakeWorkFolder(f.work)
	if f.made = f.made || made; err != nil {
		return err
	}
	f.path, f.lock, err = NewLockedFolder(f.work, folderPrefix)
	return err
}

// NewLockedFolder makes a folder in an existing work folder, with mode 0700 and a name that begins with prefix, and
// locks it as LockFolder does. It first removes the folders of killed processes with the same prefix. Closing lock ends
// the lock.
func NewLockedFolder(work, prefix string) (path string, lock *os.File, err error) {
	removeStale(work, prefix)
	unnamed, err := os.MkdirTemp(work, newPrefix)
	if err != nil {
		return "", nil, err
	}
	if lock, err = LockFolder(unnamed); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(unnamed))
	}
	path = filepath.Join(work, prefix+filepath.Base(unnamed)[len(newPrefix):])
	if err := os.Rename(unnamed, path); err != nil {
		return "", nil, errors.Join(err, lock.Close(), os.RemoveAll(unnamed))
	}
	return path, lock, nil
}

// MakeWorkFolder creates a work folder, mode 0700, unless it exists. Missing folders above it get the umask's mode,
// because they are not private. made is false if the work folder existed.
func MakeWorkFolder(work string) (made bool, err error) {
	if _, err := os.Stat(work); errors.Is(err, fs.ErrNotExist) {
		made = true
	}
	if err := os.MkdirAll(filepath.Dir(work), 0o755); err != nil { //nolint:gosec // as mkdir -p does
		return false, err
	}
	return made, os.MkdirAll(work, 0o700)
}

// CheckPrivateDir refuses a folder, as described by os.Lstat, that others could have made or can write to, because they
// could change sorted rows.
func CheckPrivateDir(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder that belongs to this user alone", info.Name())
	}
	return nil
}

// LockFolder locks a folder's lock file until it is closed, and creates the file if necessary. It returns
// syscall.EWOULDBLOCK if another process has locked it. The kernel holds the lock for all containers of a machine, and
// releases it with the process.
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
	// Its last holder may meanwhile have deleted it with its folder, and the next process would lock another file of
	// that name.
	ours, err := lock.Stat()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if there, err := os.Lstat(name); err != nil || !os.SameFile(ours, there) {
		return nil, errors.Join(syscall.EWOULDBLOCK, lock.Close())
	}
	return lock, nil
}

// RemoveStale removes from a work folder the folders of this user's killed sorts without persistent runs. It skips
// folders that it can't remove.
func RemoveStale(work string) { removeStale(work, folderPrefix) }

// removeStale is RemoveStale for folders with a prefix.
func removeStale(work, prefix string) {
	entries, err := os.ReadDir(work)
	if err != nil {
		return
	}
	for _, e := range entries {
		unnamed := strings.HasPrefix(e.Name(), newPrefix)
		if !unnamed && !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		stale := filepath.Join(work, e.Name())
		info, err := os.Lstat(stale)
		if err != nil || CheckPrivateDir(info) != nil {
			continue // the work folder may be public
		}
		if unnamed && time.Since(info.ModTime()) < newFor {
			continue // its sort may not have locked it yet
		}
		if lock, err := LockFolder(stale); err == nil {
			_ = os.RemoveAll(stale)
			_ = lock.Close()
		}
	}
}

// free says how many bytes can still be written to the store; "" if unknown.
func (f *folder) free() string {
	store := f.persistent
	if store == nil {
		store = LocalStore(f.work)
	}
	free, err := store.Free()
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" and %d are free there", free)
}

// release gives up runs: persistent ones are closed, others deleted.
func (f *folder) release(runs []*spilledRun) error {
	if f.persistent != nil {
		return closeRuns(runs)
	}
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.remove())
	}
	return errors.Join(errs...)
}

// remove deletes the folder with its content, and the work folder if it was created for this sort and is empty.
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

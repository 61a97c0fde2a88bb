package partition

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Store holds the spilled runs of one sort, each by its name. LocalStore is the one on the local disk. A sort whose
// runs are read on other machines needs one on a shared file system. All methods may be called from several goroutines.
//
// A store need neither be durable at once nor support renaming, because a run counts only once the caller has recorded
// its RunFile, which has the run's size and the footer's checksum.
type Store interface {
	// Create creates a run; fs.ErrExist if there is one of that name. It is complete when Close returns nil; after an
	// error it is removed.
	Create(name string) (io.WriteCloser, error)
	// Open opens a complete run for reading.
	Open(name string) (StoredRun, error)
	// Remove deletes a run, complete or not.
	Remove(name string) error
	// List lists the names of all runs, including unfinished ones. A store without runs is not an error.
	List() ([]string, error)
	// Free is how many more bytes the store can hold.
	Free() (int64, error)
	// Path is a run's name in errors; for the name "" it is that of the store.
	Path(name string) string
}

// StoredRun is a run that is open for reading. ReadAt may be called from several goroutines.
type StoredRun interface {
	io.ReaderAt
	io.Closer
	// Size is the run's length in bytes.
	Size() (int64, error)
}

// LocalStore is a store on the local disk: a folder with a file for each run. The folder is created, mode 0700, with
// the first run.
type LocalStore string

// Path is the path of a run's file.
func (f LocalStore) Path(name string) string { return filepath.Join(string(f), name) }

// Create creates a run's file, mode 0600.
func (f LocalStore) Create(name string) (io.WriteCloser, error) {
	file, err := f.create(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(string(f), 0o700); err != nil {
			return nil, err
		}
		file, err = f.create(name)
	}
	if err != nil {
		return nil, err // not file, which would be a non-nil interface with a nil pointer
	}
	return file, nil
}

func (f LocalStore) create(name string) (*os.File, error) {
	return os.OpenFile(f.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Open opens a run's file.
func (f LocalStore) Open(name string) (StoredRun, error) {
	file, err := os.Open(f.Path(name))
	if err != nil {
		return nil, err
	}
	return localRun{file}, nil
}

// Remove deletes a run's file.
func (f LocalStore) Remove(name string) error { return os.Remove(f.Path(name)) }

// List returns the names of all files in the folder.
func (f LocalStore) List() ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Free is how many bytes this user may still write to the folder's disk.
func (f LocalStore) Free() (int64, error) {
	var stat syscall.Statfs_t
	err := syscall.Statfs(string(f), &stat)
	return int64(stat.Bavail) * int64(stat.Bsize), err
}

// localRun is a run's file.
type localRun struct{ *os.File }

// Size is the file's length in bytes.
func (r localRun) Size() (int64, error) {
	info, err := r.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

package testfs

import (
	"io/fs"
	"path"
	"sync/atomic"
	"syscall"

	"bulkload/internal/storage"
)

// Fault makes one call of the file systems that have it fail, with syscall.EIO.
type Fault struct {
	Left    atomic.Int64 // calls until the one that fails; it continues below 0, so it also counts calls
	Instead func()       // called, so that the call does not fail; nil: it fails
	failed  atomic.Value // a string
}

// Failed names the call that failed, such as "open _lock"; "" if none has.
func (f *Fault) Failed() string {
	name, _ := f.failed.Load().(string)
	return name
}

func (f *Fault) call(what, name string) error {
	if f.Left.Add(-1) != 0 {
		return nil
	}
	f.failed.Store(what + " " + path.Base(name))
	if f.Instead != nil {
		f.Instead()
		return nil
	}
	return &fs.PathError{Op: what, Path: name, Err: syscall.EIO}
}

// Failing is a file system with a fault. Calls of its open files count, too.
type Failing struct {
	storage.FS
	*Fault
}

// Open implements storage.FS.
func (f *Failing) Open(name string) (storage.File, error) {
	if err := f.call("open", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &failingFile{file, f, name}, nil
}

// Create implements storage.FS.
func (f *Failing) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	if err := f.call("create", name); err != nil {
		return nil, err
	}
	w, err := f.FS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	return &failingWriter{w, f, name}, nil
}

// Stat implements storage.FS.
func (f *Failing) Stat(name string) (storage.Info, error) {
	if err := f.call("stat", name); err != nil {
		return storage.Info{}, err
	}
	return f.FS.Stat(name)
}

// ReadDir implements storage.FS.
func (f *Failing) ReadDir(name string) ([]storage.Info, error) {
	if err := f.call("list", name); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

// MkdirAll implements storage.FS.
func (f *Failing) MkdirAll(name string, perm fs.FileMode) error {
	return first(f.call("mkdir", name), func() error { return f.FS.MkdirAll(name, perm) })
}

// Rename implements storage.FS.
func (f *Failing) Rename(from, to string) error {
	return first(f.call("rename", from), func() error { return f.FS.Rename(from, to) })
}

// Replace implements storage.FS.
func (f *Failing) Replace(from, to string) error {
	return first(f.call("replace", to), func() error { return f.FS.Replace(from, to) })
}

// Remove implements storage.FS.
func (f *Failing) Remove(name string) error {
	return first(f.call("remove", name), func() error { return f.FS.Remove(name) })
}

// RemoveAll implements storage.FS.
func (f *Failing) RemoveAll(name string) error {
	return first(f.call("remove all of", name), func() error { return f.FS.RemoveAll(name) })
}

// Free implements storage.FS.
func (f *Failing) Free(name string) (int64, error) {
	if err := f.call("statfs", name); err != nil {
		return 0, err
	}
	return f.FS.Free(name)
}

func first(err error, call func() error) error {
	if err != nil {
		return err
	}
	return call()
}

type failingFile struct {
	storage.File
	fs   *Failing
	name string
}

func (f *failingFile) Read(b []byte) (int, error) {
	if err := f.fs.call("read", f.name); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *failingFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.fs.call("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

type failingWriter struct {
	storage.FileWriter
	fs   *Failing
	name string
}

func (w *failingWriter) Write(b []byte) (int, error) {
	if err := w.fs.call("write", w.name); err != nil {
		return 0, err
	}
	return w.FileWriter.Write(b)
}

func (w *failingWriter) Close() error { return first(w.fs.call("close", w.name), w.FileWriter.Close) }

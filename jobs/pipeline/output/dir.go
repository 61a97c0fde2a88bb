// Package output handles output directories: Dir is one that can be locked and cleaned, Output is one with the manifest
// of the run that wrote it, and Run is what a run of a job finds in its output, continues or replaces.
package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// Dir is a directory of HFiles: a job's output, or one that another tool has written. It can be read at once, but
// methods that change it fail until it is locked.
type Dir struct {
	FS      storage.FS // checks the lock before each change
	Path    string
	Site    *site.Site
	Options options.Options
	Lock    *lock.DirectoryLock // not held before TakeLock
}

// At returns a directory that is not locked.
func At(fsys storage.FS, dir string, s *site.Site, o options.Options) *Dir {
	l := lock.NotHeld(fsys, dir)
	return &Dir{FS: l.Guarded(), Path: dir, Site: s, Options: o, Lock: l}
}

// Of returns the output of a job, which is not locked.
func Of(j *jobfile.Job, s *site.Site, o options.Options) (*Dir, error) {
	fsys, dir, err := s.Resolve(j.Output, j.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the output %s: %w", j.Output, err)
	}
	return At(fsys, dir, s, o), nil
}

// Make makes the directory if it is missing, and locks it.
func (w *Dir) Make(ctx context.Context, lost func(error)) error {
	if err := w.FS.MkdirAll(w.Path, storage.DirPerm); err != nil {
		return makeError(err)
	}
	return w.TakeLock(ctx, lost)
}

// makeError returns the error for an output directory that can't be made.
func makeError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("make the output directory, which `output` of the job file names: %w", err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrExist),
		errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.ENAMETOOLONG):
		// A file is at the path or above it, or nothing can be made there, as in /proc, or a name in it is too long.
		return errcode.Folder.Errorf("no directory can be made at the path that `output` of the job file names: %w", err)
	}
	return fmt.Errorf("make the output directory: %w", err)
}

// TakeLock locks the directory. lost is called if another run takes the lock over later.
func (w *Dir) TakeLock(ctx context.Context, lost func(error)) error {
	l, err := lock.Acquire(ctx, w.Lock.FS, w.Path, lock.Request{User: w.Site.User, Lost: lost})
	if err != nil {
		return err
	}
	w.Lock, w.FS = l, l.Guarded()
	return nil
}

// Unlock releases the lock, if it is held. A directory without content is deleted.
func (w *Dir) Unlock() error {
	if !w.Lock.Held() {
		return nil
	}
	err := w.Lock.Release()
	_ = w.Lock.FS.Remove(path.Join(w.Path, lock.TempDir)) // succeeds only if it is empty, as intended
	_ = w.Lock.FS.Remove(w.Path)                          // likewise
	return err
}

// Close unlocks the directory and closes its file system.
func (w *Dir) Close() error { return errors.Join(w.Unlock(), w.FS.Close()) }

// CheckLock returns an error if another run may change the directory.
func (w *Dir) CheckLock() error { return w.Lock.Check() }

// TempFolder returns the folder for files that don't have their names yet.
func (w *Dir) TempFolder() (string, error) { return w.Lock.TempFolder() }

// ClearRejects deletes the rejects of earlier runs.
func (w *Dir) ClearRejects() error {
	if err := w.FS.RemoveAll(path.Join(w.Path, manifest.RejectsDir)); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

// URI names a file of the directory.
func (w *Dir) URI(name string) string { return w.FS.URI(path.Join(w.Path, name)) }

// save saves a manifest. It fails if the directory may belong to another run by now.
func (w *Dir) save(m *manifest.Manifest) error {
	temps, err := w.TempFolder()
	if err != nil {
		return err
	}
	return m.Save(w.FS, w.Path, temps)
}

// Works describes the process that now works in another output; "" if none does.
func (w *Dir) Works(output string) (who string, err error) {
	fsys, dir, err := w.Site.Resolve(output, "")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	held, alive, err := lock.Holder(fsys, dir, w.Site.User)
	if err != nil || !alive {
		return "", err
	}
	return held.String(), nil
}

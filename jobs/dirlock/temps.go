package dirlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"bulkload/internal/storage"
)

// Files that are being written have their names in a folder of their own below .tmp, which is named by the token of the
// lock under which they are written: two runs, one of which has lost its lock, never write to the same name. It holds a
// file that says who its owner is.
//
// To look at the lock and to rename are two steps. Who takes a lock over from an owner that it believes to be gone removes
// that owner's folder before it looks at anything else: should the owner wake up between its two steps, there is nothing
// left that it could rename.
const ownerName = "_owner"

// tempPath is the folder for the lock's temporary files.
func (l *Lock) tempPath() string { return path.Join(l.dir, TempDir, l.me.Token) }

// TempFolder is tempPath, made when it is asked for first. It is not made again: where it is gone, the lock is.
func (l *Lock) TempFolder() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.temps {
		return l.tempPath(), nil
	}
	if err := l.FS.MkdirAll(l.tempPath(), storage.DirPerm); err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	name := path.Join(l.tempPath(), ownerName)
	err := storage.RemoveIfThere(l.FS, name) // of an attempt that failed
	if err == nil {
		err = storage.CreateFile(l.FS, name, l.Text)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	l.temps = true
	return l.tempPath(), nil
}

// ClearTemps removes the temporary files of owners that are gone, first of all of those that the lock was taken over from.
// What is no such folder is left to the run that knows the directory for its own.
func (l *Lock) clearTemps() error {
	folders, err := storage.List(l.FS, path.Join(l.dir, TempDir))
	if err != nil {
		return err
	}
	for _, f := range folders {
		if !f.Dir || !IsToken(f.Name) || f.Name == l.me.Token || !l.deserted(f) {
			continue
		}
		// Moved away it has no name any more that its owner knows, in one step, whatever the owner is making there.
		name := path.Join(l.dir, TempDir, f.Name)
		aside := name + "." + l.me.Token
		if err := l.FS.Rename(name, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = l.FS.RemoveAll(aside) // what is left of it, the next run removes
	}
	return nil
}

// deserted tells whether the owner of a folder of temporary files is gone: one that can't be seen where nothing has come
// into its folder or gone for as long as it takes to lose a lock.
func (l *Lock) deserted(folder storage.Info) bool {
	if slices.Contains(l.beaten, folder.Name) {
		return true
	}
	var o Owner
	text, err := storage.ReadFile(l.FS, path.Join(l.dir, TempDir, folder.Name, ownerName), 64<<10)
	if err != nil || json.Unmarshal(text, &o) != nil {
		o = Owner{}
	}
	switch f, _ := l.processes.fate(o, l.me); f {
	case dead:
		return true
	case alive:
		return false
	}
	now, err := l.clock()
	return err == nil && now.Sub(folder.ModTime) > LockStale
}

// guardedFS is a file system for the holder of a lock: what changes the directory it locks is done only while the lock is
// held. Temporary files are the holder's own, whatever becomes of the lock.
type guardedFS struct {
	storage.FS
	lock *Lock
}

// Unwrap is for storage.DelegatorOf.
func (g guardedFS) Unwrap() storage.FS { return g.FS }

// Guarded is the file system for the holder of the lock.
func (l *Lock) Guarded() storage.FS { return guardedFS{l.FS, l} }

func (g guardedFS) check(name string) error {
	if own := g.lock.tempPath(); name == own || storage.Below(own, name) {
		return nil
	}
	return g.lock.Check()
}

func (g guardedFS) Rename(from, to string) error {
	if err := g.check(to); err != nil {
		return err
	}
	return g.FS.Rename(from, to)
}

func (g guardedFS) Replace(from, to string) error {
	if err := g.check(to); err != nil {
		return err
	}
	return g.FS.Replace(from, to)
}

func (g guardedFS) Remove(name string) error {
	if err := g.check(name); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g guardedFS) RemoveAll(name string) error {
	if err := g.check(name); err != nil {
		return err
	}
	return g.FS.RemoveAll(name)
}

// TempDir is the folder of temporary files in an output directory.
const TempDir = ".tmp"

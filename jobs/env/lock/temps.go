package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/internal/storage"
)

// OwnerName is the file that identifies the owner of a folder of temporary files. Files being written are in such a
// folder below .tmp, which is named by the token of the lock under which they are written. So even if a run has lost
// its lock, it never writes to the same name as another run.
//
// A check of the lock and a rename are two steps, and a process may sleep between them. So whoever takes a lock over
// moves the former owner's folder away before it looks at anything else. If that owner wakes up, it has nothing left to
// rename.
const OwnerName = "_owner"

// tempPath returns the folder for the lock's temporary files.
func (l *DirectoryLock) tempPath() string { return path.Join(l.dir, TempDir, l.me.Token) }

// TempFolder returns tempPath, and creates the folder at the first call only, because if the folder is gone, another
// run has taken the lock over. The lock must be held after the folder was made.
func (l *DirectoryLock) TempFolder() (string, error) {
	if !l.Held() {
		return "", l.Fresh()
	}
	l.making.Lock()
	defer l.making.Unlock()
	if l.temps {
		return l.tempPath(), nil
	}
	if err := l.FS.MkdirAll(l.tempPath(), storage.DirPerm); err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	name := path.Join(l.tempPath(), OwnerName)
	err := storage.RemoveIfThere(l.FS, name) // left by a failed attempt
	if err == nil {
		err = storage.CreateFile(l.FS, name, l.Text)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	// A folder that was made after a takeover would be cleared by nobody.
	if err := l.checkOwner(); err != nil {
		return "", err
	}
	l.temps = true
	return l.tempPath(), nil
}

// isCleared reports whether another run has moved the folder away. A run that renews its lock in the moment of a
// takeover has the lock again, but not its folder.
func (l *DirectoryLock) isCleared() bool {
	l.making.Lock()
	defer l.making.Unlock()
	if !l.temps {
		return false
	}
	_, err := l.FS.Stat(l.tempPath())
	return errors.Is(err, fs.ErrNotExist)
}

// clearTemps removes the temporary files of owners whose lock was taken over, by this process or by one that was killed
// before it could remove them, and of those that are seen to be gone. It also removes what earlier calls left.
func (l *DirectoryLock) clearTemps() error {
	all, err := storage.List(l.FS, path.Join(l.dir, TempDir))
	if err != nil {
		return err
	}
	var displaced, records, folders []string // tokens of former owners; paths to remove
	for _, f := range all {
		if f.Dir || !strings.HasPrefix(f.Name, staleName) {
			continue
		}
		name := path.Join(l.dir, TempDir, f.Name)
		switch held, err := l.read(name); {
		case errors.Is(err, fs.ErrNotExist): // it was put back, or cleared by another run
		case err != nil:
			return err
		case held.Token != l.me.Token: // otherwise it was moved by mistake, and is put back
			displaced, records = append(displaced, held.Token), append(records, name)
		}
	}
	for _, f := range all {
		token, _, isAside := strings.Cut(f.Name, ".")
		if !f.Dir || !isToken(token) || token == l.me.Token ||
			!isAside && !slices.Contains(displaced, token) && !l.deserted(f) {
			continue
		}
		name := path.Join(l.dir, TempDir, f.Name)
		if !isAside {
			// A former owner that was stopped while it renewed its lock may have it again.
			if err := l.checkOwner(); err != nil {
				return err
			}
			// In one step, the move takes away the name by which the owner knows the folder, whatever it is writing there.
			aside := name + "." + l.me.Token
			if err := l.FS.Rename(name, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			name = aside
		}
		folders = append(folders, name)
	}
	for _, name := range records { // a record that stays could be put back when this lock is released
		if err := storage.RemoveIfThere(l.FS, name); err != nil {
			return err
		}
	}
	for _, name := range folders {
		_ = l.FS.RemoveAll(name) // the next run removes the rest
	}
	return nil
}

// deserted reports whether the owner of a folder of temporary files is gone. An invisible owner counts as gone if
// nothing has changed in its folder for as long as it takes to lose a lock.
func (l *DirectoryLock) deserted(folder storage.Info) bool {
	var o Owner
	text, err := storage.ReadFile(l.FS, path.Join(l.dir, TempDir, folder.Name, OwnerName), 64<<10)
	if err != nil || json.Unmarshal(text, &o) != nil {
		o = Owner{}
	}
	switch f, _ := systemProcesses.liveness(o, l.me); f {
	case dead:
		return true
	case alive:
		return false
	}
	now, err := l.clock()
	return err == nil && now.Sub(folder.ModTime) > LockStale
}

// guardedFS is a file system for the holder of a lock: it changes the locked directory only while the lock is held.
// Temporary files belong to the holder in any case.
type guardedFS struct {
	storage.FS
	lock *DirectoryLock
}

// Unwrap is for storage.DelegatorOf.
func (g guardedFS) Unwrap() storage.FS { return g.FS }

// Guarded returns the file system for the holder of the lock.
func (l *DirectoryLock) Guarded() storage.FS { return guardedFS{l.FS, l} }

func (g guardedFS) check(name string) error {
	if own := g.lock.tempPath(); g.lock.Held() && (name == own || storage.Below(own, name)) {
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

// staleName begins the name of a lock in TempDir that was taken from its owner. The rest is a new token.
const staleName = "_lock_stale_"

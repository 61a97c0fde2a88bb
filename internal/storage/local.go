package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bulkload/internal/printable"

	"golang.org/x/sys/unix"
)

// Local is the local file system. When a call returns, its changes are on disk, not only in the page cache, except for
// removals.
var Local FS = localFS{}

type localFS struct{}

func (localFS) Open(name string) (File, error) {
	name, err := absolute("open", name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = &fs.PathError{Op: "open", Path: printable.Name(name), Err: syscall.EISDIR}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &localFile{File: f, size: st.Size()}, nil
}

type localFile struct {
	*os.File
	size int64
}

func (f *localFile) Size() int64 { return f.size }

func (localFS) Create(name string, perm fs.FileMode) (FileWriter, error) {
	name, err := absolute("create", name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, orDefault(perm, 0o644))
	if err != nil {
		return nil, asPathError("create", name, err)
	}
	return newLocalWriter(f), nil
}

func (localFS) Stat(name string) (Info, error) {
	name, err := absolute("stat", name)
	if err != nil {
		return Info{}, err
	}
	st, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return localInfo(st), nil
}

func localInfo(st fs.FileInfo) Info {
	return Info{Name: st.Name(), Size: st.Size(), ModTime: st.ModTime(), Dir: st.IsDir(), Mode: st.Mode()}
}

func (l localFS) ReadDir(name string) ([]Info, error) {
	name, err := absolute("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, asPathError("readdir", name, err)
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := entryInfo(name, e)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the directory was read
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// isAbove reports whether a folder is dir or above it, on the path by which dir was reached.
func isAbove(folder fs.FileInfo, dir string) bool {
	for {
		if st, err := os.Stat(dir); err == nil && os.SameFile(st, folder) {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// entryInfo follows a symbolic link to its target. A link without a target is described as a link, so that opening it
// fails with an error. A link to a folder above itself is described as both, so that nobody follows it forever.
func entryInfo(dir string, e fs.DirEntry) (Info, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		if st, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			info := localInfo(st)
			info.Name = e.Name()
			if info.Dir && isAbove(st, dir) {
				info.Mode |= fs.ModeSymlink
			}
			return info, nil
		}
	}
	st, err := e.Info()
	if err != nil {
		return Info{}, err
	}
	return localInfo(st), nil
}

func (localFS) MkdirAll(name string, perm fs.FileMode) error {
	name, err := absolute("mkdir", name)
	if err != nil {
		return err
	}
	var made []string // parents of the directories to be made
	for dir := name; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, filepath.Dir(dir))
	}
	err = os.MkdirAll(filepath.Dir(name), DirPerm)
	if err == nil {
		err = os.MkdirAll(name, orDefault(perm, DirPerm))
	}
	if err != nil {
		return asPathError("mkdir", name, err)
	}
	for _, dir := range made {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (localFS) Rename(from, to string) error {
	return move(from, to, renameNew)
}

func (localFS) Replace(from, to string) error {
	return move(from, to, os.Rename)
}

func move(from, to string, rename func(from, to string) error) error {
	from, err := absolute("rename", from)
	if err != nil {
		return err
	}
	if to, err = absolute("rename", to); err != nil {
		return err
	}
	if err := rename(from, to); err != nil {
		return asPathError("rename", blamedPath(from, to, err), err)
	}
	if err := syncDir(filepath.Dir(to)); err != nil {
		return err
	}
	if filepath.Dir(from) != filepath.Dir(to) {
		return syncDir(filepath.Dir(from))
	}
	return nil
}

// blamedPath returns which name of a failed rename the error is about.
func blamedPath(from, to string, err error) string {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return to
	}
	if _, e := os.Lstat(from); e == nil && errors.Is(err, fs.ErrNotExist) {
		return to // its folder is missing
	}
	return from
}

// linkNew renames without overwriting, for systems and file systems without a call for it. Directories can't be linked,
// so for them the test and the move are two steps.
func linkNew(from, to string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}

func (localFS) Remove(name string) error {
	name, err := absolute("remove", name)
	if err != nil {
		return err
	}
	// A caller that deletes a directory means an empty one, but the system deletes a link whatever the directory
	// contains.
	if link, err := os.Lstat(name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		if to, err := os.Stat(name); err == nil && to.IsDir() {
			return &fs.PathError{Op: "remove", Path: printable.Name(name),
				Err: errors.New("it is a symbolic link to a directory")}
		}
	}
	return os.Remove(name)
}

func (localFS) RemoveAll(name string) error {
	name, err := absolute("remove", name)
	if err != nil {
		return err
	}
	return os.RemoveAll(name)
}

func (localFS) Free(name string) (int64, error) {
	name, err := absolute("statfs", name)
	if err != nil {
		return 0, err
	}
	var st unix.Statfs_t
	for dir := name; ; dir = filepath.Dir(dir) {
		err = unix.Statfs(dir, &st)
		if err == nil {
			return int64(st.Bavail) * int64(st.Bsize), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return 0, &fs.PathError{Op: "statfs", Path: printable.Name(dir), Err: err}
		}
	}
}

func (localFS) URI(name string) string { return "file://" + name }

func (localFS) Close() error { return nil }

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some network file systems can't sync a directory and return EINVAL, so they decide what is durable.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return asPathError("sync", dir, err)
	}
	return nil
}

// asPathError turns an error of package os into the form that this package promises.
func asPathError(op, name string, err error) error {
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err, name = p.Err, p.Path
	}
	return &fs.PathError{Op: op, Path: printable.Name(name), Err: err}
}

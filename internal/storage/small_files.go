package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"bulkload/internal/errcode"
)

// The permissions of an output.
const (
	DirPerm  fs.FileMode = 0o755 // of the folders of an output, and the default
	FilePerm fs.FileMode = 0o644 // of its files
)

// ReadFile returns the content of a file of at most limit bytes. A file that is replaced meanwhile is read again.
func ReadFile(fsys FS, name string, limit int64) (content []byte, err error) {
	for range smallFileTries {
		content, err = readOnce(fsys, name, limit)
		if errcode.Outermost(err) != errcode.InputChanged {
			break
		}
	}
	return content, err
}

func readOnce(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are expected", fsys.URI(name), f.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// CreateFile creates a file with the given content; fs.ErrExist if the name is taken. The name must be one that nobody
// else uses, because if a DataNode fails, the file is removed, and written again.
func CreateFile(fsys FS, name string, content []byte) error {
	left := false // the last try has created the file and could not remove it
	return small(func() (err error) {
		if left {
			if err := RemoveIfThere(fsys, name); err != nil {
				return err
			}
		}
		left, err = createOnce(fsys, name, content, FilePerm)
		return err
	})
}

// createOnce is one try. It reports whether it failed and has left a file.
func createOnce(fsys FS, name string, content []byte, perm fs.FileMode) (left bool, err error) {
	w, err := fsys.Create(name, perm)
	if err != nil {
		return false, err
	}
	if _, err = io.Copy(w, bytes.NewReader(content)); err == nil {
		err = w.Close()
	}
	if err == nil {
		return false, nil
	}
	aborted := w.Abort()
	return aborted != nil, errors.Join(err, aborted)
}

// smallFileTries is how many times a small file is written at most if DataNodes fail, or read if it is replaced.
const smallFileTries = 5

// small writes a small file, and repeats it if a DataNode fails. Unlike Rewrite it does not end early, because a lock
// or a manifest is written even if the run is being stopped.
func small(write func() error) error {
	return rewrite(context.Background(), smallFileTries, write, func(error) {})
}

// ReplaceFile atomically replaces a file with one that has the given content and FilePerm. temp must be a name in the
// same file system that nobody else uses. If a DataNode fails, the content is written again.
func ReplaceFile(fsys FS, name, temp string, content []byte) error {
	return ReplaceFileAs(fsys, name, temp, content, FilePerm)
}

// ReplaceFileAs is ReplaceFile with other permissions.
func ReplaceFileAs(fsys FS, name, temp string, content []byte, perm fs.FileMode) error {
	return small(func() error {
		if err := RemoveIfThere(fsys, temp); err != nil {
			return err
		}
		if _, err := createOnce(fsys, temp, content, perm); err != nil {
			return err
		}
		return fsys.Replace(temp, name)
	})
}

// List lists a directory. The list is empty if the directory does not exist.
func List(fsys FS, dir string) ([]Info, error) {
	infos, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return infos, err
}

// RemoveIfThere deletes a file or an empty directory, if it exists.
func RemoveIfThere(fsys FS, elements ...string) error {
	err := fsys.Remove(path.Join(elements...))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

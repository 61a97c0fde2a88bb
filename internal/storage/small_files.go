package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// The permissions of an output.
const (
	DirPerm  fs.FileMode = 0o755 // of the folders of an output, and the default
	FilePerm fs.FileMode = 0o644 // of its files
)

// ReadFile returns the content of a file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
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

// CreateFile creates a file with the given content; fs.ErrExist if the name is taken.
func CreateFile(fsys FS, name string, content []byte) error {
	w, err := fsys.Create(name, FilePerm)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, bytes.NewReader(content)); err == nil {
		err = w.Close()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

// How often a small file is written if DataNodes fail, and the first pause, which doubles.
const (
	smallFileTries = 5
	smallFilePause = time.Second
)

// ReplaceFile atomically replaces a file by one with the given content. temp must be a name in the same file system that
// nobody else uses. If a DataNode fails, the content is written again.
func ReplaceFile(fsys FS, name, temp string, content []byte) error {
	for try := 1; ; try++ {
		err := replaceFile(fsys, name, temp, content)
		if !errors.Is(err, ErrDataNode) || try == smallFileTries {
			return err
		}
		time.Sleep(smallFilePause << (try - 1))
	}
}

func replaceFile(fsys FS, name, temp string, content []byte) error {
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := CreateFile(fsys, temp, content); err != nil {
		return err
	}
	return fsys.Replace(temp, name)
}

// List lists a directory; empty if the directory does not exist.
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

package storage

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/internal/printable"
)

type localWriter struct {
	file   *os.File
	buf    *bufio.Writer
	err    error // of the first call that failed
	closed bool
}

func newLocalWriter(f *os.File) *localWriter {
	return &localWriter{file: f, buf: bufio.NewWriterSize(f, writeBuffer)}
}

func (w *localWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, &fs.PathError{Op: "write", Path: printable.Name(w.file.Name()), Err: errClosed}
	}
	n, err := w.buf.Write(p)
	return n, w.keep(err)
}

func (w *localWriter) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	w.keep(w.buf.Flush())
	if w.err == nil {
		w.keep(w.file.Sync())
	}
	w.keep(w.file.Close())
	if w.err == nil {
		w.keep(syncDir(filepath.Dir(w.file.Name())))
	}
	return w.err
}

func (w *localWriter) Abort() error {
	if w.closed && w.err == nil {
		return nil
	}
	if !w.closed {
		w.closed = true
		w.file.Close()
	}
	w.err = errAborted
	if err := os.Remove(w.file.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (w *localWriter) keep(err error) error {
	if w.err == nil {
		w.err = err
	}
	return err
}

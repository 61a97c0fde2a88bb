package tasks

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"bulkload/internal/storage"
)

// countedFS counts the files that are opened, and the reads that do not go on where the file's last one ended.
type countedFS struct {
	storage.FS
	opened, open, moved atomic.Int64
}

type countedFile struct {
	storage.File
	fs *countedFS
	at int64
}

func (c *countedFS) Open(name string) (storage.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	c.open.Add(1)
	return &countedFile{File: f, fs: c}, nil
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	if f.at > 0 && off != f.at {
		f.fs.moved.Add(1)
	}
	n, err := f.File.ReadAt(p, off)
	f.at = off + int64(n)
	return n, err
}

func (f *countedFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// TestReadersHaveTheirStreams: readers of one run in several places, each of which reads some bytes twice, read on in
// streams of their own, which are never moved. Closing the run closes all.
func TestReadersHaveTheirStreams(t *testing.T) {
	t.Parallel()
	counted := &countedFS{FS: storage.Local}
	s := store{folder: folder{fs: counted, dir: t.TempDir()}}
	content := make([]byte, 300_000)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	w, err := s.Create("run")
	if err == nil {
		_, err = w.Write(content)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Open("run")
	if err != nil {
		t.Fatal(err)
	}
	const readers, step, again = 3, 1000, 12
	var group sync.WaitGroup
	for i := range readers {
		group.Go(func() {
			p := make([]byte, step+again)
			for at := i * 100_000; at < (i+1)*100_000-step-again; at += step {
				if n, err := r.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p[:n], content[at:at+len(p)]) {
					t.Errorf("%d bytes at %d: %v", n, at, err)
					return
				}
			}
		})
	}
	group.Wait()
	if n := counted.opened.Load(); n > 2*readers || counted.moved.Load() > 2*readers {
		t.Errorf("%d files were opened, and moved %d times", n, counted.moved.Load())
	}
	if size, err := r.Size(); size != int64(len(content)) || err != nil {
		t.Errorf("its size is %d, %v", size, err)
	}
	if err := r.Close(); err != nil || counted.open.Load() != 0 {
		t.Errorf("%d files are open, %v", counted.open.Load(), err)
	}
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed run was read: %v", err)
	}
}

// fullWriter has no space.
type fullWriter struct {
	storage.FileWriter
	aborted bool
}

func (w *fullWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
func (w *fullWriter) Abort() error              { w.aborted = true; return w.FileWriter.Abort() }

// TestUnwrittenRun: a run that could not be written is given up, not completed.
func TestUnwrittenRun(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "run")
	inner, err := storage.Local.Create(name, filePerm)
	if err != nil {
		t.Fatal(err)
	}
	full := &fullWriter{FileWriter: inner}
	f := &runFile{w: full}
	if _, err := f.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := f.Close(); err != nil || !full.aborted {
		t.Errorf("closed, %v", err)
	}
	if _, err := storage.Local.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

package tasks

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"bulkload/internal/storage"
	"bulkload/partition"
)

// store has sorted runs in a folder of any file system.
type store struct {
	folder
	readers *int // how many readers each run has at a time; it may be set after the runs are opened. nil: unknown
}

// Create creates a run. The folder must exist.
func (s store) Create(name string) (io.WriteCloser, error) {
	w, err := s.fs.Create(s.path(name), filePerm)
	if err != nil {
		return nil, err
	}
	return &runFile{w: w}, nil
}

// runFile is a run that is being written.
type runFile struct {
	w      storage.FileWriter
	failed bool
}

func (f *runFile) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.failed = f.failed || err != nil
	return n, err
}

// Close completes the run, or deletes it if it could not be written.
func (f *runFile) Close() error {
	if f.failed {
		return f.w.Abort()
	}
	return f.w.Close()
}

// Open opens a run for reading.
func (s store) Open(name string) (partition.StoredRun, error) {
	r := &openRun{fs: s.fs, name: s.path(name), readers: s.readers}
	f, err := r.open()
	if err != nil {
		return nil, err
	}
	r.size = f.Size()
	r.put(f)
	return r, nil
}

// Remove deletes a run.
func (s store) Remove(name string) error { return storage.RemoveIfThere(s.fs, s.path(name)) }

// List lists the folder's files.
func (s store) List() (names []string, err error) {
	all, err := storage.List(s.fs, s.dir)
	for _, info := range all {
		names = append(names, info.Name)
	}
	return names, err
}

// Free returns how many bytes can be written.
func (s store) Free() (int64, error) { return s.fs.Free(s.dir) }

// Path returns a run's URI.
func (s store) Path(name string) string { return s.uri(name) }

// openRun is a run that is read in several places at once. An open HDFS file is one stream from a DataNode, in which
// seeking is slow. So each reader gets its own stream, and gets it again when it continues where it stopped.
type openRun struct {
	fs      storage.FS
	name    string
	size    int64
	readers *int

	mu     sync.Mutex // guards what follows
	idle   []*stream  // the last one used is at the end
	closed bool
}

// hdfsStream is the memory of an HDFS stream in bytes: the last packet read (measured: 81 KiB), and on protected
// connections the small packets that are joined (65 KiB; internal/storage).
const hdfsStream = 148 << 10

// streamMemory returns how many bytes each stream of a run needs, in addition to its reader's buffers.
func streamMemory(home folder) int64 {
	if storage.IsHDFS(home.uri("")) {
		return hdfsStream
	}
	return 0
}

// maxIdle bounds the open but unused streams of a run, if the number of readers is unknown.
const maxIdle = 4

// mayIdle returns how many streams may be open but unused: one for each reader.
func (r *openRun) mayIdle() int {
	if r.readers == nil {
		return maxIdle
	}
	return *r.readers
}

func (r *openRun) open() (*stream, error) {
	f, err := r.fs.Open(r.name)
	if err != nil {
		return nil, err
	}
	return &stream{File: f}, nil
}

// Size returns the run's length in bytes.
func (r *openRun) Size() (int64, error) { return r.size, nil }

// ReadAt prefers an idle stream that can continue at off, so that none must seek.
func (r *openRun) ReadAt(p []byte, off int64) (int, error) {
	s, err := r.take(off)
	if err != nil {
		return 0, err
	}
	defer r.put(s)
	return s.ReadAt(p, off)
}

// maxBack is how far a reader goes back at most: by a block that it has read together with the one before.
const maxBack = 128 << 10

// take returns an idle stream that can continue at off. If there is none, it returns one that must seek, if no other
// reader needs that: it was read to its end, or its reader goes back. Otherwise it returns a new one or, if no more may
// be idle, the one that was unused for the longest time.
func (r *openRun) take(off int64) (*stream, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, fmt.Errorf("read %s: %w", r.fs.URI(r.name), fs.ErrClosed)
	}
	at := slices.IndexFunc(r.idle, func(s *stream) bool { return s.goesOn(off) })
	if at < 0 {
		at = slices.IndexFunc(r.idle, func(s *stream) bool { return s.at >= r.size || off < s.at && s.at-off <= maxBack })
	}
	if at < 0 && len(r.idle) >= r.mayIdle() {
		at = 0
	}
	if at < 0 {
		r.mu.Unlock()
		return r.open()
	}
	s := r.idle[at]
	r.idle = slices.Delete(r.idle, at, at+1)
	r.mu.Unlock()
	return s, nil
}

// put takes a stream back.
func (r *openRun) put(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) >= r.mayIdle() {
		_ = s.Close() // it was only read
		return
	}
	r.idle = append(r.idle, s)
}

// Close closes all streams.
func (r *openRun) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.idle {
		_ = s.Close() // it was only read
	}
	r.idle = nil
	return nil
}

// stream is a file that is read sequentially. It remembers its last bytes, because the reader of a run reads the header
// of a block together with the block before, and again with the block.
type stream struct {
	storage.File
	at   int64 // the offset after the last byte read; 0: nothing was read yet
	tail []byte
}

// maxTail is how many of its last bytes a stream remembers.
const maxTail = 64

// goesOn reports whether the stream can be read from off on without a seek.
func (s *stream) goesOn(off int64) bool {
	return s.at == 0 || off <= s.at && s.at-off <= int64(len(s.tail))
}

func (s *stream) ReadAt(p []byte, off int64) (n int, err error) {
	if s.at > 0 && s.goesOn(off) {
		n = copy(p, s.tail[len(s.tail)-int(s.at-off):])
	}
	if n == len(p) {
		return n, nil
	}
	more, err := s.File.ReadAt(p[n:], off+int64(n))
	n += more
	s.at, s.tail = off+int64(n), append(s.tail[:0], p[max(0, n-maxTail):n]...)
	return n, err
}

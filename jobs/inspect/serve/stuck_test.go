package serve

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/storage"
)

// stuckFS is a file system whose reads wait while it is closed.
type stuckFS struct {
	mu      sync.Mutex
	gate    chan struct{} // closed: reads pass
	isOpen  bool
	waiting atomic.Int64
}

func (s *stuckFS) wrap(fsys storage.FS) storage.FS { s.open(); return &stuckFiles{fsys, s} }

func (s *stuckFS) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOpen {
		close(s.gate)
		s.isOpen = true
	}
}

func (s *stuckFS) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen {
		s.gate, s.isOpen = make(chan struct{}), false
	}
}

func (s *stuckFS) pass() {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	s.waiting.Add(1)
	<-gate
	s.waiting.Add(-1)
}

// waitFor waits until a read waits.
func (s *stuckFS) waitFor(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); s.waiting.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no read waits")
		}
	}
}

type stuckFiles struct {
	storage.FS
	stuck *stuckFS
}

func (f *stuckFiles) Open(name string) (storage.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &stuckFile{file, f.stuck}, nil
}

type stuckFile struct {
	storage.File
	stuck *stuckFS
}

func (f *stuckFile) ReadAt(b []byte, at int64) (int, error) {
	f.stuck.pass()
	return f.File.ReadAt(b, at)
}

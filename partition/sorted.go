package partition

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"bulkload/internal/poison"
)

// Sorted holds all entries, region by region. Regions may be read in parallel, and more than once.
type Sorted struct {
	regions *Regions
	memory  []*memoryRun
	runs    []*spilledRun
	sample  splitSample
	stats   Stats
	folder  *folder // nil if the runs are shared

	blockSize int  // of the blocks of runs, before compression
	shared    bool // the runs belong to other sorts: each is opened when it is first read, and is not deleted

	mu     sync.Mutex // guards the fields below
	free   [][]byte   // buffers of closed readers
	closed bool
}

// Stats describes the work of a sort.
type Stats struct {
	Entries      int64
	Bytes        int64         // of keys and payloads
	Runs         int           // spilled runs
	SpilledBytes int64         // on disk
	SortTime     time.Duration // of all shards together, like SpillTime
	SpillTime    time.Duration // for writing runs and merging them into larger ones
	Needs        int64         // bytes of memory with which nothing would have been spilled; 0: nothing was
}

// Stats describes the work of the sort.
func (s *Sorted) Stats() Stats { return s.stats }

// Region reads region i's entries in order of key, then of position.
func (s *Sorted) Region(i int) (*RunReader, error) { return s.read(Slice{Region: i}) }

func (s *Sorted) read(part Slice) (*RunReader, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errors.New("the sorted entries are closed")
	}
	r := &RunReader{sorted: s, end: part.End}
	cursors, room, err := s.cursors(r, part)
	if err != nil {
		return nil, err
	}
	r.stored = s.buffer(room)
	r.tree.cursors = cursors
	for i := range cursors {
		if err := cursors[i].nextFrom(part.Start); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.tree = *newTree(cursors)
	return r, nil
}

// cursors returns cursors for a slice's part of every run, at or before their first entries, and the buffer size that a
// stored block needs.
func (s *Sorted) cursors(r *RunReader, part Slice) (cursors []cursor, room int, err error) {
	for _, m := range s.memory {
		if ix := m.part(part); len(ix) > 0 {
			cursors = append(cursors, cursor{arena: m.arena, index: ix})
		}
	}
	for _, f := range s.runs {
		if at, end := f.from(part), f.starts[part.Region+1]; at < end {
			if err := s.open(f); err != nil {
				return nil, 0, err
			}
			cursors = append(cursors, cursor{run: f, at: blockStart{offset: at}, end: end, reader: r})
			room = max(room, f.bufferSize())
		}
	}
	return cursors, room, nil
}

// open opens a shared run when it is first read, because a process may read only some of the regions, and so of the
// runs.
func (s *Sorted) open(run *spilledRun) error {
	if !s.shared {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return run.open()
}

// Close frees memory and deletes spilled files, except for persistent and shared ones. No region may be being read.
func (s *Sorted) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.shared {
		err = closeRuns(s.runs)
	} else {
		err = errors.Join(s.folder.release(s.runs), s.folder.remove())
	}
	s.memory, s.runs, s.free, s.closed = nil, nil, nil, true
	return err
}

func closeRuns(runs []*spilledRun) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// buffer returns n bytes, from a buffer of a closed reader if one is large enough.
func (s *Sorted) buffer(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.free) - 1; i >= 0; i-- {
		if b := s.free[i]; cap(b) >= n {
			last := len(s.free) - 1
			s.free[i] = s.free[last]
			s.free = s.free[:last]
			return b[:n]
		}
	}
	return make([]byte, n)
}

// putBuffer returns buffers for the next reader.
func (s *Sorted) putBuffer(buffers ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range buffers {
		if b != nil {
			poison.Bytes(b)
			s.free = append(s.free, b)
		}
	}
}

// RunReader reads the sorted entries of a region or a slice. It belongs to one goroutine.
type RunReader struct {
	sorted  *Sorted
	tree    tree
	stored  []byte // room for blocks as they are stored
	end     []byte // the row after the last; empty: the region's end
	out     [2]Entry
	present int
	begun   bool
	err     error
}

var errRunClosed = errors.New("the sorted run is closed")

// Next returns the next entry, or io.EOF after the last one. The entry is valid until the next call but one, so that it
// can be compared with the one before it. An error sticks.
func (r *RunReader) Next() (*Entry, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.endEntry(r.present ^ 1)
	if r.begun {
		if r.err = r.tree.winner().next(); r.err != nil {
			return nil, r.err
		}
		r.tree.replay()
	}
	r.begun = true
	w := r.tree.winner()
	if w == nil || len(r.end) > 0 && bytes.Compare(w.Key, r.end) >= 0 {
		r.err = io.EOF
		return nil, r.err
	}
	r.present ^= 1
	e := &r.out[r.present]
	*e = w.Entry
	if poison.Enabled && w.arena != nil {
		e.Key, e.Payload = bytes.Clone(e.Key), bytes.Clone(e.Payload) // other readers read the arena, too
	}
	return e, nil
}

// endEntry ends the lifetime of one of the two last entries.
func (r *RunReader) endEntry(i int) {
	if poison.Enabled {
		poison.Bytes(r.out[i].Key)
		poison.Bytes(r.out[i].Payload)
		r.out[i] = Entry{}
	}
}

// Close returns the reader's buffers.
func (r *RunReader) Close() error {
	if errors.Is(r.err, errRunClosed) {
		return nil
	}
	r.endEntry(0)
	r.endEntry(1)
	for i := range r.tree.cursors {
		b := &r.tree.cursors[i].buffers
		r.sorted.putBuffer(b[0], b[1])
	}
	r.sorted.putBuffer(r.stored)
	r.tree, r.stored, r.err = tree{}, nil, errRunClosed
	return nil
}

package partition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Options of a sort.
type Options struct {
	Regions *Regions
	Memory  int64  // bytes for arenas, and for the merge's buffers after them; at least 1 MiB is taken
	WorkDir string // local folder for spilled runs; made if need be, mode 0700
	Lanes   int    // how many goroutines will add entries, each with Memory/Lanes, and later read regions side by side
}

// Position orders entries of one key, and says where a record came from.
type Position struct {
	File   uint32 // ordinal of the input file
	Offset int64  // of the record in it
}

// Entry is one record in the sort: its row key, where it came from, and its columns packed by the caller.
type Entry struct {
	Key []byte
	Position
	Payload []byte
}

const (
	minMemory  = 1 << 20
	maxChunk   = 1 << 20
	maxKeyLen  = 1<<15 - 1
	maxPayload = 1<<31 - 1
)

// Sorter takes entries in any order. Close every lane, then call Sort.
type Sorter struct {
	options Options
	share   int64  // memory of a lane
	dir     string // of this sort's spilled runs; "" before the first

	mu    sync.Mutex
	lanes []*Lane
	runs  []*spilledRun
}

// NewSorter begins a sort. It touches no disk before memory is full.
func NewSorter(o Options) (*Sorter, error) {
	if o.Regions == nil || o.Lanes < 1 {
		return nil, fmt.Errorf("sort: %d lanes, regions %v", o.Lanes, o.Regions != nil)
	}
	o.Memory = max(o.Memory, minMemory)
	return &Sorter{options: o, share: o.Memory / int64(o.Lanes)}, nil
}

// Lane gives one of the Options' lanes; the first ones that are asked for. A lane belongs to one goroutine.
func (s *Sorter) Lane() *Lane {
	l := &Lane{sorter: s, arena: arena{chunkLen: int(min(maxChunk, s.share/8))}}
	s.mu.Lock()
	s.lanes = append(s.lanes, l)
	s.mu.Unlock()
	return l
}

// Lane is one goroutine's way into the sort.
type Lane struct {
	sorter *Sorter
	arena  arena
	closed bool
}

// Buffer is an empty slice in the arena to append one entry to: its key, then its payload. It holds until Commit or the
// next Buffer call.
func (l *Lane) Buffer() []byte { return l.arena.buffer() }

// Commit takes the entry that was appended to the slice that Buffer gave: keyLen bytes of key, then the payload. It
// may sort and spill the lane's arena.
func (l *Lane) Commit(entry []byte, keyLen int, pos Position) error {
	if keyLen < 1 || keyLen > maxKeyLen || keyLen > len(entry) || len(entry)-keyLen > maxPayload {
		return fmt.Errorf("sort: entry of %d bytes with a key of %d: HBase takes rows of 1 to %d bytes", len(entry), keyLen, maxKeyLen)
	}
	l.arena.commit(entry, keyLen, pos)
	if l.arena.size() < l.sorter.share {
		return nil
	}
	return l.spill()
}

// spill sorts the arena, writes it to a run file and empties it.
func (l *Lane) spill() error {
	l.arena.sort()
	run, err := l.sorter.spillArena(&l.arena)
	if err != nil {
		return err
	}
	l.arena.reset()
	l.sorter.mu.Lock()
	l.sorter.runs = append(l.sorter.runs, run)
	l.sorter.mu.Unlock()
	return nil
}

// Close ends the lane and sorts what is in its memory.
func (l *Lane) Close() error {
	if l.closed {
		return errors.New("sort: lane closed twice")
	}
	l.closed = true
	l.arena.sort()
	l.arena.spare = nil
	return nil
}

// Sort ends the adding. It fails when a lane is still open. Where something was spilled, all the rest is, too, so that the
// memory serves the merge; else everything stays in memory.
func (s *Sorter) Sort() (*Sorted, error) {
	sorted := &Sorted{sorter: s}
	for _, l := range s.lanes {
		if !l.closed {
			return nil, errors.New("sort: a lane is still open")
		}
	}
	for _, l := range s.lanes {
		if len(l.arena.refs) == 0 {
			continue
		}
		if len(s.runs) == 0 {
			sorted.memory = append(sorted.memory, &memoryRun{arena: &l.arena, starts: l.arena.cut(s.options.Regions)})
			continue
		}
		run, err := s.spillArena(&l.arena)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, run)
		l.arena = arena{}
	}
	s.lanes = nil
	sorted.stats = sorted.count()
	if err := s.reduceRuns(); err != nil {
		return nil, err
	}
	return sorted, nil
}

// Discard frees memory and spilled files of a sort that will not be finished. Its lanes must be at rest.
func (s *Sorter) Discard() error {
	s.lanes = nil
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	s.runs = nil
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return errors.Join(errs...)
}

// workDir makes this sort's own folder.
func (s *Sorter) workDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	if err := os.MkdirAll(s.options.WorkDir, 0o700); err != nil {
		return "", fmt.Errorf("make the work folder for spilled runs (choose another with --work-dir): %w", err)
	}
	dir, err := os.MkdirTemp(s.options.WorkDir, "sort-")
	if err != nil {
		return "", fmt.Errorf("make a folder for spilled runs in %s (choose another with --work-dir): %w", filepath.Clean(s.options.WorkDir), err)
	}
	s.dir = dir
	return dir, nil
}

package partition

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Options of a sort.
type Options struct {
	Regions *Regions
	Memory  int64  // bytes for arenas, and for the merge's buffers after them; at least 64 KiB a lane is used
	WorkDir string // local folder for spilled runs; made if need be, mode 0700; "": the system's temporary folder
	Lanes   int    // how many goroutines will add entries; each has its share of Memory
	Plain   int64  // bytes of runs, the first ones, that are spilled uncompressed: less to compute, and two to three times the room in WorkDir
	Kept    *Kept  // spilled runs outlive the sort; nil: they go with it. With it WorkDir is not used
}

const (
	minShare  = 64 << 10
	minChunk  = 4 << 10
	maxChunk  = 1 << 20
	minBlock  = 4 << 10
	maxBlock  = 64 << 10
	inReserve = 8 // this part of the memory is kept for blocks
)

// Sorter takes entries in any order. Close every lane, then call Sort.
type Sorter struct {
	regions   *Regions
	memory    int64
	lanes     int
	blockSize int
	folder    *folder
	kept      *Kept        // nil: nothing is kept
	plain     atomic.Int64 // bytes that may still be spilled uncompressed

	mu     sync.Mutex // guards what follows
	given  []*Lane
	open   int  // lanes
	ended  bool // by Sort or Discard
	memRun []*memoryRun
	runs   []*spilledRun
	cuts   cuts
	stats  Stats
}

// NewSorter begins a sort. It touches no disk before memory is full, save where runs of an earlier sort are kept: then
// these are looked at, and an error that is ErrKept says that they can't be used.
func NewSorter(o Options) (*Sorter, error) {
	switch {
	case o.Regions == nil:
		return nil, errors.New("sort without regions")
	case o.Lanes < 1:
		return nil, fmt.Errorf("sort with %d lanes: at least one is needed", o.Lanes)
	}
	memory := max(o.Memory, int64(o.Lanes)*minShare)
	s := &Sorter{
		regions: o.Regions, memory: memory, lanes: o.Lanes, folder: newFolder(o.WorkDir), kept: o.Kept,
		blockSize: int(min(max(memory/4096, minBlock), maxBlock)),
	}
	s.plain.Store(o.Plain)
	if o.Kept != nil {
		s.folder = &folder{kept: o.Kept.Store}
		return s, s.takeKept()
	}
	return s, nil
}

// Lane gives the next of the Options' lanes. A lane belongs to one goroutine. A lane more than the Options have, or one
// of a sort that has ended, refuses every entry.
func (s *Sorter) Lane() *Lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Lane{sorter: s}
	switch {
	case s.ended:
		l.err = errEnded
	case len(s.given) == s.lanes:
		l.err = fmt.Errorf("the sort was made for %d lanes and all are given", s.lanes)
	default:
		s.given = append(s.given, l)
		s.open++
		l.arena = newArena((s.memory - s.memory/inReserve) / int64(s.lanes))
	}
	return l
}

var errEnded = errors.New("the sort has ended")

func newArena(limit int64) *arena {
	return &arena{limit: limit, chunkSize: int(min(max(limit/16, minChunk), maxChunk))}
}

// Sort ends the adding. It fails when a lane is still open, and when the context ends. After a failure call Discard.
func (s *Sorter) Sort(ctx context.Context) (*Sorted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, errEnded
	case s.open > 0:
		return nil, fmt.Errorf("sort: %d of %d lanes are still open", s.open, len(s.given))
	}
	s.ended = true
	if err := s.fit(ctx); err != nil {
		return nil, err
	}
	s.cuts.tidy()
	for _, r := range s.runs {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	return &Sorted{regions: s.regions, memory: s.memRun, runs: s.runs, cuts: s.cuts, stats: s.stats, folder: s.folder}, nil
}

// Discard frees memory and spilled files of a sort that will not be finished; kept ones stay. Its lanes must be at rest.
func (s *Sorter) Discard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	err := s.folder.drop(s.runs)
	s.memRun, s.runs = nil, nil
	return errors.Join(err, s.folder.remove())
}

// laneClosed takes over what a lane leaves.
func (s *Sorter) laneClosed(l *Lane, m *memoryRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.cuts.join(&l.cuts)
	s.stats.SortTime += l.took.sort
	s.stats.SpillTime += l.took.spill
	if m != nil {
		s.memRun = append(s.memRun, m)
		s.count(m.arena)
	}
}

// count adds an arena's entries to the totals; the lock is held.
func (s *Sorter) count(a *arena) {
	s.stats.Entries += int64(len(a.index))
	s.stats.Bytes += a.data
}

// spilled takes over a run and its candidates; the lock is not held.
func (s *Sorter) spilled(r *spilledRun, a *arena, cuts *cuts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(a)
	s.cuts.join(cuts)
	cuts.empty(s.cuts.zeros)
	s.addRun(r)
}

// addRun takes a run into the books; the lock is held.
func (s *Sorter) addRun(r *spilledRun) {
	s.runs = append(s.runs, r)
	s.stats.Runs++
	s.stats.SpilledBytes += r.size()
}

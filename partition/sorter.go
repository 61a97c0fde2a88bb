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
	Regions      *Regions
	Memory       int64           // bytes for arenas, and for the merge's buffers after them; at least 64 KiB a lane is used
	WorkDir      string          // local folder for spilled runs; made if need be, mode 0700; "": the system's temporary folder
	Shards       int             // how many goroutines will add entries; each has its share of Memory
	Uncompressed int64           // bytes of runs, the first ones, that are spilled uncompressed: less to compute, and two to three times the room in WorkDir
	Persistent   *PersistentRuns // spilled runs outlive the sort; nil: they go with it. With it WorkDir is not used
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
	regions      *Regions
	memory       int64
	shards       int
	blockSize    int
	folder       *folder
	persistent   *PersistentRuns // nil: nothing is kept
	uncompressed atomic.Int64    // bytes that may still be spilled uncompressed

	mu     sync.Mutex // guards what follows
	issued []*Shard
	open   int  // lanes
	ended  bool // by Sort or Discard
	memRun []*memoryRun
	runs   []*spilledRun
	sample splitSample
	stats  Stats
}

// NewSorter begins a sort. It touches no disk before memory is full, save where runs of an earlier sort are kept: then
// these are looked at, and an error that is ErrStaleRuns says that they can't be used.
func NewSorter(o Options) (*Sorter, error) {
	switch {
	case o.Regions == nil:
		return nil, errors.New("sort without regions")
	case o.Shards < 1:
		return nil, fmt.Errorf("sort with %d lanes: at least one is needed", o.Shards)
	}
	memory := max(o.Memory, int64(o.Shards)*minShare)
	s := &Sorter{
		regions: o.Regions, memory: memory, shards: o.Shards, folder: newFolder(o.WorkDir), persistent: o.Persistent,
		blockSize: int(min(max(memory/4096, minBlock), maxBlock)),
	}
	s.uncompressed.Store(o.Uncompressed)
	if o.Persistent != nil {
		s.folder = &folder{persistent: o.Persistent.Store}
		return s, s.restore()
	}
	return s, nil
}

// NewShard gives the next of the Options' lanes. A lane belongs to one goroutine. A lane more than the Options have, or one
// of a sort that has ended, refuses every entry.
func (s *Sorter) NewShard() *Shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Shard{sorter: s}
	switch {
	case s.ended:
		l.err = errEnded
	case len(s.issued) == s.shards:
		l.err = fmt.Errorf("the sort was made for %d lanes and all are given", s.shards)
	default:
		s.issued = append(s.issued, l)
		s.open++
		l.arena = newArena((s.memory - s.memory/inReserve) / int64(s.shards))
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
		return nil, fmt.Errorf("sort: %d of %d lanes are still open", s.open, len(s.issued))
	}
	s.ended = true
	if err := s.planMerge(ctx); err != nil {
		return nil, err
	}
	s.sample.compact()
	for _, r := range s.runs {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	return &Sorted{regions: s.regions, memory: s.memRun, runs: s.runs, sample: s.sample, stats: s.stats, folder: s.folder}, nil
}

// Discard frees memory and spilled files of a sort that will not be finished; kept ones stay. Its lanes must be at rest.
func (s *Sorter) Discard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	err := s.folder.release(s.runs)
	s.memRun, s.runs = nil, nil
	return errors.Join(err, s.folder.remove())
}

// shardClosed takes over what a lane leaves.
func (s *Sorter) shardClosed(l *Shard, m *memoryRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.sample.merge(&l.sample)
	s.stats.SortTime += l.times.sort
	s.stats.SpillTime += l.times.spill
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
func (s *Sorter) spilled(r *spilledRun, a *arena, cuts *splitSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(a)
	s.sample.merge(cuts)
	cuts.reset(s.sample.level)
	s.addRun(r)
}

// addRun takes a run into the books; the lock is held.
func (s *Sorter) addRun(r *spilledRun) {
	s.runs = append(s.runs, r)
	s.stats.Runs++
	s.stats.SpilledBytes += r.size()
}

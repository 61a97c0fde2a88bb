package partition

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// SortOptions of a sort.
type SortOptions struct {
	Regions *Regions
	// Memory, in bytes, is for the arenas and later for the merge's buffers; at least 64 KiB for each shard.
	Memory int64
	// WorkDir is the local folder for spilled runs; created if necessary, mode 0700; "": the system's temporary folder.
	WorkDir string
	// Shards is how many goroutines will add entries; each has its share of Memory.
	Shards int
	// Uncompressed is how many bytes of the first runs are spilled uncompressed. This takes less CPU time, and two to
	// three times the space in WorkDir.
	Uncompressed int64
	// Persistent lets spilled runs outlive the sort; if nil, they end with it. If it is set, WorkDir is not used.
	Persistent *PersistentRuns
}

const (
	minShare  = 64 << 10
	minChunk  = 4 << 10
	maxChunk  = 1 << 20
	minBlock  = 4 << 10
	maxBlock  = 64 << 10
	inReserve = 8 // the reserve for blocks is the memory divided by this
)

// Sorter accepts entries in any order. Close every shard, then call Sort.
type Sorter struct {
	regions      *Regions
	memory       int64
	shards       int
	blockSize    int
	folder       *folder
	persistent   *PersistentRuns // nil: none
	uncompressed atomic.Int64    // bytes that may still be spilled uncompressed

	mu     sync.Mutex // guards the fields below
	issued []*Shard
	open   int  // number of shards
	ended  bool // by Sort or Discard
	memRun []*memoryRun
	runs   []*spilledRun
	sample splitSample
	stats  Stats
}

// NewSorter begins a sort. It does not touch the disk before the memory is full, except to open persistent runs of an
// earlier sort. If these can't be used, it returns ErrStaleRuns.
func NewSorter(o SortOptions) (*Sorter, error) {
	switch {
	case o.Regions == nil:
		return nil, errors.New("sort without regions")
	case o.Shards < 1:
		return nil, fmt.Errorf("sort with %d lanes: at least one is needed", o.Shards)
	}
	memory := max(o.Memory, int64(o.Shards)*minShare)
	s := &Sorter{
		regions: o.Regions, memory: memory, shards: o.Shards, folder: newFolder(o.WorkDir), persistent: o.Persistent,
	}
	s.blockSize = s.blockSizeOf()
	s.uncompressed.Store(o.Uncompressed)
	if o.Persistent != nil {
		s.folder = &folder{persistent: o.Persistent.Store}
		return s, s.restore()
	}
	return s, nil
}

// NewShard returns the next of the shards in SortOptions. A shard belongs to one goroutine. A surplus shard, or one of
// a sort that has ended, refuses every entry.
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
		l.arena = newArena(s.arenaLimit())
	}
	return l
}

// blockSizeOf is the size of the blocks of runs, before compression.
func (s *Sorter) blockSizeOf() int { return int(min(max(s.memory/4096, minBlock), maxBlock)) }

// arenaLimit is a shard's part of the memory.
func (s *Sorter) arenaLimit() int64 { return (s.memory - s.memory/inReserve) / int64(s.shards) }

var errEnded = errors.New("the sort has ended")

func newArena(limit int64) *arena {
	return &arena{limit: limit, chunkSize: int(min(max(limit/16, minChunk), maxChunk))}
}

// Sort ends the adding of entries. It fails if a shard is still open, and when the context ends. After a failure call
// Discard.
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
	if s.stats.Runs > 0 {
		s.stats.Needs = MemoryWithoutSpill(s.shape(), s.memory)
	}
	return &Sorted{regions: s.regions, memory: s.memRun, runs: s.runs, sample: s.sample, stats: s.stats, folder: s.folder,
		blockSize: s.blockSize}, nil
}

// shape describes the entries that the shards got. Those of an earlier process count as if each shard had got as many.
// A tenth is added, because the next sort distributes them in another way.
func (s *Sorter) shape() Shape {
	shape := Shape{Mean: float64(s.stats.Bytes) / float64(max(s.stats.Entries, 1)), Shards: make([]int64, s.shards)}
	restored := s.stats.Entries
	for i, l := range s.issued {
		shape.Shards[i] = l.entries
		restored -= l.entries
	}
	for i := range shape.Shards {
		shape.Shards[i] = (shape.Shards[i] + restored/int64(s.shards)) * 11 / 10
	}
	for _, r := range s.runs {
		shape.Largest = max(shape.Largest, r.largest)
	}
	return shape
}

// Discard frees memory and spilled files of a sort that will not be finished; persistent runs stay. No shard may be
// in use.
func (s *Sorter) Discard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	err := s.folder.release(s.runs)
	s.memRun, s.runs = nil, nil
	return errors.Join(err, s.folder.remove())
}

// shardClosed takes over the arena of a closed shard.
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

// count adds an arena's entries to the totals. The lock must be held.
func (s *Sorter) count(a *arena) {
	s.stats.Entries += int64(len(a.index))
	s.stats.Bytes += a.data
}

// spilled adds a run and its candidates. The lock must not be held.
func (s *Sorter) spilled(r *spilledRun, a *arena, cuts *splitSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(a)
	s.sample.merge(cuts)
	cuts.reset(s.sample.level)
	s.addRun(r)
}

// addRun adds a run to the list and the totals. The lock must be held.
func (s *Sorter) addRun(r *spilledRun) {
	s.runs = append(s.runs, r)
	s.stats.Runs++
	s.stats.SpilledBytes += r.size()
}

package partition

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxOpen bounds the spilled runs that are read at once, because each is an open file.
const maxOpen = 512

// CanMerge reports whether the shards' entries can stay in memory while the regions are merged. If not, the shards of a
// sort with persistent runs must be spilled before Sort. No shard may be in use.
func (s *Sorter) CanMerge() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var arenas int64
	for _, l := range s.issued {
		if l.arena != nil && len(l.arena.index) > 0 {
			arenas += l.arena.bytes - int64(len(l.arena.free)*l.arena.chunkSize)
		}
	}
	for _, m := range s.memRun {
		arenas += m.arena.bytes
	}
	return s.canMerge(arenas)
}

func (s *Sorter) canMerge(arenas int64) bool {
	return len(s.runs) <= maxOpen && arenas+s.mergeMemory(s.runs) <= s.memory
}

// planMerge ensures that the regions can be merged within the memory: if the arenas leave too little, they are
// spilled, and if there are too many runs, some are merged into larger ones. The lock must be held, and no shard
// open.
func (s *Sorter) planMerge(ctx context.Context) error {
	var arenas int64
	for _, m := range s.memRun {
		arenas += m.arena.bytes
	}
	if s.canMerge(arenas) {
		return nil
	}
	if s.persistent != nil && len(s.memRun) > 0 {
		return errors.New("sort: the lanes hold more than fits in memory beside the kept runs, and were not spilled")
	}
	if err := s.spillArenas(ctx); err != nil {
		return err
	}
	return s.mergeSmallest(ctx)
}

// mergeMemory is the memory for reading these runs: two blocks and a stored one of each, for as many regions as are
// read at once.
func (s *Sorter) mergeMemory(runs []*spilledRun) int64 {
	return readerMemory(runs) * int64(max(2, s.shards))
}

// readerMemory is the memory for reading these runs in one goroutine.
func readerMemory(runs []*spilledRun) int64 {
	sum, most := 0, 0
	for _, r := range runs {
		sum += 2 * r.bufferSize()
		most = max(most, r.bufferSize())
	}
	return int64(sum + most)
}

// spillArenas spills the arenas in parallel.
func (s *Sorter) spillArenas(ctx context.Context) error {
	written := make([]*spilledRun, len(s.memRun))
	err := s.parallel(len(s.memRun), len(s.memRun), func(i int) (err error) {
		m := s.memRun[i]
		w := s.newWriter()
		written[i], err = w.writeArena(ctx, m.arena, nil)
		m.arena = nil
		return err
	})
	for _, r := range written {
		if r != nil {
			s.addRun(r)
		}
	}
	s.memRun = nil
	return err
}

// parallel runs do n times, at most that many at a time, and adds the time to the stats.
func (s *Sorter) parallel(n, most int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(most)
	took := make([]time.Duration, n)
	for i := range n {
		group.Go(func() error {
			begun := time.Now()
			defer func() { took[i] = time.Since(begun) }()
			return do(i)
		})
	}
	err := group.Wait()
	for _, t := range took {
		s.stats.SpillTime += t
	}
	return err
}

// mergeSmallest merges the smallest runs until the remaining ones can be read at once.
func (s *Sorter) mergeSmallest(ctx context.Context) error {
	for {
		slices.SortFunc(s.runs, func(a, b *spilledRun) int { return cmp.Compare(b.size(), a.size()) })
		keep := 1
		for keep < min(len(s.runs), maxOpen) && s.mergeMemory(s.runs[:keep+1]) <= s.memory {
			keep++
		}
		if keep == len(s.runs) || len(s.runs) < 2 {
			return nil
		}
		if err := s.mergeRuns(ctx, keep); err != nil {
			return err
		}
	}
}

// mergeRuns merges some of the smallest runs until keep are left, or one pass over them is done. A group of at most
// keep runs (at least two) becomes one run, and groups are merged in parallel.
func (s *Sorter) mergeRuns(ctx context.Context, keep int) error {
	large, groups := groupRuns(s.runs, keep, s.shards)
	most := s.shards
	if len(groups[0]) > maxOpen/4 { // bounds open files
		most = min(most, 2)
	}
	if keep < 2 { // even two runs take all of the memory
		most = 1
	}
	merged := make([]*spilledRun, len(groups))
	err := s.parallel(len(groups), most, func(i int) (err error) {
		merged[i], err = s.mergeGroup(ctx, groups[i])
		return err
	})
	s.runs = slices.Clone(large)
	for i, group := range groups {
		if merged[i] != nil {
			group = []*spilledRun{merged[i]}
		}
		s.runs = append(s.runs, group...)
	}
	return err
}

// groupRuns distributes the last of the runs, which are more than keep, over groups: as few groups as suffice, but as
// many as there are shards if possible.
func groupRuns(runs []*spilledRun, keep, shards int) (large []*spilledRun, groups [][]*spilledRun) {
	fan, excess := max(keep, 2), len(runs)-keep
	n := max((excess+fan-2)/(fan-1), min(shards, excess)) // a group of m runs reduces them by m-1
	dealt := excess + n
	if dealt > len(runs) {
		n, dealt = (len(runs)+fan-1)/fan, len(runs)
	}
	large = runs[:len(runs)-dealt]
	groups = make([][]*spilledRun, n)
	for i, r := range runs[len(large):] {
		groups[i%n] = append(groups[i%n], r)
	}
	return large, groups
}

// mergeGroup merges some runs into one that replaces them. For a single run, which stays as it is, it returns nil.
//
// The order keeps every entry in exactly one run that counts: first the new run is complete, then replace records it,
// then the old runs are deleted. If a kill comes before the record, the old runs count; if it comes later, the new one
// does.
func (s *Sorter) mergeGroup(ctx context.Context, from []*spilledRun) (*spilledRun, error) {
	if len(from) < 2 {
		return nil, ctx.Err()
	}
	var size int64
	for _, r := range from {
		if err := r.open(); err != nil {
			return nil, err
		}
		size += r.size()
	}
	w := s.newWriter()
	found, err := s.sampleOf(from)
	if err != nil {
		return nil, err
	}
	merged, err := w.write(size, found, func() error { return w.merge(ctx, from) })
	if err != nil {
		return nil, err
	}
	if err := s.replace(from, merged); err != nil {
		return nil, err
	}
	var errs []error
	for _, r := range from {
		errs = append(errs, r.remove())
	}
	return merged, errors.Join(errs...)
}

// merge adds all entries of some runs, in order.
func (w *runWriter) merge(ctx context.Context, runs []*spilledRun) error {
	return w.copyAll(ctx, &Sorted{regions: w.regions, runs: runs})
}

// copyAll adds all entries of a sort, in order.
func (w *runWriter) copyAll(ctx context.Context, sorted *Sorted) error {
	for region := range w.regions.Len() {
		if err := w.copyRegion(ctx, sorted, region); err != nil {
			return err
		}
	}
	return nil
}

func (w *runWriter) copyRegion(ctx context.Context, sorted *Sorted, region int) error {
	in, err := sorted.Region(region)
	if err != nil {
		return err
	}
	for n := 0; err == nil; n++ {
		var e *Entry
		if e, err = in.Next(); err != nil {
			break
		}
		if err = w.add(e); err == nil && n%checkEvery == 0 {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return errors.Join(err, in.Close())
}

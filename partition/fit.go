package partition

import (
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// maxOpen bounds the spilled runs that are read at once: each is an open file.
const maxOpen = 512

// fit sees to it that the regions can be merged within the memory: where the arenas leave too little they are spilled,
// and where there are too many runs, some are merged into larger ones. The lock is held, and no lane is open.
func (s *Sorter) fit() error {
	var arenas int64
	for _, m := range s.memRun {
		arenas += m.arena.bytes
	}
	if len(s.runs) <= maxOpen && arenas+s.mergeMemory(s.runs) <= s.memory {
		return nil
	}
	if err := s.spillArenas(); err != nil {
		return err
	}
	return s.reduceRuns()
}

// mergeMemory is what reading these runs takes: two blocks of each, and one as it is stored, for as many regions as are
// read at once.
func (s *Sorter) mergeMemory(runs []*spilledRun) int64 {
	sum, packed := 0, 0
	for _, r := range runs {
		sum += 2 * r.largest
		packed = max(packed, r.packed)
	}
	return int64(sum+packed) * int64(max(2, s.lanes))
}

// spillArenas writes what is in memory, side by side.
func (s *Sorter) spillArenas() error {
	var group errgroup.Group
	written := make([]*spilledRun, len(s.memRun))
	for i, m := range s.memRun {
		group.Go(func() (err error) {
			w := newRunWriter(s.regions, s.folder, s.blockSize)
			written[i], err = w.writeArena(m.arena)
			m.arena = nil
			return err
		})
	}
	err := group.Wait()
	for _, r := range written {
		if r != nil {
			s.addRun(r)
		}
	}
	s.memRun = nil
	return err
}

// reduceRuns merges the smallest runs until those that are left can be read at once.
func (s *Sorter) reduceRuns() error {
	for {
		slices.SortFunc(s.runs, func(a, b *spilledRun) int { return int(min(max(b.size()-a.size(), -1), 1)) })
		keep := 1
		for keep < min(len(s.runs), maxOpen) && s.mergeMemory(s.runs[:keep+1]) <= s.memory {
			keep++
		}
		if keep == len(s.runs) || len(s.runs) < 2 {
			return nil
		}
		// A merged run takes the place of one that was kept.
		n := min(max(len(s.runs)-keep+1, 2), max(keep, 2))
		if err := s.mergeRuns(n); err != nil {
			return err
		}
	}
}

// mergeRuns merges the last n runs into one.
func (s *Sorter) mergeRuns(n int) error {
	from := slices.Clone(s.runs[len(s.runs)-n:])
	var size int64
	for _, r := range from {
		if err := r.open(); err != nil {
			return err
		}
		size += r.size()
	}
	w := newRunWriter(s.regions, s.folder, s.blockSize)
	merged, err := w.write(size, func() error { return w.merge(from) })
	if err != nil {
		return err
	}
	s.runs = append(s.runs[:len(s.runs)-n], merged)
	return removeAll(from)
}

// merge adds all entries of some runs, in order.
func (w *runWriter) merge(runs []*spilledRun) error {
	sorted := &Sorted{regions: w.regions, runs: runs}
	for region := range w.regions.Len() {
		if err := w.copyRegion(sorted, region); err != nil {
			return err
		}
	}
	return nil
}

func (w *runWriter) copyRegion(sorted *Sorted, region int) error {
	in, err := sorted.Region(region)
	if err != nil {
		return err
	}
	for err == nil {
		var e *Entry
		if e, err = in.Next(); err == nil {
			err = w.add(e)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, in.Close())
}

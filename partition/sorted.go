package partition

import (
	"errors"
	"io"
)

// Sorted holds all entries, region by region. Regions may be read side by side.
type Sorted struct {
	sorter *Sorter
	memory []*memoryRun
	stats  Stats
}

// memoryRun is a lane's sorted arena.
type memoryRun struct {
	arena  *arena
	starts []int // of each region in its refs, and behind the last one their number
}

// Stats says what the sort did.
type Stats struct {
	Entries      int64
	Bytes        int64 // of keys and payloads
	Runs         int   // spilled runs
	SpilledBytes int64 // on disk
}

// Stats says what the sort did.
func (s *Sorted) Stats() Stats { return s.stats }

func (s *Sorted) count() (st Stats) {
	for _, m := range s.memory {
		st.Entries += int64(len(m.arena.refs))
		st.Bytes += m.arena.bytes
	}
	for _, r := range s.sorter.runs {
		for _, n := range r.entries {
			st.Entries += n
		}
		st.Bytes += r.bytes
		st.Runs++
		st.SpilledBytes += r.starts[len(r.starts)-1]
	}
	return st
}

// RegionEntries is the number of entries of region i.
func (s *Sorted) RegionEntries(i int) (n int64) {
	for _, m := range s.memory {
		n += int64(m.starts[i+1] - m.starts[i])
	}
	for _, r := range s.sorter.runs {
		n += r.entries[i]
	}
	return n
}

// Region reads region i's entries in order of key, then of position.
func (s *Sorted) Region(i int) (*Run, error) {
	var sources []*source
	for _, m := range s.memory {
		if refs := m.arena.refs[m.starts[i]:m.starts[i+1]]; len(refs) > 0 {
			sources = append(sources, &source{arena: m.arena, refs: refs})
		}
	}
	return newRun(append(sources, diskSources(s.sorter.runs, i)...))
}

func diskSources(runs []*spilledRun, region int) (sources []*source) {
	for _, r := range runs {
		if r.entries[region] > 0 {
			sources = append(sources, &source{disk: r.read(region)})
		}
	}
	return sources
}

// Close frees memory and deletes spilled files.
func (s *Sorted) Close() error {
	s.memory = nil
	return s.sorter.Discard()
}

// reduceRuns merges runs until those left can all be read at once, by as many goroutines as there are lanes, within the
// memory.
func (s *Sorter) reduceRuns() error {
	most := max(4, int(s.options.Memory/int64(s.options.Lanes)/runBufferLen))
	for len(s.runs) > most {
		n := min(most, len(s.runs)-most+1)
		merged, err := s.mergeRuns(s.runs[:n])
		if err != nil {
			return err
		}
		var errs []error
		for _, r := range s.runs[:n] {
			errs = append(errs, r.close())
		}
		s.runs = append(s.runs[n:], merged)
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// mergeRuns writes several runs as one.
func (s *Sorter) mergeRuns(runs []*spilledRun) (*spilledRun, error) {
	w, err := s.newRun()
	if err != nil {
		return nil, err
	}
	return w.finish(w.merge(runs, s.options.Regions.Len()))
}

func (w *runWriter) merge(runs []*spilledRun, regions int) error {
	for region := range regions {
		if err := w.region(); err != nil {
			return err
		}
		in, err := newRun(diskSources(runs, region))
		if err != nil {
			return err
		}
		for {
			e, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = w.add(e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

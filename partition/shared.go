package partition

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// A sort can be divided among processes: each sorts some of the entries and leaves them as one run in a store that
// others can read. OpenRuns merges such runs. The entries, and the cuts of Slices, are the same as if one sort had had
// all entries.

// StoredFile is a run in a store.
type StoredFile struct {
	Store Store
	RunFile
	Keep bool // it will be read, so it stays open, which saves the store a second look-up
}

// WriteRun writes all entries to a store as one run of this name, with a footer, for OpenRuns. It may be called more
// than once. When it returns without an error, the run is complete; otherwise it leaves nothing behind, unless the
// process is killed.
func (s *Sorted) WriteRun(ctx context.Context, store Store, name string) (RunFile, error) {
	w := newRunWriter(s.regions, &folder{persistent: store}, s.blockSize)
	w.name, w.advice = name, "free some space there"
	run, err := w.write(s.stats.Bytes, &s.sample, func() error { return w.copyAll(ctx, s) })
	if err != nil {
		return RunFile{}, err
	}
	return run.file(), nil
}

// MaxRuns is how many runs OpenRuns opens at most, because each is an open file while it is read.
const MaxRuns = maxOpen

// footersAtOnce is how many footers OpenRuns reads in parallel, because most of the time goes into waiting for a remote
// store. While it is read, a footer may take some megabytes for the candidates for cuts.
const footersAtOnce = 8

// OpenRuns opens runs of WriteRun, each of which holds some of the entries, as one sort into the same regions. If a run
// is missing or has changed, it returns a *RunError. Closing the result leaves the runs as they are.
func OpenRuns(regions *Regions, files []StoredFile) (*Sorted, error) {
	if len(files) > MaxRuns {
		return nil, fmt.Errorf("merge %d sorted runs: at most %d can be open at once", len(files), MaxRuns)
	}
	s := &Sorted{regions: regions, shared: true, runs: make([]*spilledRun, len(files))}
	group, running := errgroup.WithContext(context.Background())
	group.SetLimit(footersAtOnce)
	for i, f := range files {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			r, t, err := openPersistent(f.Store, f.RunFile, regions.Len(), f.Keep)
			if err != nil {
				at := f.Store.Path(f.Name)
				return &RunError{at, fmt.Errorf("%w: %s: %w", ErrStaleRuns, at, err)}
			}
			s.addShared(i, r, t)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		for _, r := range s.runs {
			if r != nil {
				_ = r.close() // it was only read
			}
		}
		return nil, err
	}
	s.sample.compact()
	return s, nil
}

// addShared adds the i-th run. The order in which runs are added does not matter.
func (s *Sorted) addShared(i int, r *spilledRun, t *runFooter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[i] = r
	s.sample.merge(t.sample())
	s.stats.Entries += r.entries
	s.stats.Bytes += t.Data
	s.stats.Runs++
	s.stats.SpilledBytes += r.size()
}

// RunError says that a run can't be used: it is missing, has changed, or can't be read.
type RunError struct {
	Path string // of the run, as its store names it
	err  error
}

// Error names the run.
func (e *RunError) Error() string { return e.err.Error() }

func (e *RunError) Unwrap() error { return e.err }

// ReaderMemory is how many bytes a reader of a region or slice needs for its buffers: two blocks of each run, and a
// stored one.
func (s *Sorted) ReaderMemory() int64 { return readerMemory(s.runs) }

// IndexMemory is how many bytes the descriptions of the runs need while the sort is open: the start of each region, and
// the sparse index.
func (s *Sorted) IndexMemory() (n int64) {
	for _, r := range s.runs {
		n += int64(8*cap(r.starts) + markMemory*cap(r.index.marks) + r.index.size)
	}
	return n
}

// markMemory is how many bytes a mark needs without its key: its fields, and two words by which the memory of its key
// is rounded up.
const markMemory = 8 + 24 + 16

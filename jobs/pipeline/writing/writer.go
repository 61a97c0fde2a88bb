package writing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// Config says what the files are made of, and where they are written.
type Config struct {
	Job         *jobfile.Job
	Target      *targets.Target
	Inputs      []ingest.SourceFile // by their ordinals
	RunID       string              // of the run that writes: it is in the files' names
	Destination hfiles.Destination
	Parallel    int // how many slices are merged at a time; 0: one for each core
	// Alone: slices are compared with what was merged, because the other slices of their regions are written elsewhere.
	// So a task fails, and is tried again, before its result counts.
	Alone     bool
	Log       *slog.Logger
	Failpoint options.Hook
	Watch     func(options.Progress) // gets the number of entries written
}

// SliceWriter writes slices of sorted rows as files with temporary names, and reads them back.
type SliceWriter struct {
	Config
	sorted  *partition.Sorted
	written *options.Meter // of entries
	merging chan struct{}  // one for each slice that is being merged, because merges use the memory of the sort

	guard  sync.Mutex // of report
	report WriteReport
}

// WriteReport says what one SliceWriter, or several, have done.
type WriteReport struct {
	Samples  []DuplicateSample
	Times    timing.WriteTimes
	ReadBack int64 // bytes of files, including those of slices that were discarded
}

// NewWriter returns a writer of sorted entries.
func NewWriter(c Config, sorted *partition.Sorted) *SliceWriter {
	if c.Parallel == 0 {
		c.Parallel = parallel.Workers()
	}
	c.Destination.Cores = make(hfilewriter.Cores, max(c.Parallel, parallel.Workers()))
	return &SliceWriter{Config: c, sorted: sorted,
		written: options.NewMeter(c.Watch, "write", sorted.Stats().Entries, false),
		merging: make(chan struct{}, c.Parallel)}
}

// Report returns what was done so far.
func (w *SliceWriter) Report() WriteReport {
	w.guard.Lock()
	defer w.guard.Unlock()
	return w.report
}

// Each writes slices in parallel, and passes each finished one to accept, which may be called by several goroutines at
// once.
func (w *SliceWriter) Each(ctx context.Context, units []sorting.SliceWork, accept func(*Finished) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(w.Parallel + 1) // one slice may wait for the disk, or read its files back, while the others merge
	for _, u := range units {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			f, err := w.write(running, u)
			if err != nil {
				return err
			}
			return accept(f)
		})
	}
	return group.Wait()
}

// write writes one slice: its files are written and read back; after an error none of them exists. If a DataNode fails
// before that, the slice is written again.
func (w *SliceWriter) write(ctx context.Context, u sorting.SliceWork) (f *Finished, err error) {
	var r *sliceWriter
	err = storage.Rewrite(ctx, func() error {
		r = &sliceWriter{writer: w, unit: u, open: make([]*hfiles.TempFile, len(w.Target.Families)),
			sequence: make([]int, len(w.Target.Families)), values: make([]values.Value, len(w.Target.Layout.Sources))}
		var err error
		if f, err = r.run(ctx); err != nil {
			return errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		}
		return nil
	}, func(err error) {
		w.Log.Warn(fmt.Sprintf("writing slice %d of region %d again: %v", u.Number, u.Region, err), "region", u.Region)
		w.written.Add(-r.counted)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// add adds what this writer, or one in another process, has done.
func (w *SliceWriter) add(r WriteReport) {
	w.guard.Lock()
	defer w.guard.Unlock()
	all := &w.report
	all.Samples = append(all.Samples, r.Samples[:min(len(r.Samples), maxSamples-len(all.Samples))]...)
	all.Times.Add(&r.Times)
	all.ReadBack += r.ReadBack
}

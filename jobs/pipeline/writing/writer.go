package writing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

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

// Writer writes slices of sorted rows as files with temporary names, and reads them back.
type Writer struct {
	Job         *jobfile.Job
	Target      *targets.Target
	Inputs      []ingest.File // by their ordinals
	Destination hfiles.Destination
	RunID       string // of the run that writes: it is in the files' names
	Log         *slog.Logger
	Failpoint   options.Hook
	Parallel    int // how many slices are merged at a time; 0: one for each core

	sorted  *partition.Sorted
	writes  *options.Meter // of entries
	Checks  *options.Meter // of bytes read back
	merging chan struct{}  // one for each slice that is being merged: merges use the memory of the sort

	guard   sync.Mutex // of what follows
	Samples []DuplicateSample
	Times   timing.WriteTimes
}

// NewWriter completes a writer of sorted entries. watch gets the number of entries written.
func NewWriter(w *Writer, sorted *partition.Sorted, watch func(options.Progress)) *Writer {
	w.sorted = sorted
	w.writes = options.NewMeter(watch, "write", sorted.Stats().Entries, false)
	w.Checks = options.NewMeter(nil, "", 0, true)
	if w.Parallel == 0 {
		w.Parallel = parallel.Workers()
	}
	w.merging = make(chan struct{}, w.Parallel)
	return w
}

// Each writes slices in parallel, and passes each finished one to accept, which may be called by several goroutines at
// once.
func (w *Writer) Each(ctx context.Context, units []sorting.SliceTask, accept func(*Finished) error) error {
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

// write writes one slice: its files are written, read back and compared with what was merged, or none of them exists.
// If a DataNode fails before that, the slice is written again.
func (w *Writer) write(ctx context.Context, u sorting.SliceTask) (f *Finished, err error) {
	var r *sliceWriter
	err = storage.Rewrite(ctx, func() error {
		r = &sliceWriter{writer: w, unit: u, open: make([]*hfiles.File, len(w.Target.Families)),
			sequence: make([]int, len(w.Target.Families)), values: make([]values.Value, len(w.Target.Layout.Sources))}
		var err error
		if f, err = r.run(ctx); err != nil {
			return errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		}
		return nil
	}, func(err error) {
		w.Log.Warn(fmt.Sprintf("writing slice %d of region %d again: %v", u.Number, u.Region, err), "region", u.Region)
		w.writes.Add(-r.counted)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (w *Writer) addTimes(t *timing.WriteTimes) {
	w.guard.Lock()
	defer w.guard.Unlock()
	w.Times.Add(t)
}

package writing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/internal/pause"
	"bulkload/internal/storage"
	"bulkload/jobs/existing"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/progress"
	"bulkload/jobs/sorting"
	"bulkload/jobs/target"
	"bulkload/jobs/timing"
	"bulkload/partition"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// Writer writes slices of sorted rows as files with temporary names, and reads them back.
type Writer struct {
	Job         *jobfile.Job
	Target      *target.Target
	Inputs      []ingest.File // by their ordinals
	Destination hfile.Destination
	RunID       string // of the run that writes: it is in the files' names
	// LeftOut opens the keys of a region's rows that are not written, since the table has them; nil: all rows are.
	LeftOut   func(region int) (*existing.Keys, error)
	Log       *slog.Logger
	Failpoint failpoint.Hook
	Parallel  int // how many slices are merged at a time; 0: one for each core

	sorted  *partition.Sorted
	writes  *progress.Meter // of entries
	Checks  *progress.Meter // of bytes read back
	merging chan struct{}   // one for each slice that is being merged: merges use the memory of the sort

	guard   sync.Mutex // of what follows
	Samples []DuplicateSample
	Times   timing.WriteTimes
}

// NewWriter completes a writer of sorted entries. watch gets the number of entries written.
func NewWriter(w *Writer, sorted *partition.Sorted, watch func(progress.Progress)) *Writer {
	w.sorted = sorted
	w.writes = progress.NewMeter(watch, "write", sorted.Stats().Entries, false)
	w.Checks = progress.NewMeter(nil, "", 0, true)
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

// maxTries is how often a slice is written if DataNodes fail. Those that failed get no new block (internal/storage): a
// slice needs several tries only if DataNodes fail one after the other, or all are gone for some minutes.
const maxTries = 12

// The pauses between two tries of a slice.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// write writes one slice: its files are written, read back and compared with what was merged, or none of them exists.
// If a DataNode fails before that, the slice is written again: a file of HDFS ends with the first DataNode that fails.
func (w *Writer) write(ctx context.Context, u sorting.SliceTask) (*Finished, error) {
	wait := firstPause
	for try := 1; ; try++ {
		r := &sliceWriter{writer: w, unit: u, open: make([]*hfile.File, len(w.Target.Families)),
			sequence: make([]int, len(w.Target.Families)), values: make([]values.Value, len(w.Target.Layout.Sources))}
		f, err := r.run(ctx)
		if err == nil {
			return f, nil
		}
		err = errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		if !errors.Is(err, storage.ErrDataNode) || try == maxTries || ctx.Err() != nil {
			return nil, err
		}
		w.Log.Warn(fmt.Sprintf("writing slice %d of region %d again: %v", u.Number, u.Region, err), "region", u.Region)
		w.writes.Add(-r.counted)
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
		wait = min(2*wait, lastPause)
	}
}

func (w *Writer) addTimes(t *timing.WriteTimes) {
	w.guard.Lock()
	defer w.guard.Unlock()
	w.Times.Add(t)
}

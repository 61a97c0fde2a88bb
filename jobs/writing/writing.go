// Package writing is the stage from sorted rows to verified files. It merges, keeps one record of each row, writes a
// slice's files, reads them back and compares them with what was sorted. It knows neither the run nor the owner of
// the records that it fills.
package writing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/pause"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/existing"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/progress"
	"bulkload/jobs/sorting"
	"bulkload/jobs/target"
	"bulkload/jobs/timing"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// Stage is the stage from sorted rows to verified files.
type Stage struct {
	Job         *jobfile.Job
	Target      *target.Target
	Rows        *sorting.Rows
	Inputs      []ingest.File // by their ordinals
	Destination hfile.Destination
	RunID       string // of the run that writes: it is in the files' names
	Records     Records
	// LeftOut opens the keys of a region's rows that are not written, since the table has them; nil: all rows are.
	LeftOut   func(region int) (*existing.Keys, error)
	Log       *slog.Logger
	Failpoint failpoint.Hook
	writes    *progress.Meter // of entries
	Checks    *progress.Meter // of bytes read back

	merging chan struct{} // one for each slice that is being merged: merges use the memory of the sort

	mu      sync.Mutex // guards what follows, and the records
	Samples []DuplicateSample
	sums    []digest.Sum // of each region's verified slices and their dropped duplicates
	left    []int        // slices of each region that are not verified yet

	unbalanced map[int]bool // regions whose content is not what was sorted, and which are not recorded
	Times      timing.WriteTimes
}

// Records stores the finished slices of a run durably. The stage makes one call at a time.
type Records interface {
	// All returns the finished slices.
	All() []manifest.Slice
	// Done returns a finished slice; nil if it is not finished.
	Done(region, slice int) *manifest.Slice
	// Add records a finished slice, now or together with some of the next ones.
	Add(r manifest.Slice) error
	// Flush records what was added. It is called when no slice is written any more, after an error too.
	Flush() error
	// Forget removes the slices of regions and deletes their files, so that they are written again.
	Forget(regions []int) error
	// Served is the record of an equal file that the table already serves; nil if there is none.
	Served(f *hfile.Summary) *hfile.Summary
}

// New makes the stage for one output. watch gets the number of entries written.
func New(w *Stage, watch func(progress.Progress)) *Stage {
	regions := w.Target.Regions.Len()
	w.sums, w.left, w.unbalanced = make([]digest.Sum, regions), make([]int, regions), map[int]bool{}
	w.writes = progress.NewMeter(watch, "write", w.Rows.Sorted.Stats().Entries, false)
	w.Checks = progress.NewMeter(nil, "", 0, true)
	return w
}

// Run writes the slices that the manifest lacks, in parallel.
func (w *Stage) Run(ctx context.Context) error {
	units, err := w.unfinished()
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers() + 1) // one slice may wait for the disk, or read its files back, while the others merge
	w.merging = make(chan struct{}, parallel.Workers())
	for _, u := range units {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return w.writeSlice(running, u) })
	}
	err = group.Wait()
	return cmp.Or(errors.Join(err, w.Records.Flush()), ctx.Err())
}

// unfinished lists the slices that the manifest lacks. Recorded slices must still begin at the same row and have the
// same content as they would get now. A region where that is not so is written again: slices with other boundaries
// can't be mixed.
func (w *Stage) unfinished() ([]sorting.SliceTask, error) {
	units := w.Rows.SliceTasks(w.Job, w.Target)
	if err := w.forgetUnbalanced(units); err != nil {
		return nil, err
	}
	done := w.Records.All()
	known := len(done)
	missing := slices.DeleteFunc(units, func(u sorting.SliceTask) bool {
		if done := w.Records.Done(u.Region, u.Number); done != nil && done.Start == printable.Bytes(u.Start) {
			known--
			return true
		}
		w.left[u.Region]++
		return false
	})
	if known > 0 {
		return nil, errcode.SliceRows.Errorf("%d of the slices written begin at other rows than they would now, with the same input files; use --force to write all files again", known)
	}
	w.sums = manifest.RegionSums(done, len(w.sums))
	w.writes.Add(0) // the stage begins
	for i := range done {
		w.writes.Add(done[i].Entries)
	}
	return missing, nil
}

// forgetUnbalanced removes, in one step, the regions whose slices are all recorded but are not what was sorted now.
func (w *Stage) forgetUnbalanced(units []sorting.SliceTask) error {
	missing := make([]int, len(w.sums))
	for _, u := range units {
		if w.Records.Done(u.Region, u.Number) == nil {
			missing[u.Region]++
		}
	}
	sums := manifest.RegionSums(w.Records.All(), len(w.sums))
	var forgotten []int
	for region, n := range missing {
		if n > 0 {
			continue
		}
		if err := BalanceRegion(w.Rows, region, sums[region]); err != nil {
			w.Log.Warn(fmt.Sprintf("writing region %d again: %v", region, err), "region", region)
			forgotten = append(forgotten, region)
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	return w.Records.Forget(forgotten)
}

// maxTries is how often a slice is written if DataNodes fail: the pauses and their timeouts last until a NameNode regards a
// DataNode as dead.
const maxTries = 12

// The pauses between two tries of a slice.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// writeSlice handles one slice: its files are written, read back, compared with what was sorted, renamed and recorded, or none
// of them exists. If a DataNode fails before that, the slice is written again: a file of HDFS ends with the first DataNode that
// fails.
func (w *Stage) writeSlice(ctx context.Context, u sorting.SliceTask) error {
	wait := firstPause
	for try := 1; ; try++ {
		r := &sliceWriter{stage: w, unit: u, open: make([]*hfile.File, len(w.Target.Families)),
			sequence: make([]int, len(w.Target.Families)), values: make([]values.Value, len(w.Target.Layout.Sources))}
		err := r.run(ctx)
		if err == nil {
			return nil
		}
		err = errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		if r.judged || !errors.Is(err, storage.ErrDataNode) || try == maxTries || ctx.Err() != nil {
			return err
		}
		w.Log.Warn(fmt.Sprintf("writing slice %d of region %d again: %v", u.Number, u.Region, err), "region", u.Region)
		w.writes.Add(-r.counted)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastPause)
	}
}

// RemoveFiles deletes files that are not recorded.
func RemoveFiles(fsys storage.FS, dir string, files []hfile.Summary) error {
	var errs []error
	for _, f := range slices.Backward(files) { // the first one last: after a kill, the next run finds the rest by their names
		errs = append(errs, storage.RemoveIfThere(fsys, dir, f.Path))
	}
	return errors.Join(errs...)
}

// BalanceRegion compares a region's files, together with its dropped duplicates, with what was sorted.
func BalanceRegion(rows *sorting.Rows, region int, written digest.Sum) error {
	if sorted := rows.Regions[region].Digest; written != sorted {
		return errcode.Digest.Errorf("region %d: the files read back and the dropped duplicates have %d cells with digest %v, but %d with %v were sorted",
			region, written.Cells, written, sorted.Cells, sorted)
	}
	return nil
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/progress"
	"bulkload/jobs/timing"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// maxSamples bounds how many differing duplicates are shown.
const maxSamples = 10

// DuplicateSample shows a row key that came with differing columns.
type DuplicateSample struct {
	Row    string `json:"row"`
	Kept   Place  `json:"kept"`
	Lost   Place  `json:"lost"`
	region int
}

// Place is where a record stands in the input.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Rows   bool   `json:"rows,omitempty"` // Offset is the row's number from 0, as in Parquet
}

// writing is the stage from sorted rows to verified files.
type writing struct {
	*workplace
	rows   *sortedRows
	writes *progress.Meter
	checks *progress.Meter

	merging chan struct{} // holds one for each slice whose runs are being merged: that takes the memory of the sort

	mu      sync.Mutex // guards what follows, and the manifest
	samples []DuplicateSample
	sums    []digest.Sum // of a region's verified slices and their dropped duplicates
	left    []int        // slices of a region that are not verified yet

	unbalanced map[int]bool // regions that do not hold what was sorted, and are not recorded
	times      timing.WriteTimes
}

// writeSlices writes the slices that the manifest lacks, side by side.
func (w *writing) writeSlices(ctx context.Context) error {
	units, err := w.unfinished()
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers() + 1) // one slice waits for its files to be on the disk, or reads them back, beside those that merge
	w.merging = make(chan struct{}, parallel.Workers())
	for _, u := range units {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return w.writeSlice(running, u) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// unfinished lists the slices that the manifest lacks. Those that it has must still begin and hold what they would now. A
// region that does not is written again.
func (w *writing) unfinished() ([]unit, error) {
	units := w.rows.units(w.job, w.target)
	if err := w.forgetUnbalanced(units); err != nil {
		return nil, err
	}
	known := len(w.manifest.Slices)
	missing := slices.DeleteFunc(units, func(u unit) bool {
		if done := w.manifest.done(u.Region, u.number); done != nil && done.Start == printable.Bytes(u.start) {
			known--
			return true
		}
		w.left[u.Region]++
		return false
	})
	if known > 0 {
		return nil, failure.Differsf("%d of the slices written begin at other rows than they would now, with the same input files; use --force to write all files again", known)
	}
	for region := range w.sums {
		w.sums[region] = w.manifest.sum(region)
	}
	for i := range w.manifest.Slices {
		w.writes.Add(w.manifest.Slices[i].Entries)
	}
	return missing, nil
}

// forgetUnbalanced drops the regions whose slices are all recorded and do not hold what was sorted now.
func (w *writing) forgetUnbalanced(units []unit) error {
	missing := make([]int, len(w.sums))
	for _, u := range units {
		if w.manifest.done(u.Region, u.number) == nil {
			missing[u.Region]++
		}
	}
	for region, n := range missing {
		if n > 0 {
			continue
		}
		if err := w.balanceRegion(w.rows, region, w.manifest.sum(region)); err != nil {
			w.options.Sayf("writing region %d again: %v", region, err)
			if err := w.forget(region); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget takes the slices of a region out of the manifest and deletes their files, so that they are written again.
func (w *workplace) forget(region int) error {
	files := w.manifest.remove(region)
	if files == nil {
		return nil
	}
	if err := w.save(); err != nil {
		return err
	}
	return w.removeFiles(files)
}

// removeFiles deletes files that the manifest does not record.
func (w *workplace) removeFiles(files []FileSummary) error {
	var errs []error
	for _, f := range slices.Backward(files) { // the first last: a kill leaves what removeUnrecorded finds
		errs = append(errs, storage.RemoveIfThere(w.fsys, w.dir, f.Path))
	}
	return errors.Join(errs...)
}

// writeSlice is one unit of work: its files are written, read back, compared with what was sorted, renamed and recorded,
// or none of them is there.
func (w *writing) writeSlice(ctx context.Context, u unit) (err error) {
	r := &sliceWriter{writing: w, unit: u, open: make([]*hfile, len(w.target.families)),
		sequence: make([]int, len(w.target.families)), values: make([]values.Value, len(w.target.layout.sources))}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		}
	}()
	w.options.Failpoint.Reached(failpoint.Begun)
	w.merging <- struct{}{}
	begun := time.Now()
	err = r.writeRows(ctx)
	<-w.merging
	if err != nil {
		return err
	}
	if err := r.finishAll(); err != nil {
		return err
	}
	r.times.Total = time.Since(begun)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.options.Failpoint.Reached(failpoint.Verified)
	return r.commit()
}

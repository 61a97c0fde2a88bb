// Package writing is the stage from sorted rows to verified files. It merges, keeps one record of each row, writes a
// slice's files, reads them back and compares a region's with the sorted rows. It knows neither the run nor who
// stores the records that it makes.
package writing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
)

// Stage turns sorted rows into verified files: its writer writes the slices that are not recorded yet, and it accepts
// what was written, in this process or in a task.
type Stage struct {
	Rows    *sorting.Rows
	Records SliceStore

	writer    *SliceWriter  // does nothing if tasks write all slices
	mu        parallel.Lock // guards what follows, and the records
	sums      []digest.Sum  // of each region's verified slices and their dropped duplicates
	left      []int         // slices of each region that are not verified yet
	discarded map[int]bool  // regions whose slices must not be recorded any more, see judge
}

// SliceStore stores the finished slices of a run durably. The stage makes one call at a time.
type SliceStore interface {
	// All returns the finished slices.
	All() []manifest.RecordedSlice
	// Done returns a finished slice; nil if it is not finished.
	Done(region, slice int) *manifest.RecordedSlice
	// Add records a finished slice, now or together with some of the next ones.
	Add(r manifest.RecordedSlice) error
	// Flush records the added slices. It is called after the last slice, and after an error.
	Flush() error
	// Forget removes the slices of regions and deletes their files, so that they are written again.
	Forget(regions []int) error
	// Served returns the record of an equal file that the table already serves; nil if there is none.
	Served(f *hfiles.FileMeta) *hfiles.FileMeta
}

// New makes the stage for one output.
func New(c Config, rows *sorting.Rows, records SliceStore) *Stage {
	regions := c.Target.Regions.Len()
	return &Stage{Rows: rows, Records: records, writer: NewWriter(c, rows.Sorted), mu: parallel.NewLock(),
		sums: make([]digest.Sum, regions), left: make([]int, regions), discarded: map[int]bool{}}
}

// Run writes the slices that the manifest lacks, in parallel.
func (w *Stage) Run(ctx context.Context) error {
	units, err := w.Unfinished()
	if err != nil {
		return err
	}
	err = w.writer.Each(ctx, units, w.Accept)
	return cmp.Or(errors.Join(err, w.Records.Flush()), ctx.Err())
}

// Unfinished lists the slices that the manifest lacks, and begins the stage. A region whose slices are all recorded,
// but don't match the sorted rows, is written again. Recorded slices must begin at the same rows as they would now:
// slices with other boundaries can't be mixed, so they are an error with errcode.Digest.
func (w *Stage) Unfinished() ([]sorting.SliceWork, error) {
	units := w.Rows.SliceTasks(w.writer.Job, w.writer.Target)
	if err := w.forgetUnbalanced(units); err != nil {
		return nil, err
	}
	done := w.Records.All()
	known := len(done)
	missing := slices.DeleteFunc(units, func(u sorting.SliceWork) bool {
		if done := w.Records.Done(u.Region, u.Number); done != nil && done.Start == printable.Bytes(u.Start) {
			known--
			return true
		}
		w.left[u.Region]++
		return false
	})
	if known > 0 {
		return nil, errcode.Digest.Errorf("%d of the slices written begin at other rows than they would now, with the same "+
			"input files; use --force to write all files again", known)
	}
	w.sums = manifest.RegionSums(done, len(w.sums))
	w.writer.written.Add(0) // the stage begins
	for i := range done {
		w.writer.written.Add(done[i].Entries)
	}
	return missing, nil
}

// forgetUnbalanced removes, in one step, the regions whose slices are all recorded but don't match the rows as sorted
// now.
func (w *Stage) forgetUnbalanced(units []sorting.SliceWork) error {
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
			w.writer.Log.Warn(fmt.Sprintf("writing region %d again: %v", region, err), "region", region)
			forgotten = append(forgotten, region)
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	return w.Records.Forget(forgotten)
}

// RemoveFiles deletes files that are not recorded.
func RemoveFiles(fsys storage.FS, dir string, files []hfiles.FileMeta) error {
	var errs []error
	// The first one is deleted last, so that after a kill the next run finds the rest by their names.
	for _, f := range slices.Backward(files) {
		errs = append(errs, storage.RemoveIfThere(fsys, dir, f.Path))
	}
	return errors.Join(errs...)
}

// BalanceRegion compares a region's files and dropped duplicates, together, with its sorted rows.
func BalanceRegion(rows *sorting.Rows, region int, written digest.Sum) error {
	if sorted := rows.Regions[region].Digest; written != sorted {
		return errcode.Digest.Errorf("region %d: the files read back and the dropped duplicates have %d cells with digest "+
			"%v, but %d with %v were sorted",
			region, written.Cells, written, sorted.Cells, sorted)
	}
	return nil
}

package writing

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
)

// Finished is a slice that was written and read back. Its files keep temporary names until it is accepted.
type Finished struct {
	Record manifest.RecordedSlice
	Temps  []string // the names of its files, in the order of Record.Files
}

// Accept gives the files of a slice, which Unfinished must have listed, their names, and records it. After an error it
// deletes the temporary files; the next run deletes those that already have their names. The last slice of a region is
// accepted only if the region's slices add up to its sorted rows.
func (w *Stage) Accept(f *Finished) error {
	err := w.judge(f)
	if err == nil {
		err = w.commit(f)
	}
	if err == nil {
		return nil
	}
	errs := []error{fmt.Errorf("region %d: %w", f.Record.Region, err)}
	for _, name := range f.Temps {
		errs = append(errs, storage.RemoveIfThere(w.writer.Destination.FS, name))
	}
	return errors.Join(errs...)
}

// AddReport adds another process's report about the slices that it has written.
func (w *Stage) AddReport(r WriteReport) { w.writer.add(r) }

// Report returns what this process and others have done so far.
func (w *Stage) Report() WriteReport { return w.writer.Report() }

// judge adds a slice to its region's sum. If it is the last one, the sum must be that of the region's sorted rows.
// Otherwise that region is discarded, and so are those that are unfinished. It holds the lock throughout, because the
// sum and its comparison belong together.
func (w *Stage) judge(f *Finished) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	region := f.Record.Region
	sum := &w.sums[region]
	sum.Add(f.Record.Digest)
	sum.Add(f.Record.Dropped)
	if w.left[region]--; w.left[region] > 0 {
		return nil
	}
	err := BalanceRegion(w.Rows, region, *sum)
	if err == nil {
		return nil
	}
	// What went wrong with one region may have gone wrong with others, whose slices can't be compared yet.
	w.discarded[region] = true
	for other, left := range w.left {
		if left > 0 {
			w.discarded[other] = true
		}
	}
	return fmt.Errorf("%w: this region and all unfinished ones were discarded, and the same command writes them again",
		errors.Join(err, w.Records.Forget(slices.Sorted(maps.Keys(w.discarded)))))
}

// commit gives the files their names and then records the slice. A kill in between leaves files that are named but not
// recorded: the next run deletes them by their names (removeUnrecorded in package output) and writes the slice again.
func (w *Stage) commit(f *Finished) error {
	record := f.Record
	record.Files = nil
	for i := range f.Record.Files {
		file, err := w.publish(&f.Record.Files[i], f.Temps[i])
		if err != nil {
			return err
		}
		record.Files = append(record.Files, *file)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.discarded[record.Region] { // another slice found this while this slice's files were renamed
		return errors.Join(errcode.Digest.Errorf(
			"region %d was discarded, because a region is not what was sorted; the same command writes it again",
			record.Region),
			RemoveFiles(w.writer.Destination.FS, w.writer.Destination.Dir, record.Files))
	}
	if err := w.Records.Add(record); err != nil {
		return err
	}
	w.writer.Failpoint.Reached(options.Recorded)
	for _, f := range record.Files {
		w.writer.Log.Debug("file written", "region", f.Region, "file", f.Path,
			"rows", f.Rows, "cells", f.Cells, "bytes", f.Bytes)
	}
	return nil
}

// publish gives a file its name, and returns its record. If the table already serves an equal file, publish deletes the
// new file and returns the record of the other.
func (w *Stage) publish(f *hfiles.FileMeta, temp string) (*hfiles.FileMeta, error) {
	fsys := w.writer.Destination.FS
	if kept := w.loadedFile(f); kept != nil {
		return kept, storage.RemoveIfThere(fsys, temp)
	}
	if err := fsys.MkdirAll(path.Join(w.writer.Destination.Dir, f.Family), storage.DirPerm); err != nil {
		return nil, fmt.Errorf("make the family's folder: %w", err)
	}
	// Only this run uses the name, so a file that has it was written but not recorded, and has the same content.
	if err := fsys.Replace(temp, path.Join(w.writer.Destination.Dir, f.Path)); err != nil {
		return nil, fmt.Errorf("move a finished file: %w", err)
	}
	w.writer.Failpoint.Reached(options.Renamed)
	return f, nil
}

// loadedFile returns the record of an equal file that the table already serves; nil if there is none.
func (w *Stage) loadedFile(f *hfiles.FileMeta) *hfiles.FileMeta {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Records.Served(f)
}

package writing

import (
	"errors"
	"fmt"
	"path"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
)

// Finished is a slice that was written and read back. Its files have temporary names until it is accepted.
type Finished struct {
	Record manifest.RecordedSlice
	Temps  []string // the names of its files, in the order of Record.Files
}

// Accept gives the files of a slice their names, and records it. The slice is one that Unfinished has listed. After an
// error its temporary files are deleted; the next run deletes those that already have their names. The last slice of a
// region is accepted only if the region is what was sorted.
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

// AddReport adds what another process reports about the slices that it has written.
func (w *Stage) AddReport(r WriteReport) { w.writer.add(r) }

// Report is what was done so far, here and elsewhere.
func (w *Stage) Report() WriteReport { return w.writer.Report() }

// judge adds a slice to its region's sum. If it is the last one, the region must be what was sorted. One slice is
// judged at a time: the record and the check of the region's balance belong together.
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
	if err := BalanceRegion(w.Rows, region, *sum); err != nil {
		w.unbalanced[region] = true
		return fmt.Errorf("%w: the region was discarded, and the same command writes it again",
			errors.Join(err, w.Records.Forget([]int{region})))
	}
	return nil
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
	if w.unbalanced[record.Region] { // its last slice found that while this one was renaming its files
		return errors.Join(errcode.Digest.Errorf(
			"region %d is not what was sorted: it was discarded, and the same command writes it again", record.Region),
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

// publish gives a file its name, and returns its record. If the table already serves an equal file, that one's record
// is returned, and the new file is deleted.
func (w *Stage) publish(f *hfiles.FileMeta, temp string) (*hfiles.FileMeta, error) {
	fsys := w.writer.Destination.FS
	if kept := w.loadedFile(f); kept != nil {
		return kept, storage.RemoveIfThere(fsys, temp)
	}
	if err := fsys.MkdirAll(path.Join(w.writer.Destination.Dir, f.Family), storage.DirPerm); err != nil {
		return nil, fmt.Errorf("make the family's folder: %w", err)
	}
	// The name is this run's alone: a file that has it was not recorded, and has the same content.
	if err := fsys.Replace(temp, path.Join(w.writer.Destination.Dir, f.Path)); err != nil {
		return nil, fmt.Errorf("move a finished file: %w", err)
	}
	w.writer.Failpoint.Reached(options.Renamed)
	return f, nil
}

// loadedFile is the record of an equal file that the table already serves.
func (w *Stage) loadedFile(f *hfiles.FileMeta) *hfiles.FileMeta {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Records.Served(f)
}

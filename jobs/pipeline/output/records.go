package output

import (
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/writing"
)

// records stores the finished slices in the manifest. It saves after every slice at first. The manifest grows with
// them, so of more than savedOneByOne it is saved whenever so many have come that the time it takes stays in proportion
// to the slices: a kill costs the 64th part of what was written, at most. A slice without files costs nothing to write
// again.
type records struct {
	out     *Output
	added   []manifest.RecordedSlice // and not in the manifest yet
	written int                      // of them, slices with files
}

const savedOneByOne = 64

// Records are the finished slices of this run, for the write stage.
func (w *Output) Records() writing.SliceStore { return &records{out: w} }

func (r *records) All() []manifest.RecordedSlice { return r.out.Manifest.Slices }

func (r *records) Done(region, slice int) *manifest.RecordedSlice {
	return r.out.Manifest.Done(region, slice)
}

func (r *records) Add(record manifest.RecordedSlice) error {
	r.added = append(r.added, record)
	all := len(r.out.Manifest.Slices) + len(r.added)
	if len(record.Files) > 0 || all <= savedOneByOne {
		r.written++
	}
	if r.written*savedOneByOne < all {
		return nil
	}
	return r.Flush()
}

func (r *records) Flush() error {
	if len(r.added) == 0 {
		return nil
	}
	r.take()
	return r.out.Save()
}

// take moves what was added into the manifest.
func (r *records) take() {
	r.out.Manifest.Add(r.added...)
	r.added, r.written = nil, 0
}

// Forget removes the slices from the manifest and then deletes their files: after a kill in between, the next run
// deletes them, since no record names them.
func (r *records) Forget(regions []int) error {
	r.take()
	files := r.out.Manifest.Remove(regions)
	if files == nil {
		return nil
	}
	if err := r.out.Save(); err != nil {
		return err
	}
	return writing.RemoveFiles(r.out.FS, r.out.Path, files)
}

func (r *records) Served(f *hfiles.FileMeta) *hfiles.FileMeta { return r.out.Manifest.LoadedTwin(f) }

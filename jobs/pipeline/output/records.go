package output

import (
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/writing"
)

// records stores the finished slices in the manifest. At first it saves the manifest after every slice. Because the
// manifest grows with the slices, after savedOneByOne of them it waits until the new ones are 1/64 of all. So the time
// for saving stays in proportion to their number, and a kill costs 1/64 of the slices at most. Slices without files
// don't count then, because writing them again costs nothing.
type records struct {
	out     *Output
	added   []manifest.RecordedSlice // slices that are not in the manifest yet
	written int                      // how many of them count: see records
}

const savedOneByOne = 64

// Records returns the store of this run's finished slices, for the write stage.
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

// take moves the added slices into the manifest.
func (r *records) take() {
	r.out.Manifest.Add(r.added...)
	r.added, r.written = nil, 0
}

// Forget removes the slices from the manifest before it deletes their files. After a kill in between, the next run
// deletes them, because no record names them.
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

package output

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/books"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
)

// Counts are the counts of the records that were read.
func (w *Dir) Counts(rows *sorting.Rows) books.Books {
	return books.Books{Read: rows.Read, Rejected: rows.Rejected, Filtered: rows.Filtered, Skipped: rows.Skipped, Columns: len(w.Job.CellColumns())}
}

// Balance checks that every row and cell is accounted for, before anything is loaded: read = written + rejected +
// duplicates + filtered.
func (w *Dir) Balance(rows *sorting.Rows) error {
	m := w.Manifest
	m.Books = w.Counts(rows)
	if err := recordContents(w.Manifest, rows); err != nil {
		return err
	}
	m.Digest.Cells, m.Digest.Timed, m.Digest.Timeless = 0, 0, 0
	for _, r := range m.Slices {
		m.Books.Add(r.Books)
		m.Digest.Add(r.Digest)
	}
	for region, sum := range manifest.RegionSums(m.Slices, len(rows.Regions)) {
		if err := writing.BalanceRegion(rows, region, sum); err != nil {
			return err
		}
	}
	if m.Digest.Cells != m.Books.CellsWritten {
		return errcode.Books.Errorf("the counts do not add up: %d cells written, %d read back", m.Books.CellsWritten, m.Digest.Cells)
	}
	return m.Books.Check()
}

// recordContents records what the input files contain. It must add up to what was sorted.
func recordContents(m *manifest.Manifest, rows *sorting.Rows) error {
	var sum, sorted digest.Sum
	for _, c := range rows.Files {
		sum.Add(c.Digest)
	}
	for i := range rows.Regions {
		sorted.Add(rows.Regions[i].Digest)
	}
	if sum != sorted {
		return errcode.Digest.Errorf("the input files hold %d cells with digest %v, but %d with %v were sorted", sum.Cells, sum, sorted.Cells, sorted)
	}
	inputs := slices.Clone(m.Inputs)
	for i := range inputs {
		inputs[i].Content = rows.Files.Of(i)
	}
	m.Inputs = inputs
	return nil
}

// Succeed marks the output as complete.
func (w *Dir) Succeed() error {
	w.Manifest.State = manifest.Written
	w.Manifest.Finished = time.Now().UTC().Truncate(time.Second)
	if err := w.Save(); err != nil {
		return err
	}
	w.Options.Failpoint.Reached(options.Written)
	return w.MarkSuccess()
}

// MarkSuccess writes _SUCCESS if it is missing: a run may have been killed between the finished manifest and this.
func (w *Dir) MarkSuccess() error {
	name := path.Join(w.Path, ingest.SuccessName)
	if _, err := w.FS.Stat(name); err == nil {
		return nil
	}
	temps, err := w.TempFolder()
	var text []byte
	if err == nil {
		text, err = json.Marshal(w.Manifest.Run)
	}
	if err == nil {
		err = storage.ReplaceFile(w.FS, name, path.Join(temps, ingest.SuccessName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", ingest.SuccessName, err)
	}
	return nil
}

// records stores the finished slices in the manifest. It it saves with each slice while they are few. The manifest grows
// with them, so of more than savedOneByOne it is saved whenever so many have come that the time it takes stays in proportion to
// the slices: a kill costs the 64th part of what was written, at most. A slice without files costs nothing to write again.
type records struct {
	dir     *Dir
	added   []manifest.Slice // and not in the manifest yet
	written int              // of them, slices with files
}

const savedOneByOne = 64

func (r *records) All() []manifest.Slice { return r.dir.Manifest.Slices }

func (r *records) Done(region, slice int) *manifest.Slice {
	return r.dir.Manifest.Done(region, slice)
}

func (r *records) Add(record manifest.Slice) error {
	r.added = append(r.added, record)
	all := len(r.dir.Manifest.Slices) + len(r.added)
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
	return r.dir.Save()
}

// take moves what was added into the manifest.
func (r *records) take() {
	r.dir.Manifest.Add(r.added...)
	r.added, r.written = nil, 0
}

func (r *records) Forget(regions []int) error {
	r.take()
	return r.dir.forget(regions)
}

func (r *records) Served(f *hfiles.Summary) *hfiles.Summary { return r.dir.Manifest.LoadedTwin(f) }

// Records are the finished slices of this run, for the write stage.
func (w *Dir) Records() writing.Records { return &records{dir: w} }

package output

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/sorting"
	"bulkload/jobs/source"
	"bulkload/jobs/writing"
)

// Balance checks that every row and cell is accounted for, before anything is loaded: read = written + rejected +
// duplicates + filtered.
func (w *Dir) Balance(rows *sorting.Rows) error {
	m := w.Manifest
	m.Books = books.Books{Read: rows.Read, Rejected: rows.Rejected, Filtered: rows.Filtered, Columns: len(w.Job.CellColumns())}
	if err := w.recordContents(rows); err != nil {
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
		return failure.Differsf("the books do not balance: %d cells written, %d read back", m.Books.CellsWritten, m.Digest.Cells)
	}
	return m.Books.Check()
}

// recordContents records what the input files contain. It must add up to what was sorted.
func (w *Dir) recordContents(rows *sorting.Rows) error {
	var sum, sorted digest.Sum
	for _, c := range rows.Files {
		sum.Add(c.Digest)
	}
	for i := range rows.Regions {
		sorted.Add(rows.Regions[i].Digest)
	}
	if sum != sorted {
		return failure.Differsf("the input files hold %d cells with digest %v, but %d with %v were sorted", sum.Cells, sum, sorted.Cells, sorted)
	}
	inputs := slices.Clone(w.Manifest.Inputs)
	for i := range inputs {
		inputs[i].Content = rows.Files.Of(i)
	}
	w.Manifest.Inputs = inputs
	return nil
}

// Succeed marks the output as complete.
func (w *Dir) Succeed() error {
	w.Manifest.State = manifest.Written
	w.Manifest.Finished = time.Now().UTC().Truncate(time.Second)
	if err := w.Save(); err != nil {
		return err
	}
	w.Options.Failpoint.Reached(failpoint.Written)
	return w.MarkSuccess()
}

// MarkSuccess writes _SUCCESS if it is missing: a run may have been killed between the finished manifest and this.
func (w *Dir) MarkSuccess() error {
	name := path.Join(w.Path, source.SuccessName)
	if _, err := w.FS.Stat(name); err == nil {
		return nil
	}
	temps, err := w.TempFolder()
	var text []byte
	if err == nil {
		text, err = json.Marshal(w.Manifest.Run)
	}
	if err == nil {
		err = storage.ReplaceFile(w.FS, name, path.Join(temps, source.SuccessName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", source.SuccessName, err)
	}
	return nil
}

// records stores the finished slices in the manifest, which it saves with each change.
type records struct{ dir *Dir }

func (r records) All() []manifest.Slice { return r.dir.Manifest.Slices }

func (r records) Done(region, slice int) *manifest.Slice {
	return r.dir.Manifest.Done(region, slice)
}

func (r records) Add(record manifest.Slice) error {
	r.dir.Manifest.Add(record)
	return r.dir.Save()
}

func (r records) Forget(region int) error { return r.dir.forget(region) }

func (r records) Served(f *hfile.Summary) *hfile.Summary { return r.dir.Manifest.LoadedTwin(f) }

// Records are the finished slices of this run, for the write stage.
func (w *Dir) Records() writing.Records { return records{w} }

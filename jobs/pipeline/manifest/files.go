package manifest

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/bytesize"
	"bulkload/internal/digest"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/load"
)

// Files are files of a run. They point into its manifest, so a mark on one of them is a mark in the manifest.
type Files []*hfiles.FileMeta

// Files lists all files of the run.
func (m *Manifest) Files() Files {
	var out Files
	for i := range m.Slices {
		for k := range m.Slices[i].Files {
			out = append(out, &m.Slices[i].Files[k])
		}
	}
	return out
}

// Unloaded lists the files that are not loaded, in the form for load.
func (m *Manifest) Unloaded(fsys storage.FS, dir string) ([]load.HFile, error) {
	return m.Files().which(false).Loadable(fsys, dir)
}

// NotLoaded lists the names of the files that the table does not have.
func (m *Manifest) NotLoaded() []string {
	var names []string
	for _, f := range m.Files().which(false) {
		names = append(names, f.Path)
	}
	return names
}

// Loaded returns the files that the table has.
func (all Files) Loaded() Files { return all.which(true) }

// which returns the files that are loaded, or those that are not.
func (all Files) which(loaded bool) (some Files) {
	for _, f := range all {
		if f.Loaded == loaded {
			some = append(some, f)
		}
	}
	return some
}

// Loadable converts the files of an output directory to the form for package load.
func (all Files) Loadable(fsys storage.FS, dir string) ([]load.HFile, error) {
	var out []load.HFile
	for _, f := range all {
		h, err := hfiles.Loadable(f.InLedger(fsys.URI(path.Join(dir, f.Path))))
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		out = append(out, h)
	}
	return out, nil
}

// Bytes returns the total size of the files.
func (all Files) Bytes() int64 {
	var n int64
	for _, f := range all {
		n += f.Bytes
	}
	return n
}

// Amount describes the number of the files and their size, for people.
func (all Files) Amount() string {
	return fmt.Sprintf("%d files of %s", len(all), bytesize.Format(all.Bytes()))
}

// Most returns the family and region with the most files of a finished run, and their number.
func (all Files) Most() (family string, region int, n int64) {
	type place struct {
		family string
		region int
	}
	counts := map[place]int64{}
	for _, f := range all {
		at := place{f.Family, f.Region}
		counts[at]++
		if counts[at] > n {
			family, region, n = f.Family, f.Region, counts[at]
		}
	}
	return family, region, n
}

// SetOpenings records, for the files that which selects, the openings of the regions that have their rows, as t shows
// them.
func (m *Manifest) SetOpenings(t *load.Table, which func(*hfiles.FileMeta) bool) error {
	for i := range m.Slices {
		r := &m.Slices[i]
		for k := range r.Files {
			f := &r.Files[k]
			if !which(f) {
				continue
			}
			h, err := f.Loadable()
			if err != nil {
				return fmt.Errorf("read the manifest: %w", err)
			}
			f.Opening, r.text = t.OpeningsOf(&h), nil
		}
	}
	return nil
}

// PrintableRange is a range of rows, in the notation of Printable.
type PrintableRange struct {
	First string `json:"first"`
	Last  string `json:"last"` // is in the range
}

// SetMissing records the ranges whose rows must all be read from the table before the load is done.
func (m *Manifest) SetMissing(ranges []load.RowRange) {
	m.Missing = nil
	for _, r := range ranges {
		m.Missing = append(m.Missing, PrintableRange{printable.Bytes(r.First), printable.Bytes(r.Last)})
	}
}

// MissingRows returns Missing in the form for load.
func (m *Manifest) MissingRows() (ranges []load.RowRange, err error) {
	for _, r := range m.Missing {
		first, failed := printable.Parse(r.First)
		last, failed2 := printable.Parse(r.Last)
		if err := errors.Join(failed, failed2); err != nil {
			return nil, fmt.Errorf("read the manifest: missing rows: %w", err)
		}
		ranges = append(ranges, load.RowRange{First: first, Last: last})
	}
	return ranges, nil
}

// ForgetLoaded removes files from LoadedBefore.
func (m *Manifest) ForgetLoaded(which func(*hfiles.FileMeta) bool) {
	m.LoadedBefore = slices.DeleteFunc(m.LoadedBefore, func(f hfiles.FileMeta) bool { return which(&f) })
	m.twins = twins{} // the index relies on the number of files, which may be the same again after another file is added
}

// LoadedTwin returns the record of an equal file that the table already serves; nil if there is none. A slice that is
// written again gives the same file.
//
// All three fields of twin must be equal. The path alone is not enough, because the files of a run have the same names
// whatever settings they are written with, and a file with other bytes was not loaded.
func (m *Manifest) LoadedTwin(f *hfiles.FileMeta) *hfiles.FileMeta {
	return m.twins.find(m.LoadedBefore, f)
}

// Rewrite records that a file is written again, if the load has begun. The last one of a name stays.
func (m *Manifest) Rewrite(f hfiles.FileMeta) {
	if m.Table == "" {
		return
	}
	if old := m.rewritten(f.Path); old != nil {
		*old = f // with the marks of a later load, or with other rows
		return
	}
	m.rewrites[f.Path] = len(m.Rewritten)
	m.Rewritten = append(m.Rewritten, f)
}

// rewritten returns the file of that name that is written again; nil if there is none.
func (m *Manifest) rewritten(name string) *hfiles.FileMeta {
	if m.rewrites == nil {
		m.rewrites = make(map[string]int, len(m.Rewritten))
		for i := range m.Rewritten {
			m.rewrites[m.Rewritten[i].Path] = i
		}
	}
	i, found := m.rewrites[name]
	if !found {
		return nil
	}
	return &m.Rewritten[i]
}

// ForgetRewritten forgets all files that were written again, because the table serves them.
func (m *Manifest) ForgetRewritten() { m.Rewritten, m.rewrites = nil, nil }

// twins finds equal files without a search.
type twins struct {
	index map[twin]int // for equal files, the first one's index
	files int          // how many files it covers
}

// find returns the equal one of all files; nil if there is none.
func (t *twins) find(all []hfiles.FileMeta, f *hfiles.FileMeta) *hfiles.FileMeta {
	t.update(all)
	i, found := t.index[twinOf(f)]
	if !found {
		return nil
	}
	return &all[i]
}

// update brings the index up to date. Files are only ever added at the end. Of equal files the first one stays.
func (t *twins) update(all []hfiles.FileMeta) {
	if t.index == nil {
		t.index = make(map[twin]int, len(all))
	}
	for ; t.files < len(all); t.files++ {
		key := twinOf(&all[t.files])
		if _, found := t.index[key]; !found {
			t.index[key] = t.files
		}
	}
}

// twin has the fields in which equal files agree; see LoadedTwin.
type twin struct {
	path   string
	bytes  int64
	digest digest.Sum
}

func twinOf(f *hfiles.FileMeta) twin { return twin{f.Path, f.Bytes, f.Digest} }

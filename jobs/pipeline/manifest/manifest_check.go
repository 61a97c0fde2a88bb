package manifest

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/printable"
	"bulkload/jobs/pipeline/hfiles"
)

// check refuses a manifest that no run writes: everything that uses a manifest relies on these rules. The error names
// the place.
func check(m *Manifest) error {
	if !slices.Contains([]string{Writing, Written, Loading, Loaded}, m.State) {
		return fmt.Errorf("its state is %q", m.State)
	}
	if m.Run.ID == "" || m.Run.Table == "" {
		return errors.New("it does not name its run and table")
	}
	for i, split := range m.Splits {
		if _, err := printable.Parse(split); err != nil {
			return fmt.Errorf("split %d: %w", i, err)
		}
	}
	for family := range m.Families {
		if err := hfiles.CheckFamily(family); err != nil {
			return err
		}
	}
	for i := range m.Slices {
		r := &m.Slices[i]
		if err := checkSlice(m, i); err != nil {
			return fmt.Errorf("slice %d of region %d, entry %d of the slices: %w", r.Slice, r.Region, i, err)
		}
	}
	for _, c := range m.Cuts {
		if family, name := path.Split(c.Of); hfiles.CheckFamily(path.Clean(family)) != nil || !hfiles.IsName(name) {
			return fmt.Errorf("a cut of %q, which is not a family and 32 hex digits", c.Of)
		}
		for i := range c.Parts {
			if err := c.Parts[i].Check(); err != nil {
				return fmt.Errorf("part %d of %s: %w", i, c.Of, err)
			}
		}
	}
	if err := m.Existing.check(); err != nil {
		return err
	}
	for i := range m.LoadedBefore {
		if err := m.LoadedBefore[i].Check(); err != nil {
			return fmt.Errorf("file %d of those that are kept: %w", i, err)
		}
	}
	for i := range m.Rewritten {
		if err := m.Rewritten[i].Check(); err != nil {
			return fmt.Errorf("file %d of those that are written again: %w", i, err)
		}
	}
	return nil
}

// checkSlice checks the i-th slice.
func checkSlice(m *Manifest, i int) error {
	r := &m.Slices[i]
	if r.Region < 0 || r.Region > len(m.Splits) || r.Slice < 0 {
		return fmt.Errorf("there are %d regions", len(m.Splits)+1)
	}
	if i > 0 && compareSlices(m.Slices[i-1], *r) >= 0 {
		return errors.New("the slices are not in order")
	}
	if _, err := printable.Parse(r.Start); err != nil {
		return fmt.Errorf("its first row: %w", err)
	}
	if b := r.Counts; min(b.Rows, b.Cells, b.Nulls, b.Duplicates, b.Differing, r.Entries) < 0 ||
		r.Entries != b.Rows+b.Duplicates {
		return fmt.Errorf("its counts are %+v of %d entries", b, r.Entries)
	}
	for k := range r.Files {
		if err := r.checkFile(&r.Files[k]); err != nil {
			return fmt.Errorf("file %d: %w", k, err)
		}
	}
	return nil
}

func (r *RecordedSlice) checkFile(f *hfiles.FileMeta) error {
	if err := f.Check(); err != nil {
		return err
	}
	if f.Region != r.Region || f.Slice != r.Slice {
		return fmt.Errorf("%s is of slice %d of region %d", f.Path, f.Slice, f.Region)
	}
	return nil
}

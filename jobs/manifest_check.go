package jobs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bulkload/internal/printable"
)

// check refuses a manifest that no run writes: all that is done with one relies on it. The error names the place.
func (m *manifest) check() error {
	if !slices.Contains([]string{stateWriting, stateWritten, stateLoading, stateLoaded}, m.State) {
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
		if err := checkFolder(family); err != nil {
			return err
		}
	}
	for i := range m.Slices {
		r := &m.Slices[i]
		if err := m.checkSlice(i); err != nil {
			return fmt.Errorf("slice %d of region %d, entry %d of the slices: %w", r.Slice, r.Region, i, err)
		}
	}
	for _, c := range m.Cuts {
		if family, name := path.Split(c.Of); checkFolder(path.Clean(family)) != nil || !isFileName(name) {
			return fmt.Errorf("a cut of %q, which is not a family and 32 hex digits", c.Of)
		}
		for i := range c.Parts {
			if err := c.Parts[i].check(); err != nil {
				return fmt.Errorf("part %d of %s: %w", i, c.Of, err)
			}
		}
	}
	for i := range m.Kept {
		if err := m.Kept[i].check(); err != nil {
			return fmt.Errorf("file %d of those that are kept: %w", i, err)
		}
	}
	return nil
}

// checkFolder wants the name of a family, which is that of a folder in the output.
func checkFolder(name string) error {
	if name == "" || hidden(name) || strings.Contains(name, "/") {
		return fmt.Errorf("%q is no name of a family", name)
	}
	return nil
}

// checkSlice checks the i-th slice.
func (m *manifest) checkSlice(i int) error {
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
	if b := r.Books; min(b.Rows, b.Cells, b.Nulls, b.Duplicates, b.Differing, r.Entries) < 0 || r.Entries != b.Rows+b.Duplicates {
		return fmt.Errorf("its books are %+v of %d entries", b, r.Entries)
	}
	for k := range r.Files {
		if err := r.checkFile(&r.Files[k]); err != nil {
			return fmt.Errorf("file %d: %w", k, err)
		}
	}
	return nil
}

func (r *sliceRecord) checkFile(f *FileSummary) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.Region != r.Region || f.Slice != r.Slice {
		return fmt.Errorf("%s is of slice %d of region %d", f.Path, f.Slice, f.Region)
	}
	return nil
}

func (f *FileSummary) check() error {
	if err := checkFolder(f.Family); err != nil {
		return err
	}
	if name := path.Base(f.Path); f.Path != path.Join(f.Family, name) || !isFileName(name) {
		return fmt.Errorf("its path %q is not the family and 32 hex digits", f.Path)
	}
	if f.Bytes <= 0 || f.Rows <= 0 || f.Cells <= 0 || f.Digest.Cells != f.Cells {
		return fmt.Errorf("%s has %d bytes, %d rows, %d cells and a digest of %d", f.Path, f.Bytes, f.Rows, f.Cells, f.Digest.Cells)
	}
	if _, err := f.hfile(); err != nil {
		return fmt.Errorf("the rows of %s: %w", f.Path, err)
	}
	return nil
}

// isFileName tells whether a name is one that fileName gives.
func isFileName(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

package hfiles

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/printable"
	"bulkload/jobs/env/ledger"
	"bulkload/load"
)

// KnownCell is a cell of a file as recorded in manifest and ledger; see load.Probe.
type KnownCell = ledger.KnownCell

// between is how many cells of a large file are recorded in addition to those of its first and last row. They lie at
// even distances, so that some are left if a later load supersedes others, and most parts of a region that was split
// have one. A file of less than largeFile bytes has none, because reading their blocks once more would cost a good part
// of reading the whole file.
const (
	between   = 4
	largeFile = 1 << 20
)

// PickProbes picks cells of a file of size bytes by which its region can prove that it serves the file: one each of the
// first row, the last row and some rows between them, in the order of the rows.
func PickProbes(r *hfilewriter.Reader, size int64) ([]KnownCell, error) {
	rows := [][]byte{r.FirstRow()}
	if size >= largeFile {
		inner, err := r.RowsBetween(between)
		if err != nil {
			return nil, err
		}
		rows = append(rows, inner...)
	}
	return probesOf(r, append(rows, r.LastRow()))
}

// probesOf picks a cell of each of the given rows, which are in order; equal rows count once. If no cell of a row can
// prove anything, it takes the next row that has such a cell.
func probesOf(r *hfilewriter.Reader, rows [][]byte) (probes []KnownCell, err error) {
	var first *KnownCell
	for _, row := range slices.CompactFunc(rows, bytes.Equal) {
		p, proves, err := provingCell(r, bytes.Clone(row))
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = p
		}
		if known := func(c KnownCell) bool { return c.Row == p.Row }; proves && !slices.ContainsFunc(probes, known) {
			probes = append(probes, *p)
		}
	}
	if probes == nil { // a file of delete markers
		probes = append(probes, *first)
	}
	return probes, nil
}

// maxSought is how many cells of a file are searched for one that can prove something.
const maxSought = 4096

// provingCell returns the first cell from a row on that readers of the file alone would see: the newest Put of its
// column, without a delete marker above it. A cell that the file itself hides would be gone after the next compaction.
// If there is no such cell nearby, it returns the row's first one, which proves nothing.
func provingCell(r *hfilewriter.Reader, row []byte) (first *KnownCell, proves bool, err error) {
	scan := r.Seek(row)
	var last cell.Cell // the cell before; its slices are copies
	deleted := false   // the row has a delete marker of the whole family
	for i := 0; i < maxSought && scan.Next(); i++ {
		c := scan.Cell()
		if first == nil {
			first = asProbe(c)
		}
		newRow := !bytes.Equal(c.Row, last.Row)
		if newRow {
			deleted = false
		}
		if c.Type != cell.Put {
			deleted = deleted || len(c.Qualifier) == 0 // also a marker of the column without a name, which does no harm
		} else if !deleted && (newRow || !bytes.Equal(c.Qualifier, last.Qualifier)) {
			return asProbe(c), true, nil
		}
		last = cell.Cell{Row: append(last.Row[:0], c.Row...), Qualifier: append(last.Qualifier[:0], c.Qualifier...)}
	}
	if err := scan.Err(); err != nil {
		return nil, false, fmt.Errorf("look for the row %s: %w", printable.Bytes(row), err)
	}
	if first == nil {
		return nil, false, fmt.Errorf("%w: the row %s of its index is not in it",
			hfilewriter.ErrCorrupt, printable.Bytes(row))
	}
	return first, false, nil
}

// asProbe returns a cell in its recorded form.
func asProbe(c *cell.Cell) *KnownCell {
	sum := load.SumValue(c.Value)
	return &KnownCell{Row: printable.Bytes(c.Row), Qualifier: printable.Bytes(c.Qualifier), Timestamp: c.Timestamp,
		Type: int(c.Type), Value: hex.EncodeToString(sum[:])}
}

// Probe converts a recorded cell to the form for the cluster.
func Probe(p *KnownCell) (load.Probe, error) {
	row, err1 := printable.Parse(p.Row)
	qualifier, err2 := printable.Parse(p.Qualifier)
	sum, err3 := hex.DecodeString(p.Value)
	if err3 == nil && len(sum) != len(load.ValueSum{}) {
		err3 = fmt.Errorf("%q is not a sum of a value", p.Value)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return load.Probe{}, err
	}
	return load.Probe{Row: row, Qualifier: qualifier, Timestamp: p.Timestamp, Type: byte(p.Type),
		Value: load.ValueSum(sum), Before: p.Before}, nil
}

// Loadable converts a recorded file to the form for package load, without its URI.
func (f *FileMeta) Loadable() (load.HFile, error) { return Loadable(f.InLedger("")) }

// InLedger returns what the ledger records of a file. uri is where it is, or was before HBase moved it.
func (f *FileMeta) InLedger(uri string) ledger.LoadedFile {
	return ledger.LoadedFile{URI: uri, Family: f.Family, FirstRow: f.FirstRow, LastRow: f.LastRow, Oldest: f.Oldest,
		Probes: f.Probes, Opening: f.Opening}
}

// Loadable converts a file of the ledger to the form for package load.
func Loadable(f ledger.LoadedFile) (load.HFile, error) {
	first, err1 := printable.Parse(f.FirstRow)
	last, err2 := printable.Parse(f.LastRow)
	if err := errors.Join(err1, err2); err != nil {
		return load.HFile{}, err
	}
	h := load.HFile{URI: f.URI, Family: f.Family, FirstRow: first, LastRow: last, Oldest: f.Oldest, Opening: f.Opening}
	for i := range f.Probes {
		p, err := Probe(&f.Probes[i])
		if err != nil {
			return h, err
		}
		h.Probes = append(h.Probes, p)
	}
	return h, nil
}

// Hidden reports whether HBase's loader skips a file or folder of this name.
func Hidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// IsName reports whether Name can return this name.
func IsName(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// Check refuses values that no run writes.
func (f *FileMeta) Check() error {
	if err := CheckFamily(f.Family); err != nil {
		return err
	}
	if name := path.Base(f.Path); f.Path != path.Join(f.Family, name) || !IsName(name) {
		return fmt.Errorf("its path %q is not the family and 32 hex digits", f.Path)
	}
	if f.Bytes <= 0 || f.Rows <= 0 || f.Cells <= 0 || f.Digest.Cells != f.Cells {
		return fmt.Errorf("%s has %d bytes, %d rows, %d cells and a digest of %d", f.Path, f.Bytes,
			f.Rows, f.Cells, f.Digest.Cells)
	}
	if _, err := f.Loadable(); err != nil {
		return fmt.Errorf("the rows of %s: %w", f.Path, err)
	}
	return nil
}

// CheckFamily checks that a family's name can name a folder in the output.
func CheckFamily(name string) error {
	if name == "" || Hidden(name) || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not the name of a family", name)
	}
	return nil
}

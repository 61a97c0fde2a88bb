package hfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"bulkload/hfilewriter"
	"bulkload/internal/printable"
	"bulkload/jobs/ledger"
	"bulkload/load"
)

// Cell is a cell of a file as recorded in manifest and ledger; see load.Probe.
type Cell = ledger.Cell

// PickProbes picks the first cell of a file's first row and the first cell of its last row.
func PickProbes(r *hfilewriter.Reader) ([]Cell, error) {
	rows := [][]byte{bytes.Clone(r.FirstRow()), bytes.Clone(r.LastRow())}
	if bytes.Equal(rows[0], rows[1]) {
		rows = rows[:1]
	}
	var probes []Cell
	for _, row := range rows {
		scan := r.Seek(row)
		if !scan.Next() {
			if err := scan.Err(); err != nil {
				return nil, fmt.Errorf("look for the row %s: %w", printable.Bytes(row), err)
			}
			return nil, fmt.Errorf("%w: the row %s of its index is not in it", hfilewriter.ErrCorrupt, printable.Bytes(row))
		}
		c := scan.Cell()
		sum := load.SumValue(c.Value)
		probes = append(probes, Cell{Row: printable.Bytes(c.Row), Qualifier: printable.Bytes(c.Qualifier), Timestamp: c.Timestamp, Type: int(c.Type),
			Value: hex.EncodeToString(sum[:])})
	}
	return probes, nil
}

// Probe is a recorded cell in the form for the cluster.
func Probe(p *Cell) (load.Probe, error) {
	row, err1 := printable.Parse(p.Row)
	qualifier, err2 := printable.Parse(p.Qualifier)
	sum, err3 := hex.DecodeString(p.Value)
	if err3 == nil && len(sum) != len(load.ValueSum{}) {
		err3 = fmt.Errorf("%q is not a sum of a value", p.Value)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return load.Probe{}, err
	}
	return load.Probe{Row: row, Qualifier: qualifier, Timestamp: p.Timestamp, Type: byte(p.Type), Value: load.ValueSum(sum)}, nil
}

// Loadable is a recorded file in the form for package load, without its URI. For one that an older bulkload recorded,
// any cell with its first and last row and their timestamps counts.
func (f *Summary) Loadable() (load.HFile, error) {
	first, err1 := printable.Parse(f.FirstRow)
	last, err2 := printable.Parse(f.LastRow)
	if err := errors.Join(err1, err2); err != nil {
		return load.HFile{}, err
	}
	h := load.HFile{Family: f.Family, FirstRow: first, LastRow: last, ServedBefore: f.ServedBefore}
	for i := range f.Probes {
		p, err := Probe(&f.Probes[i])
		if err != nil {
			return h, err
		}
		h.Probes = append(h.Probes, p)
	}
	if h.Probes == nil {
		h.Probes = []load.Probe{{Row: first, Timestamp: f.First, AnyCell: true}, {Row: last, Timestamp: f.Last, AnyCell: true}}
	}
	return h, nil
}

// Hidden reports whether HBase's loader skips a file or folder of this name.
func Hidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// IsName reports whether Name can return this name.
func IsName(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// Check refuses a summary that no run writes.
func (f *Summary) Check() error {
	if err := CheckFamily(f.Family); err != nil {
		return err
	}
	if name := path.Base(f.Path); f.Path != path.Join(f.Family, name) || !IsName(name) {
		return fmt.Errorf("its path %q is not the family and 32 hex digits", f.Path)
	}
	if f.Bytes <= 0 || f.Rows <= 0 || f.Cells <= 0 || f.Digest.Cells != f.Cells {
		return fmt.Errorf("%s has %d bytes, %d rows, %d cells and a digest of %d", f.Path, f.Bytes, f.Rows, f.Cells, f.Digest.Cells)
	}
	if _, err := f.Loadable(); err != nil {
		return fmt.Errorf("the rows of %s: %w", f.Path, err)
	}
	return nil
}

// CheckFamily checks that a family's name can be that of a folder in the output.
func CheckFamily(name string) error {
	if name == "" || Hidden(name) || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not the name of a family", name)
	}
	return nil
}

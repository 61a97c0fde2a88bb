package lookup

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// binaryCell is a cell whose values are stored in binary form.
type binaryCell struct {
	family, qualifier []byte
	kind              values.TypeKind
	reader            *values.ColumnParser
}

// binaryCells lists the job's cells in binary form.
func binaryCells(j *jobfile.Job) []binaryCell {
	var all []binaryCell
	for _, c := range j.CellColumns() {
		if c.Binary {
			reader, _ := values.NewReader(c.Type) // checked when the job file was read
			all = append(all, binaryCell{[]byte(c.Family), []byte(c.Qualifier), c.Type.Kind, reader})
		}
	}
	return all
}

// matches reports whether a cell is this one. In a wide table its qualifier only ends with that of columns_map.
func (b *binaryCell) matches(c *cell.Cell, wide bool) bool {
	if !bytes.Equal(c.Family, b.family) {
		return false
	}
	if wide {
		return bytes.HasSuffix(c.Qualifier, b.qualifier)
	}
	return bytes.Equal(c.Qualifier, b.qualifier)
}

// storedValue converts a query's value to the form in which the column's cells store it.
func storedValue(c *jobfile.Column, text []byte) ([]byte, error) {
	if !c.Binary {
		return text, nil
	}
	reader, err := values.NewReader(c.Type)
	if err != nil {
		return nil, err
	}
	stored, problem := reader.AppendBinary(nil, text)
	if problem != "" {
		return nil, errcode.Command.Errorf("query column %s: %q is %s", c.Name, text, problem)
	}
	return stored, nil
}

func (s *shownCells) gotRow(row *Row) GotRow {
	got := GotRow{printable.Bytes(row.Key), make([]GotCell, len(row.Cells))}
	for i := range row.Cells {
		got.Cells[i] = s.gotCell(&row.Cells[i])
	}
	return got
}

// gotCell formats a cell. A value in binary form becomes text of its column's type.
func (s *shownCells) gotCell(c *cell.Cell) GotCell {
	g := GotCell{Family: string(c.Family), Qualifier: string(c.Qualifier), Timestamp: c.Timestamp}
	for i := range s.binary {
		b := &s.binary[i]
		if !b.matches(c, s.wide) {
			continue
		}
		if text, ok := b.reader.AppendText(nil, c.Value); ok && len(c.Value) > 0 && utf8.Valid(text) {
			g.Value, g.Type, g.Base64 = string(text), b.kind.String(), base64.StdEncoding.EncodeToString(c.Value)
			return g
		}
	}
	if utf8.Valid(c.Value) {
		g.Value = string(c.Value)
	} else {
		g.Base64 = base64.StdEncoding.EncodeToString(c.Value)
	}
	return g
}

// shownBy says how a job's cells are formatted. It belongs to one goroutine.
func shownBy(j *jobfile.Job) *shownCells { return &shownCells{binaryCells(j), j.Wide != nil} }

// shownCells says how cells are formatted.
type shownCells struct {
	binary []binaryCell
	wide   bool
}

//go:build poison

// Package poison overwrites reused buffers at the end of their documented lifetimes; see off.go.
package poison

import (
	"bytes"

	"bulkload/cell"
)

// Enabled reports whether the program was built with the tag poison.
const Enabled = true

// fill is what the bytes become. They are then no text in UTF-8, and a length among them is longer than any buffer.
const fill = 0xDB

// Bytes overwrites b up to its capacity, which must not include bytes that are still in use.
func Bytes(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = fill
	}
}

// Lent lends bytes that can't be overwritten in place, because their owner needs them for longer than the borrower may
// use them. With the tag poison the borrower gets copies instead. The zero Lent is ready for use.
type Lent struct {
	bytes [][]byte
	cells []*cell.Cell
}

// Bytes returns what to lend in place of b.
func (l *Lent) Bytes(b []byte) []byte {
	b = bytes.Clone(b)
	l.bytes = append(l.bytes, b)
	return b
}

// Cell returns what to lend in place of c.
func (l *Lent) Cell(c *cell.Cell) *cell.Cell {
	lent := &cell.Cell{Row: l.Bytes(c.Row), Family: l.Bytes(c.Family), Qualifier: l.Bytes(c.Qualifier),
		Timestamp: c.Timestamp, Type: c.Type, Value: l.Bytes(c.Value)}
	l.cells = append(l.cells, lent)
	return lent
}

// End ends the lifetime of everything lent so far.
func (l *Lent) End() {
	for _, b := range l.bytes {
		Bytes(b)
	}
	for _, c := range l.cells {
		*c = cell.Cell{Row: []byte{fill}, Timestamp: -1}
	}
	l.bytes, l.cells = nil, nil
}

package lookup

import (
	"bytes"
	"slices"

	"bulkload/cell"
	"bulkload/load"
)

// visible passes on, of the cells of HFiles in HBase's order, those that HBase would show: the newest version of each
// column that no delete marker hides and that has not expired.
type visible struct {
	table *load.Table // whose families say when cells expire; nil: they don't
	now   int64       // in epoch milliseconds
	visit func(*cell.Cell) error

	row, family, qualifier []byte
	begun, done            bool    // done: the column's newest version was passed on or has expired
	familyUntil            int64   // DeleteFamily hides all cells of the family up to this timestamp
	familyAt               []int64 // DeleteFamilyVersion hides those with one of these timestamps
	columnUntil            int64   // DeleteColumn, of the column
	columnAt               []int64 // Delete
}

const none = -1 << 63

// see takes the next cell.
func (v *visible) see(c *cell.Cell) error {
	if !v.begun || !bytes.Equal(c.Row, v.row) || !bytes.Equal(c.Family, v.family) {
		v.row, v.family = append(v.row[:0], c.Row...), append(v.family[:0], c.Family...)
		v.familyUntil, v.familyAt = none, v.familyAt[:0]
		v.column(c)
	} else if !bytes.Equal(c.Qualifier, v.qualifier) {
		v.column(c)
	}
	v.begun = true
	switch c.Type {
	case cell.DeleteFamily:
		v.familyUntil = max(v.familyUntil, c.Timestamp)
	case cell.DeleteFamilyVersion:
		v.familyAt = append(v.familyAt, c.Timestamp)
	case cell.DeleteColumn:
		v.columnUntil = max(v.columnUntil, c.Timestamp)
	case cell.Delete:
		v.columnAt = append(v.columnAt, c.Timestamp)
	default:
		if v.done || c.Timestamp <= v.familyUntil || c.Timestamp <= v.columnUntil ||
			slices.Contains(v.familyAt, c.Timestamp) || slices.Contains(v.columnAt, c.Timestamp) {
			return nil
		}
		v.done = true
		if v.table != nil && v.table.HasExpired(c.Family, c.Timestamp, v.now) {
			return nil
		}
		return v.visit(c)
	}
	return nil
}

// column begins a column.
func (v *visible) column(c *cell.Cell) {
	v.qualifier = append(v.qualifier[:0], c.Qualifier...)
	v.done, v.columnUntil, v.columnAt = false, none, v.columnAt[:0]
}

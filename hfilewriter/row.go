package hfilewriter

import (
	"bytes"
	"fmt"

	"bulkload/keys"
)

// Columns is the fixed order of the columns of a family's rows, for AppendRow. It is immutable and safe for concurrent
// use.
type Columns struct {
	family     []byte
	qualifiers [][]byte
}

// NewColumns takes a family and its qualifiers in HBase's order: strictly ascending. Both are copied.
func NewColumns(family []byte, qualifiers [][]byte) (*Columns, error) {
	if len(family) > maxFamilyLen {
		return nil, fmt.Errorf("family of %d bytes; HBase takes at most %d", len(family), maxFamilyLen)
	}
	c := &Columns{family: bytes.Clone(family)}
	for i, q := range qualifiers {
		if i > 0 && bytes.Compare(qualifiers[i-1], q) >= 0 {
			return nil, fmt.Errorf("%w: qualifier %q after %q", ErrOrder, q, qualifiers[i-1])
		}
		if len(q) > maxQualifierLen {
			return nil, fmt.Errorf("qualifier of %d bytes; at most %d are possible", len(q), maxQualifierLen)
		}
		c.qualifiers = append(c.qualifiers, bytes.Clone(q))
	}
	return c, nil
}

// AppendRow adds one row of Puts: values[i] is the value of column i, nil for no cell, an empty non-nil slice for an
// empty value. It gives the same bytes as Append of each cell would, faster. A row without any value adds nothing.
func (w *Writer) AppendRow(columns *Columns, row []byte, timestamp int64, values [][]byte) error {
	if w.err != nil {
		return w.err
	}
	if len(values) != len(columns.qualifiers) {
		return fmt.Errorf("row %q has %d values for %d columns", row, len(values), len(columns.qualifiers))
	}
	cell := keys.Cell{Row: row, Family: columns.family, Timestamp: timestamp, Type: keys.Put}
	for i, v := range values {
		if v == nil {
			continue
		}
		cell.Qualifier, cell.Value = columns.qualifiers[i], v
		if err := w.Append(&cell); err != nil {
			return err
		}
	}
	return nil
}

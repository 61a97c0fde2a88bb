package sorting

import (
	"bytes"
	"errors"
	"io"

	"bulkload/cell"
	"bulkload/internal/poison"
	"bulkload/jobs/pipeline/targets"
	"bulkload/partition"
	"bulkload/values"
)

// AllFamilies stands for all families, in place of a family's number.
const AllFamilies = -1

// Cells iterates over the cells that the input should have in the table for one slice of a region, in HBase's order.
type Cells struct {
	target *targets.Target
	family int // the family whose cells to return, or AllFamilies
	run    *partition.RunReader
	next   *partition.Entry // read ahead; nil at the end
	values []values.Value
	row    []byte
	cells  []cell.Cell // rest of the current row
	all    []cell.Cell
	lent   poison.Lent
	Rows   int64
}

// NewCells iterates over a slice, for one family or AllFamilies.
func NewCells(t *targets.Target, sorted *partition.Sorted, slice partition.Slice, family int) (*Cells, error) {
	run, err := sorted.Slice(slice)
	if err != nil {
		return nil, err
	}
	e := &Cells{target: t, family: family, run: run, values: make([]values.Value, len(t.Layout.Sources))}
	if e.next, err = NextEntry(run); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return e, nil
}

// NextEntry returns the next entry of a merge; nil at the end. It is valid until the next call but one.
func NextEntry(run *partition.RunReader) (*partition.Entry, error) {
	entry, err := run.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return entry, err
}

// Next returns the next cell, which is valid until the following call; nil at the end.
func (e *Cells) Next() (*cell.Cell, error) {
	e.lent.End()
	for len(e.cells) == 0 {
		if e.next == nil {
			return nil, nil
		}
		if err := e.nextRow(); err != nil {
			return nil, err
		}
	}
	c := &e.cells[0]
	e.cells = e.cells[1:]
	return e.lent.Cell(c), nil
}

// nextRow advances to the last of the records with one row key, by the rule of the write stage (writing/duplicates.go).
// Whoever changes one must change both.
func (e *Cells) nextRow() error {
	entry := e.next
	for {
		next, err := NextEntry(e.run)
		if err != nil {
			return err
		}
		e.next = next
		if next == nil || !bytes.Equal(next.Key, entry.Key) {
			break
		}
		entry = next
	}
	row, named, err := e.target.SplitKey(entry.Key)
	if err != nil {
		return err
	}
	if !e.target.Layout.Wide || e.Rows == 0 || !bytes.Equal(row, e.row) {
		e.Rows++
	}
	e.row = append(e.row[:0], row...)
	timestamp, err := e.target.Layout.Unpack(entry.Payload, e.values)
	if err != nil {
		return err
	}
	e.all = e.all[:0]
	err = e.target.Layout.Cells(e.row, named, e.values, timestamp, func(c *cell.Cell) error {
		if e.family == AllFamilies || e.target.Layout.FamilyNamed(c.Family) == e.family {
			e.all = append(e.all, *c)
		}
		return nil
	})
	e.cells = e.all
	return err
}

// Close ends the reading.
func (e *Cells) Close() error { return e.run.Close() }

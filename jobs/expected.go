package jobs

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/jobs/jobfile"
	"bulkload/partition"
	"bulkload/values"
)

// countedRejects counts what can't be used without keeping it: a verification and a plan leave the output as it is.
type countedRejects struct{ n atomic.Int64 }

func (c *countedRejects) Add(*ingest.BadRecord) error { c.n.Add(1); return nil }
func (c *countedRejects) Count() int64                { return c.n.Load() }
func (c *countedRejects) Close(int64) error           { return nil }

// allFamilies is in the place of one family's number.
const allFamilies = -1

// expected gives the cells that the source asks for in one slice of a region, in HBase's order.
type expected struct {
	target *target
	family int // the only one whose cells are wanted, or allFamilies
	run    *partition.Run
	next   *partition.Entry // read ahead; nil at the end
	values []values.Value
	row    []byte
	cells  []cell.Cell // of the present row that are still to come
	all    []cell.Cell
	rows   int64
}

func newExpected(j *jobfile.Job, t *target, sorted *partition.Sorted, slice partition.Slice, family int) (*expected, error) {
	run, err := sorted.Slice(slice)
	if err != nil {
		return nil, err
	}
	e := &expected{target: t, family: family, run: run, values: make([]values.Value, len(t.layout.sources))}
	if e.next, err = nextEntry(run); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return e, nil
}

// nextEntry is nil at the end.
func nextEntry(run *partition.Run) (*partition.Entry, error) {
	entry, err := run.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return entry, err
}

// cell is the next cell, valid until the call after; nil at the end.
func (e *expected) cell() (*cell.Cell, error) {
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
	return c, nil
}

// nextRow takes the last of the records with one row key, as writing does.
func (e *expected) nextRow() error {
	entry := e.next
	for {
		next, err := nextEntry(e.run)
		if err != nil {
			return err
		}
		e.next = next
		if next == nil || !bytes.Equal(next.Key, entry.Key) {
			break
		}
		entry = next
	}
	row, named, err := e.target.splitKey(entry.Key)
	if err != nil {
		return err
	}
	if !e.target.layout.wide || e.rows == 0 || !bytes.Equal(row, e.row) {
		e.rows++
	}
	e.row = append(e.row[:0], row...)
	timestamp, err := e.target.layout.unpack(entry.Payload, e.values)
	if err != nil {
		return err
	}
	e.all = e.all[:0]
	err = e.target.layout.cells(e.row, named, e.values, timestamp, func(c *cell.Cell) error {
		if e.family == allFamilies || e.target.layout.familyNamed(c.Family) == e.family {
			e.all = append(e.all, *c)
		}
		return nil
	})
	e.cells = e.all
	return err
}

func (e *expected) close() error { return e.run.Close() }

package jobs

import (
	"bytes"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/printable"
)

// wideRow is the row of a wide table that a slice's writer is at. Its cells go to the files as they come, so that a row may
// have more of them than fit in memory.
type wideRow struct {
	key       []byte // the row, as it stands in the sort's keys
	row       []byte
	qualifier []byte
	begun     []bool // a family each: whether the row has a cell in it
}

// appendWide writes a record's cells, whose values are unpacked.
func (r *sliceWriter) appendWide(key []byte, timestamp int64) error {
	if r.wide.key == nil || !bytes.HasPrefix(key, r.wide.key) { // no row's key is the beginning of another one's
		if err := r.beginWideRow(key); err != nil {
			return err
		}
	}
	named := key[len(r.wide.key):]
	for i := range r.target.layout.families {
		family := &r.target.layout.families[i]
		cells := family.count(r.values)
		r.books.Cells += cells
		r.books.Nulls += int64(family.last-family.first) - cells
		if cells == 0 {
			continue
		}
		if err := r.appendWideFamily(i, named, timestamp); err != nil {
			return err
		}
	}
	return nil
}

// beginWideRow ends files that are large enough, which is done between rows only.
func (r *sliceWriter) beginWideRow(key []byte) error {
	row, named, err := r.target.splitKey(key)
	if err != nil {
		return err
	}
	r.books.TableRows++
	r.wide.key = append(r.wide.key[:0], key[:len(key)-len(named)]...)
	r.wide.row = append(r.wide.row[:0], row...)
	r.wide.begun = append(r.wide.begun[:0], make([]bool, len(r.open))...)
	for i, f := range r.open {
		if f != nil && f.w.RawSize() >= r.target.maxSize {
			if err := r.finish(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *sliceWriter) appendWideFamily(i int, named []byte, timestamp int64) error {
	family := &r.target.layout.families[i]
	f, err := r.file(i)
	if err != nil {
		return err
	}
	if !r.wide.begun[i] {
		r.wide.begun[i] = true
		f.took(timestamp)
	}
	next := cell.Cell{Row: r.wide.row, Family: family.bytes, Timestamp: timestamp, Type: cell.Put}
	for at := family.first; at < family.last; at++ {
		if r.values[at].Null() {
			continue
		}
		r.wide.qualifier = append(append(r.wide.qualifier[:0], named...), family.qualifiers[at-family.first]...)
		next.Qualifier, next.Value = r.wide.qualifier, r.values[at].Bytes()
		if err := f.w.Append(&next); err != nil {
			return fmt.Errorf("row %s: %w", printable.Bytes(next.Row), err)
		}
	}
	return nil
}

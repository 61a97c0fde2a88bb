package writing

import (
	"bytes"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/printable"
)

// wideRow is the current row of a wide table. Its cells are written as they come, so a row may have more cells than fit
// in memory.
type wideRow struct {
	key       []byte // the row, as encoded in the sort's keys
	row       []byte
	qualifier []byte
	begun     []bool // for each family: whether the row has a cell in it
}

// appendWide writes a record's cells, whose values are unpacked.
func (r *sliceWriter) appendWide(key []byte, timestamp int64) error {
	if r.wide.key == nil || !bytes.HasPrefix(key, r.wide.key) { // no row's key is a prefix of another row's
		if err := r.beginWideRow(key); err != nil {
			return err
		}
	}
	named := key[len(r.wide.key):]
	for i := range r.writer.Target.Layout.Families {
		family := &r.writer.Target.Layout.Families[i]
		cells := family.Count(r.values)
		r.counts.Cells += cells
		r.counts.Nulls += int64(family.Last-family.First) - cells
		if cells == 0 {
			continue
		}
		if err := r.appendWideFamily(i, named, timestamp); err != nil {
			return err
		}
	}
	return nil
}

// beginWideRow ends files that are large enough, which happens only between rows.
func (r *sliceWriter) beginWideRow(key []byte) error {
	row, named, err := r.writer.Target.SplitKey(key)
	if err != nil {
		return err
	}
	r.counts.TableRows++
	r.wide.key = append(r.wide.key[:0], key[:len(key)-len(named)]...)
	r.wide.row = append(r.wide.row[:0], row...)
	r.wide.begun = append(r.wide.begun[:0], make([]bool, len(r.open))...)
	for i, f := range r.open {
		if f != nil && f.Writer.RawSize() >= r.writer.Target.MaxSize {
			if err := r.finish(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *sliceWriter) appendWideFamily(i int, named []byte, timestamp int64) error {
	family := &r.writer.Target.Layout.Families[i]
	f, err := r.file(i)
	if err != nil {
		return err
	}
	if !r.wide.begun[i] {
		r.wide.begun[i] = true
		f.CountRow(timestamp)
	}
	next := cell.Cell{Row: r.wide.row, Family: family.Bytes, Timestamp: timestamp, Type: cell.Put}
	for at := family.First; at < family.Last; at++ {
		if r.values[at].Null() {
			continue
		}
		r.wide.qualifier = append(append(r.wide.qualifier[:0], named...), family.Qualifiers[at-family.First]...)
		next.Qualifier, next.Value = r.wide.qualifier, r.values[at].Bytes()
		if err := f.Writer.Append(&next); err != nil {
			return fmt.Errorf("row %s: %w", printable.Bytes(next.Row), err)
		}
	}
	return nil
}

package ingest

import (
	"bytes"
	"fmt"
)

// cut splits rec.Raw into rec.Fields; false where the number of columns is wrong.
func (d *Delimited) cut(rec *Record) bool {
	fields := rec.Fields[:0]
	if len(d.FieldDelimiter) == 1 {
		fields = cutByte(fields, rec.Raw, d.FieldDelimiter[0], len(d.Columns))
	} else {
		fields = cutBytes(fields, rec.Raw, d.FieldDelimiter, len(d.Columns))
	}
	if fields == nil {
		return false
	}
	if d.Null != nil {
		null := string(d.Null)
		for i, f := range fields {
			if len(f) == len(null) && string(f) == null {
				fields[i] = nil
			}
		}
	}
	rec.Fields = fields
	return true
}

// cutByte appends raw's fields to fields; nil where there are not want of them.
func cutByte(fields [][]byte, raw []byte, delim byte, want int) [][]byte {
	for range want - 1 {
		i := bytes.IndexByte(raw, delim)
		if i < 0 {
			return nil
		}
		fields = append(fields, raw[:i:i])
		raw = raw[i+1:]
	}
	if bytes.IndexByte(raw, delim) >= 0 {
		return nil
	}
	return append(fields, raw)
}

func cutBytes(fields [][]byte, raw, delim []byte, want int) [][]byte {
	for range want - 1 {
		i := bytes.Index(raw, delim)
		if i < 0 {
			return nil
		}
		fields = append(fields, raw[:i:i])
		raw = raw[i+len(delim):]
	}
	if len(delim) > 0 && bytes.Contains(raw, delim) {
		return nil
	}
	return append(fields, raw)
}

// columns counts the columns of a record.
func (d *Delimited) columns(raw []byte) int {
	if len(d.FieldDelimiter) == 0 {
		return 1
	}
	return bytes.Count(raw, d.FieldDelimiter) + 1
}

func (d *Delimited) countReason(raw []byte) string {
	n := d.columns(raw)
	plural := "s"
	if n == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d column%s, want %d", n, plural, len(d.Columns))
}

package delimited

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"bulkload/ingest"
	"bulkload/values"
)

// cut splits a record into fields; false if the number of columns is wrong.
func (d *Form) cut(fields []values.Value, text []byte) bool {
	ok := false
	if len(d.FieldDelimiter) == 1 {
		ok = cutByte(fields, text, d.FieldDelimiter[0])
	} else {
		ok = cutBytes(fields, text, d.FieldDelimiter)
	}
	if !ok {
		return false
	}
	switch {
	case d.ColumnNulls != nil:
		for i, f := range fields {
			if d.isNull(i, f.Bytes()) {
				fields[i] = values.Value{}
			}
		}
	case d.Null != nil:
		for i, f := range fields {
			if f.Len() == len(d.Null) && string(f.Bytes()) == string(d.Null) {
				fields[i] = values.Value{}
			}
		}
	}
	return true
}

// isNull reports whether a column's value is the text of a null.
func (d *Form) isNull(column int, value []byte) bool {
	if d.ColumnNulls == nil {
		return d.Null != nil && string(value) == string(d.Null)
	}
	for _, null := range d.ColumnNulls[column] {
		if string(value) == string(null) {
			return true
		}
	}
	return false
}

// cutByte splits raw into exactly len(fields) fields; false if it has more or fewer. Because fields are a few bytes
// long, it marks all delimiters in a word at once, which costs less than a search for one after another.
func cutByte(fields []values.Value, raw []byte, delim byte) bool {
	pattern := ingest.EveryByte * uint64(delim)
	last := len(fields) - 1
	n, start, at := 0, 0, 0
	for ; at+8 <= len(raw); at += 8 {
		x := binary.LittleEndian.Uint64(raw[at:]) ^ pattern
		for marks := ingest.ZeroBytes(x); marks != 0; marks &= marks - 1 {
			if n >= last {
				return false
			}
			end := at + bits.TrailingZeros64(marks)/8
			fields[n] = values.ValueOf(raw[start:end:end])
			n, start = n+1, end+1
		}
	}
	for ; at < len(raw); at++ {
		if raw[at] != delim {
			continue
		}
		if n >= last {
			return false
		}
		fields[n] = values.ValueOf(raw[start:at:at])
		n, start = n+1, at+1
	}
	if n != last {
		return false
	}
	fields[n] = values.ValueOf(raw[start:])
	return true
}

func cutBytes(fields []values.Value, raw, delim []byte) bool {
	last := len(fields) - 1
	for n := range last {
		i := bytes.Index(raw, delim)
		if i < 0 {
			return false
		}
		fields[n] = values.ValueOf(raw[:i:i])
		raw = raw[i+len(delim):]
	}
	fields[last] = values.ValueOf(raw)
	return len(delim) == 0 || !bytes.Contains(raw, delim)
}

// columns counts the columns of a record.
func (d *Form) columns(raw []byte) int {
	if len(d.FieldDelimiter) == 0 {
		return 1
	}
	return bytes.Count(raw, d.FieldDelimiter) + 1
}

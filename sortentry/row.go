package sortentry

import "bytes"

// In a wide table many entries meet in one row, and a key is the row and what orders the entries in it. The row is
// written so that such keys order as rows do, whatever their lengths, and as what is behind where the rows are equal:
// each zero byte is followed by rowZero, and two zero bytes end it. No row is then the beginning of another one.
const (
	rowEnd  = 0x00 // behind a zero byte: the row's end
	rowZero = 0xFF // behind a zero byte: it is the row's
)

// AppendRow appends a row to a key, in the form to which what orders the row's entries is appended then. Boundaries of
// regions are to be written in the same form.
func AppendRow(dst, row []byte) []byte {
	for {
		zero := bytes.IndexByte(row, 0)
		if zero < 0 {
			return append(append(dst, row...), 0, rowEnd)
		}
		dst = append(append(dst, row[:zero+1]...), rowZero)
		row = row[zero+1:]
	}
}

// CutRow cuts a key that begins with a row of AppendRow's: row is a view of the key where it has no zero byte, else it
// stands behind dst; rest is what is behind the row. ok is false where the key is no such key.
func CutRow(dst, key []byte) (row, rest []byte, ok bool) {
	at := bytes.IndexByte(key, 0)
	if at < 0 || at+1 == len(key) {
		return nil, nil, false
	}
	if key[at+1] == rowEnd {
		return key[:at:at], key[at+2:], true
	}
	row, rest = dst, key
	for at >= 0 && at+1 < len(rest) {
		switch rest[at+1] {
		case rowEnd:
			return append(row, rest[:at]...), rest[at+2:], true
		case rowZero:
			row = append(row, rest[:at+1]...)
		default:
			return nil, nil, false
		}
		rest = rest[at+2:]
		at = bytes.IndexByte(rest, 0)
	}
	return nil, nil, false
}

package sortentry

import "bytes"

// In a wide table many entries share a row, and a key is the row followed by bytes that order the entries in it. The
// row is encoded so that keys sort first by row, whatever the rows' lengths, and then by those bytes: each zero byte is
// followed by rowZero, and two zero bytes end the row. So no encoded row is a prefix of another one.
//
//	row 61 00 62, then q   →   61 00 FF 62 00 00 71
//
// Regions and slices end between rows. A boundary in any other form would cut a row in two.
const (
	rowEnd  = 0x00 // after a zero byte: the end of the row
	rowZero = 0xFF // after a zero byte: the zero byte belongs to the row
)

// AppendRow appends a row to a key; the caller then appends what orders the row's entries. Region boundaries must be
// encoded in the same form.
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

// CutRow splits a key that begins with a row encoded by AppendRow. row is a view of the key if it has no zero byte,
// otherwise it is appended to dst; rest is what follows the row. ok is false if the key is not of this form.
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

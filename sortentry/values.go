// Package sortentry defines how a record goes through the sort: the entry's key begins with the record's row, and the
// entry's payload is, or ends with, the values of its cells, one for each column. partition sorts such entries as
// bytes, and hfilewriter writes the values into HFiles without unpacking them.
package sortentry

import (
	"encoding/binary"
	"errors"

	"bulkload/values"
)

// Packed values follow each other, one for each column:
//
//	uvarint n      0: the row has no cell in this column; otherwise the value's length plus one
//	n-1 bytes      the value
//
// The plus one distinguishes a null, which is no cell, from an empty value, which is a cell of length 0. The number of
// columns is not stored. Reader and writer must agree on it, which the job's layout ensures.

// ErrDamaged says that packed values are damaged.
var ErrDamaged = errors.New("packed values are damaged")

// AppendValue packs a value after others. A null is no cell.
func AppendValue(dst []byte, v values.Value) []byte {
	if v.Null() {
		return append(dst, 0)
	}
	value := v.Bytes()
	n, at := len(value), len(dst)
	if n > 32 || n < 4 || cap(dst)-at < 1+n {
		return append(binary.AppendUvarint(dst, uint64(n)+1), value...)
	}
	// A short value as two words that overlap, which needs no call.
	dst = dst[:at+1+n]
	dst[at] = byte(n + 1)
	if to := dst[at+1:]; n > 16 {
		*(*[16]byte)(to) = [16]byte(value)
		*(*[16]byte)(to[n-16:]) = [16]byte(value[n-16:])
	} else if n >= 8 {
		first, last := binary.LittleEndian.Uint64(value), binary.LittleEndian.Uint64(value[n-8:])
		binary.LittleEndian.PutUint64(to, first)
		binary.LittleEndian.PutUint64(to[n-8:], last)
	} else {
		first, last := binary.LittleEndian.Uint32(value), binary.LittleEndian.Uint32(value[n-4:])
		binary.LittleEndian.PutUint32(to, first)
		binary.LittleEndian.PutUint32(to[n-4:], last)
	}
	return dst
}

// CutValue returns the first packed value, null for no cell, and those after it. The value's capacity extends into
// them. The error is ErrDamaged.
func CutValue(packed []byte) (value values.Value, rest []byte, err error) {
	n, size := packedLen(packed)
	switch end := size + n - 1; {
	case size == 0:
		return values.Value{}, nil, ErrDamaged
	case n == 0:
		return values.Value{}, packed[size:], nil
	default:
		return values.ValueOf(packed[size:end]), packed[end:], nil
	}
}

// packedLen returns the length plus one of the first value, which is complete, and how many bytes that number takes.
// size is 0 if the values are damaged.
func packedLen(packed []byte) (n, size int) {
	if len(packed) > 0 && packed[0] < 0x80 {
		if n = int(packed[0]); n <= len(packed) {
			return n, 1
		}
		return 0, 0
	}
	long, size := binary.Uvarint(packed)
	if size <= 0 || long < 0x80 || long > uint64(len(packed)-size)+1 { // a short number must be in one byte
		return 0, 0
	}
	return int(long), size
}

// CountValues is how many of the first n packed values are cells, and the bytes after them. The error is ErrDamaged.
func CountValues(packed []byte, n int) (cells int, rest []byte, err error) {
	for range n {
		value, rest, err := CutValue(packed)
		if err != nil {
			return 0, nil, err
		}
		if packed = rest; !value.Null() {
			cells++
		}
	}
	return cells, packed, nil
}

package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

var (
	errLevels  = errors.New("the definition levels are broken")
	errIndices = errors.New("the dictionary's indices are broken")
	errPlain   = errors.New("the page ends before its values do")
)

// run is a run of Parquet's hybrid of run lengths and bit packing: one value n times, or n values packed in bytes.
type run struct {
	n      int
	packed []byte // nil: every value is value
	value  uint32
}

// nextRun reads a run of values with a width of at most 32 bits, of which at most want are used. An empty run is an
// error.
func nextRun(data []byte, width, want int) (r run, rest []byte, ok bool) {
	head, size := binary.Uvarint(data)
	if size <= 0 || head>>1 == 0 || head>>1 > 1<<28-1 {
		return r, nil, false
	}
	data = data[size:]
	r.n = int(head >> 1)
	if head&1 == 1 {
		r.n *= 8
		r.n = min(r.n, want)
		used, whole := (r.n*width+7)/8, int(head>>1)*width
		if used > len(data) {
			return r, nil, false
		}
		r.packed = data[:used:used]
		return r, data[min(whole, len(data)):], true
	}
	size = (width + 7) / 8
	if size > len(data) {
		return r, nil, false
	}
	for i := range size {
		r.value |= uint32(data[i]) << (8 * i)
	}
	r.n = min(r.n, want)
	return r, data[size:], true
}

// countPresent counts the values that are not null among n one-bit definition levels.
func countPresent(levels []byte, n int) (present int, err error) {
	for n > 0 {
		r, rest, ok := nextRun(levels, 1, n)
		if !ok || r.value > 1 {
			return 0, errLevels
		}
		if r.packed == nil {
			present += r.n * int(r.value)
		} else {
			present += countBits(r.packed, r.n)
		}
		n -= r.n
		levels = rest
	}
	return present, nil
}

// countBits counts the bits that are set among the first n.
func countBits(b []byte, n int) (set int) {
	for ; n >= 64; n, b = n-64, b[8:] {
		set += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for ; n >= 8; n, b = n-8, b[1:] {
		set += bits.OnesCount8(b[0])
	}
	if n > 0 {
		set += bits.OnesCount8(b[0] & (1<<n - 1))
	}
	return set
}

// checkIndices requires n indices, all below entries, after a byte with the width of an index in bits.
func checkIndices(data []byte, n, entries int) error {
	if n == 0 {
		return nil
	}
	if len(data) == 0 || data[0] > 31 {
		return errIndices
	}
	width, data := int(data[0]), data[1:]
	for n > 0 {
		r, rest, ok := nextRun(data, width, n)
		if !ok {
			return errIndices
		}
		highest := r.value
		if r.packed != nil && 1<<width > entries {
			highest = highestPacked(r.packed, width, r.n)
		}
		if r.packed != nil && 1<<width <= entries {
			highest = 0
		}
		if int64(highest) >= int64(entries) {
			return fmt.Errorf("index %d into a dictionary of %d values", highest, entries)
		}
		n -= r.n
		data = rest
	}
	return nil
}

// highestPacked is the highest of n values of width bits, with the lowest bits first.
func highestPacked(b []byte, width, n int) (highest uint32) {
	if width == 0 {
		return 0
	}
	var held uint64
	var holds int
	mask := uint64(1)<<width - 1
	for range n {
		for holds < width {
			held |= uint64(b[0]) << holds
			b = b[1:]
			holds += 8
		}
		highest = max(highest, uint32(held&mask))
		held >>= width
		holds -= width
	}
	return highest
}

// checkBooleans requires n booleans as run lengths, preceded by the length of the runs.
func checkBooleans(data []byte, n int) error {
	if len(data) < 4 {
		return errPlain
	}
	length := binary.LittleEndian.Uint32(data)
	if int64(length) > int64(len(data)-4) {
		return errPlain
	}
	if _, err := countPresent(data[4:4+length], n); err != nil {
		return errPlain
	}
	return nil
}

// checkByteArrays requires n byte arrays, each preceded by its length.
func checkByteArrays(data []byte, n int) error {
	if int64(n)*4 > int64(len(data)) {
		return errPlain
	}
	for range n {
		if len(data) < 4 {
			return errPlain
		}
		length := int64(binary.LittleEndian.Uint32(data))
		if length > int64(len(data)-4) {
			return errPlain
		}
		data = data[4+length:]
	}
	return nil
}

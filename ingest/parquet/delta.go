package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxBlock is the largest number of values in a block of DELTA_BINARY_PACKED. Writers use 128 or 256.
const maxBlock = 1 << 16

var errDelta = errors.New("the delta encoding is broken")

// walkDeltas finds the end of a stream of DELTA_BINARY_PACKED, which must have exactly n values. It skips from block to
// block without unpacking.
func walkDeltas(data []byte, n int) (end int, err error) {
	if n == 0 && len(data) == 0 {
		return 0, nil
	}
	in := compact{bytes: data}
	block, err1 := in.uvarint()
	minis, err2 := in.uvarint()
	values, err3 := in.uvarint()
	_, err4 := in.varint()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return 0, errDelta
	}
	if block == 0 || block > maxBlock || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return 0, fmt.Errorf("%w: blocks of %d values in %d parts", errDelta, block, minis)
	}
	if values != uint64(n) {
		return 0, fmt.Errorf("%w: it has %d values, the page %d", errDelta, values, n)
	}
	for left := n - 1; left > 0; left -= int(block) {
		if err := walkBlock(&in, int(block/minis), int(minis), left); err != nil {
			return 0, err
		}
	}
	return in.at, nil
}

// walkBlock skips a block in which left values are used.
func walkBlock(in *compact, size, minis, left int) error {
	if _, err := in.varint(); err != nil {
		return errDelta
	}
	widths := in.at
	if in.advance(uint64(minis)) != nil {
		return errDelta
	}
	for i := 0; i < minis && left > 0; i++ {
		width := int(in.bytes[widths+i])
		if width > 64 || in.advance(uint64(width*size/8)) != nil {
			return errDelta
		}
		left -= size
	}
	return nil
}

// deltaReader returns the numbers of a stream of DELTA_BINARY_PACKED that walkDeltas has checked.
type deltaReader struct {
	in     compact
	size   int // values in each part of a block
	minis  int // parts of a block
	last   int64
	begun  bool
	least  int64  // the block's
	widths []byte // of its parts after the current one, in bits a value
	bits   []byte // the current part
	at     int    // the next value's first bit in it
	width  int
	left   int // values of the part
}

func readDeltas(data []byte) *deltaReader {
	d := &deltaReader{in: compact{bytes: data}}
	block, _ := d.in.uvarint()
	minis, _ := d.in.uvarint()
	_, _ = d.in.uvarint()
	d.last, _ = d.in.varint()
	d.size, d.minis = int(block/minis), int(minis)
	return d
}

func (d *deltaReader) next() int64 {
	if !d.begun {
		d.begun = true
		return d.last
	}
	if d.left == 0 {
		d.nextPart()
	}
	d.left--
	d.last += d.least + int64(d.takeBits())
	return d.last
}

func (d *deltaReader) nextPart() {
	if len(d.widths) == 0 {
		d.least, _ = d.in.varint()
		d.widths = d.in.bytes[d.in.at : d.in.at+d.minis]
		d.in.at += d.minis
	}
	d.width, d.widths, d.left, d.at = int(d.widths[0]), d.widths[1:], d.size, 0
	length := d.width * d.size / 8
	d.bits = d.in.bytes[d.in.at : d.in.at+length]
	d.in.at += length
}

// takeBits reads width bits, the lowest first.
func (d *deltaReader) takeBits() (n uint64) {
	for got := 0; got < d.width; {
		bits := min(8-d.at%8, d.width-got)
		n |= uint64(d.bits[d.at/8]>>(d.at%8)&(1<<bits-1)) << got
		got += bits
		d.at += bits
	}
	return n
}

// maxExpanded is the largest size of a page's values in bytes, once each has its shared prefix again.
const maxExpanded = 256 << 20

// expandDeltas appends n byte arrays in encoding PLAIN. In DELTA_LENGTH_BYTE_ARRAY the lengths of the arrays come
// first; in DELTA_BYTE_ARRAY the lengths of the prefixes that each shares with the one before. All values must have the
// given width unless it is 0. It is used because v15 copies each such value, and can't read values of a fixed width.
func expandDeltas(dst, data []byte, n, width int, prefixed bool) ([]byte, error) {
	if n == 0 {
		return dst, nil
	}
	var prefixes *deltaReader
	if prefixed {
		walked, err := walkDeltas(data, n)
		if err != nil {
			return nil, err
		}
		prefixes = readDeltas(data)
		data = data[walked:]
	}
	walked, err := walkDeltas(data, n)
	if err != nil {
		return nil, err
	}
	lengths, text := readDeltas(data), data[walked:]
	start, last := len(dst), 0 // last is the length of the previous value
	for range n {
		prefix, length := int64(0), lengths.next()
		if prefixed {
			prefix = prefixes.next()
		}
		if prefix < 0 || prefix > int64(last) || length < 0 || length > int64(len(text)) || width > 0 &&
			prefix+length != int64(width) {
			return nil, fmt.Errorf("%w: a value of %d and %d bytes", errDelta, prefix, length)
		}
		if int64(len(dst)-start)+4+prefix+length > maxExpanded {
			return nil, fmt.Errorf("its values have more than %d bytes", maxExpanded)
		}
		before := len(dst) - last
		last = int(prefix + length)
		if width == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(last))
		}
		dst = append(dst, dst[before:before+int(prefix)]...)
		dst = append(dst, text[:length]...)
		text = text[length:]
	}
	return dst, nil
}

// checkPlainWidth requires n values of width bytes.
func checkPlainWidth(data []byte, n, width int) error {
	if int64(n)*int64(width) > int64(len(data)) {
		return errPlain
	}
	return nil
}

// levelsLength returns the length of the definition levels of a data page of version 1, which come after that length.
func levelsLength(data []byte) (int, error) {
	if len(data) < 4 {
		return 0, errLevels
	}
	n := binary.LittleEndian.Uint32(data)
	if int64(n) > int64(len(data)-4) {
		return 0, errLevels
	}
	return int(n), nil
}

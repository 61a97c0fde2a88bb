package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxBlock is how many values a block of DELTA_BINARY_PACKED may have. Writers use 128 or 256.
const maxBlock = 1 << 16

var errDelta = errors.New("the delta encoding is broken")

// deltas are the numbers of a stream of DELTA_BINARY_PACKED.
type deltas struct {
	first int64
	end   int // where in the data the stream ends
}

// walkDeltas finds the end of a stream of DELTA_BINARY_PACKED, which must have exactly n values. It goes from block to block
// without unpacking them.
func walkDeltas(data []byte, n int) (deltas, error) {
	if n == 0 && len(data) == 0 {
		return deltas{}, nil
	}
	in := compact{bytes: data}
	block, err1 := in.uvarint()
	minis, err2 := in.uvarint()
	values, err3 := in.uvarint()
	first, err4 := in.varint()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return deltas{}, errDelta
	}
	if block == 0 || block > maxBlock || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return deltas{}, fmt.Errorf("%w: blocks of %d values in %d parts", errDelta, block, minis)
	}
	if values != uint64(n) {
		return deltas{}, fmt.Errorf("%w: it has %d values, the page %d", errDelta, values, n)
	}
	for left := n - 1; left > 0; left -= int(block) {
		if err := walkBlock(&in, int(block/minis), int(minis), left); err != nil {
			return deltas{}, err
		}
	}
	return deltas{first: first, end: in.at}, nil
}

// walkBlock goes over a block of which left values matter.
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

// checkDeltaLengths wants n byte arrays whose lengths stand in front of them (DELTA_LENGTH_BYTE_ARRAY). That the lengths
// fit the bytes the decoder finds out.
func checkDeltaLengths(data []byte, n int) error {
	_, err := walkDeltas(data, n)
	return err
}

// checkDeltaArrays wants n byte arrays as how much each has in common with the one before, and the rest of each
// (DELTA_BYTE_ARRAY).
func checkDeltaArrays(data []byte, n int) error {
	prefixes, err := walkDeltas(data, n)
	if err != nil {
		return err
	}
	if n > 0 && prefixes.first != 0 {
		return fmt.Errorf("%w: the first value has a prefix", errDelta)
	}
	return checkDeltaLengths(data[prefixes.end:], n)
}

// checkPlainWidth wants n values of width bytes.
func checkPlainWidth(data []byte, n, width int) error {
	if int64(n)*int64(width) > int64(len(data)) {
		return errPlain
	}
	return nil
}

// levelsLength cuts the definition levels of a data page of version 1 off, which stand behind their length.
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

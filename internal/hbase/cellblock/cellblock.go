// Package cellblock reads the cell blocks of HBase's RPC: the cells that an answer carries after its message, as
// org.apache.hadoop.hbase.codec.KeyValueCodec writes them. It makes no allocation for a cell.
package cellblock

import (
	"encoding/binary"
	"fmt"

	"bulkload/cell"
)

// Codec is the class that a client names in ConnectionHeader.cell_block_codec_class to get blocks in this form. It
// omits tags.
const Codec = "org.apache.hadoop.hbase.codec.KeyValueCodec"

// Sizes in bytes of the parts of a cell: KeyValueCodec's length of the rest, then a KeyValue
// (org.apache.hadoop.hbase.KeyValue): the lengths of key and value, and the key's own parts.
const (
	lengthSize  = 4
	lengthsSize = 8             // of key and value
	keyFixed    = 2 + 1 + 8 + 1 // lengths of row and family, timestamp, type
	shortest    = lengthSize + lengthsSize + keyFixed + 1
	maxRow      = 1<<15 - 1 // HConstants.MAX_ROW_LENGTH
	maxFamily   = 1<<7 - 1
)

// Reader reads the cells of a block in order.
type Reader struct {
	rest []byte
	size int // of the whole block
}

// NewReader begins with a block's first cell.
func NewReader(block []byte) Reader { return Reader{rest: block, size: len(block)} }

// Next reads the next cell, as views of the block. It returns false at the block's end, and with an error that gives
// the position of bytes that are not a cell.
func (r *Reader) Next(c *cell.Cell) (bool, error) {
	b := r.rest
	if len(b) < shortest {
		if len(b) == 0 {
			return false, nil
		}
		return false, r.malformed("%d bytes are too few for a cell", len(b))
	}
	size := uint64(binary.BigEndian.Uint32(b))
	keySize, valueSize := uint64(binary.BigEndian.Uint32(b[4:])), uint64(binary.BigEndian.Uint32(b[8:]))
	if size > uint64(len(b)-lengthSize) {
		return false, r.malformed("a cell of %d bytes, and %d are left", size, len(b)-lengthSize)
	}
	if size != lengthsSize+keySize+valueSize {
		return false, r.malformed("a cell of %d bytes has a key of %d and a value of %d", size, keySize, valueSize)
	}
	row := uint64(binary.BigEndian.Uint16(b[12:]))
	if row == 0 || row > maxRow || keySize < keyFixed+row {
		return false, r.malformed("a row of %d bytes in a key of %d", row, keySize)
	}
	key := b[lengthSize+lengthsSize : lengthSize+lengthsSize+keySize]
	family := uint64(key[2+row])
	if family > maxFamily || keySize < keyFixed+row+family {
		return false, r.malformed("a family of %d bytes in a key of %d", family, keySize)
	}
	qualifier, end := 3+row+family, keySize-9
	c.Row = key[2 : 2+row : 2+row]
	c.Family = key[3+row : qualifier : qualifier]
	c.Qualifier = key[qualifier:end:end]
	c.Timestamp = int64(binary.BigEndian.Uint64(key[end:]))
	c.Type = cell.KeyType(key[keySize-1])
	c.Value = b[lengthSize+lengthsSize+keySize : lengthSize+size : lengthSize+size]
	r.rest = b[lengthSize+size:]
	return true, nil
}

// Left is the number of bytes that were not read yet.
func (r *Reader) Left() int { return len(r.rest) }

func (r *Reader) malformed(format string, args ...any) error {
	return fmt.Errorf("cell block of %d bytes, byte %d: %s", r.size, r.size-len(r.rest), fmt.Sprintf(format, args...))
}

package hfilewriter

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"bulkload/cell"
)

// An encoded data block begins with the 2-byte id of its encoding, a block without encoding with its first cell. In
// PREFIX, DIFF and FAST_DIFF blocks the sum of the cells' unencoded lengths follows, a 4-byte int
// (BufferedDataBlockEncoder.startBlockEncoding, endBlockEncoding). The first cell of every block is written in full,
// because a reader enters a file at any block.
//
// Each cell is followed by its sequence ID, a vlong: the byte 0 in every file that this package writes.
const encodingIDLen = 2

// blockEncoder encodes the cells of one data block after another.
type blockEncoder struct {
	encoding  Encoding
	buf       []byte // headerLen free bytes, then the payload so far
	start     int    // of the first cell in buf
	cells     int    // in this block
	unencoded int    // sum of the cells' lengths as a block without encoding has them
	rows      []uint32
	rowAt     int // offset in buf of the last unencoded cell's key
	prev      previous
}

// previous is the last cell added to a file, which the next one is compared with.
type previous struct {
	row, family, qualifier []byte // copies
	timestamp              int64
	kind                   cell.KeyType
	keyLen                 int
	value                  span // in the encoder's buf; valid in this block only
}

// span is a range of a buffer that may be reallocated.
type span struct{ at, len int }

func (s span) bytesIn(buf []byte) []byte { return buf[s.at : s.at+s.len] }

var emptyHeader [headerLen]byte

// begin starts a block.
func (e *blockEncoder) begin() {
	e.buf = append(e.buf[:0], emptyHeader[:]...)
	if e.encoding != EncodeNone {
		e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(e.encoding))
	}
	if e.encoding.storesSize() {
		e.buf = append(e.buf, 0, 0, 0, 0)
	}
	e.start = len(e.buf)
	e.cells, e.unencoded, e.rows = 0, 0, e.rows[:0]
}

// storesSize reports whether the unencoded length follows the id.
func (e Encoding) storesSize() bool {
	return e == EncodePrefix || e == EncodeDiff || e == EncodeFastDiff
}

// full reports whether the block ends before the next cell (HFileWriterImpl.checkBlockBoundary,
// HFileBlock.Writer.encodedBlockSizeWritten and blockSizeWritten). Header, id and size do not count. Where blocks end
// decides every byte of the file, so this has to be HBase's rule exactly.
func (e *blockEncoder) full(blockSize int) bool {
	return e.unencoded >= blockSize || len(e.buf)-e.start+4*len(e.rows) >= blockSize
}

// end finishes the payload.
func (e *blockEncoder) end() {
	switch {
	case e.encoding.storesSize():
		binary.BigEndian.PutUint32(e.buf[headerLen+encodingIDLen:], uint32(e.unencoded))
	case e.encoding == EncodeRowIndexV1:
		e.endRowIndex()
	}
}

// add encodes a cell, whose lengths were checked.
func (e *blockEncoder) add(c *cell.Cell) {
	keyLen := keyOverhead + len(c.Row) + len(c.Family) + len(c.Qualifier)
	switch e.encoding {
	case EncodeNone:
		e.addUnencoded(c, keyLen)
	case EncodePrefix:
		e.addPrefix(c, keyLen)
	case EncodeDiff:
		e.addDiff(c, keyLen)
	case EncodeFastDiff:
		e.addFastDiff(c, keyLen)
	case EncodeRowIndexV1:
		e.addRowIndex(c, keyLen)
	}
	e.buf = append(e.buf, 0) // sequence id
	e.cells++
	e.unencoded += cellOverhead + keyLen + len(c.Value) + mvccLen
	e.prev.set(c, keyLen)
}

// appendValue writes the cell's value and records its position.
func (e *blockEncoder) appendValue(value []byte) {
	e.prev.value = span{len(e.buf), len(value)}
	e.buf = append(e.buf, value...)
}

// set records a cell's key; its value was recorded as it was written.
func (p *previous) set(c *cell.Cell, keyLen int) {
	p.row = append(p.row[:0], c.Row...)
	p.family = append(p.family[:0], c.Family...)
	p.qualifier = append(p.qualifier[:0], c.Qualifier...)
	p.timestamp, p.kind, p.keyLen = c.Timestamp, c.Type, keyLen
}

// update records the key of a cell whose order relative to p is at. Parts that are equal are not copied again.
func (p *previous) update(c *cell.Cell, at order) {
	if at == newRow {
		p.row = append(p.row[:0], c.Row...)
		p.family = append(p.family[:0], c.Family...)
	}
	if at >= sameRow {
		p.qualifier = append(p.qualifier[:0], c.Qualifier...)
	}
	p.timestamp, p.kind = c.Timestamp, c.Type
}

// cell returns the recorded key as a cell without a value.
func (p *previous) cell() cell.Cell {
	return cell.Cell{Row: p.row, Family: p.family, Qualifier: p.qualifier, Timestamp: p.timestamp, Type: p.kind}
}

// common returns how many leading bytes of the flat keys of p and c are equal, at most to the end of the qualifier;
// families count as equal (PrivateCellUtil.findCommonPrefixInFlatKey). Rows of different length share no byte of the
// row, and at most the first byte of the length.
func (p *previous) common(c *cell.Cell) int {
	if len(c.Row) != len(p.row) {
		if len(c.Row)>>8 == len(p.row)>>8 {
			return 1
		}
		return 0
	}
	n := commonPrefix(c.Row, p.row)
	if n < len(c.Row) {
		return rowLengthLen + n
	}
	return qualifierOffset(len(c.Row), len(c.Family)) + commonPrefix(c.Qualifier, p.qualifier)
}

// qualifierOffset is where the qualifier begins in a flat key.
func qualifierOffset(rowLen, familyLen int) int {
	return rowLengthLen + rowLen + familyLengthLen + familyLen
}

// appendRowRest appends 2-byte row length and row without their first common bytes
// (BufferedDataBlockEncoder.writeRowKeyExcludingCommon).
func appendRowRest(dst, row []byte, common int) []byte {
	switch common {
	case 0:
		dst = append(dst, byte(len(row)>>8), byte(len(row)))
	case 1:
		dst = append(dst, byte(len(row)))
	default:
		return append(dst, row[common-rowLengthLen:]...)
	}
	return append(dst, row...)
}

// appendKey appends a cell's flat key.
func appendKey(dst []byte, c *cell.Cell) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(c.Row)))
	dst = append(dst, c.Row...)
	dst = append(dst, byte(len(c.Family)))
	dst = append(dst, c.Family...)
	dst = append(dst, c.Qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Timestamp))
	return append(dst, byte(c.Type))
}

// parseKey returns the parts of a flat key as views of it. Each length is checked against the bytes that are left, so
// no damaged key makes it panic.
func parseKey(key []byte) (c cell.Cell, err error) {
	if len(key) < keyOverhead {
		return c, fmt.Errorf("%w: key of %d bytes", ErrCorrupt, len(key))
	}
	rowLen := int(binary.BigEndian.Uint16(key))
	rest := key[rowLengthLen : len(key)-timestampLen-typeLen]
	if rowLen > maxRowLen || rowLen > len(rest)-familyLengthLen {
		return c, fmt.Errorf("%w: row of %d bytes in a key of %d", ErrCorrupt, rowLen, len(key))
	}
	c.Row, rest = rest[:rowLen:rowLen], rest[rowLen:]
	familyLen := int(rest[0])
	if familyLen > len(rest)-familyLengthLen {
		return c, fmt.Errorf("%w: family of %d bytes in a key of %d", ErrCorrupt, familyLen, len(key))
	}
	c.Family, c.Qualifier = rest[1:1+familyLen:1+familyLen], rest[1+familyLen:]
	c.Timestamp = int64(binary.BigEndian.Uint64(key[len(key)-timestampLen-typeLen:]))
	c.Type = cell.KeyType(key[len(key)-typeLen])
	return c, nil
}

// commonPrefix returns how many leading bytes of a and b are equal.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// appendCompressedInt appends a length: seven bits a byte, low ones first, 0x80 set if more follow
// (ByteBufferUtils.putCompressedInt).
func appendCompressedInt(dst []byte, n int) []byte {
	if n < 0x80 {
		return append(dst, byte(n))
	}
	return binary.AppendUvarint(dst, uint64(uint32(n)))
}

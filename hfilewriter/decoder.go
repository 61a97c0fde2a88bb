package hfilewriter

import (
	"encoding/binary"
	"fmt"

	"bulkload/cell"
)

// blockDecoder decodes the cells of one data block after another.
type blockDecoder struct {
	encoding Encoding
	tags     bool // the file has tags, which are skipped
	mvcc     bool // the file has sequence ids, which are skipped

	skippedTags      bool // a cell had tags
	skippedSequences bool // a cell had a sequence ID other than 0

	in        cursor
	first     bool // the next cell is the block's first
	key       []byte
	keyBuf    []byte // the memory of key, for encodings that assemble it
	value     []byte // a view of the payload
	family    []byte // of the cells, for encodings that store it once
	timestamp uint64 // timestamp and type of the last cell, for DIFF and FAST_DIFF
	kind      byte
	cell      cell.Cell
	// sameRow: the encoding says that row and family equal those of the cell before, so they need no comparison.
	sameRow bool

	// FAST_DIFF only.
	cache       columnCache
	column      int  // the last cell's in cache; -1: unknown
	firstColumn int  // of the last row
	qualifierAt int  // in the last key
	keyStale    bool // key is not yet the last cell's
}

// begin starts a block.
func (d *blockDecoder) begin(kind blockType, payload []byte) error {
	d.in = cursor{b: payload}
	d.first, d.key, d.value, d.family = true, nil, nil, d.family[:0]
	d.column, d.keyStale = -1, false
	if (kind == blockData) != (d.encoding == EncodeNone) {
		return fmt.Errorf("%w: %s block in a file of encoding %s", ErrCorrupt, kind, d.encoding)
	}
	if d.encoding == EncodeNone {
		return nil
	}
	if id := Encoding(d.in.uint16()); id != d.encoding {
		d.in.fail("block of encoding %s in a file of encoding %s", id, d.encoding)
	}
	if d.encoding.storesSize() {
		d.in.uint32() // the unencoded length, which is not needed
	}
	if d.encoding == EncodeRowIndexV1 {
		d.trimRowIndex()
	}
	return d.in.err
}

// next decodes a cell; false at the end of the block or on an error.
func (d *blockDecoder) next() (bool, error) {
	if d.in.at == len(d.in.b) || d.in.bad() {
		return false, d.in.err
	}
	d.sameRow = false
	if d.encoding == EncodeFastDiff {
		return d.nextFast()
	}
	switch d.encoding {
	case EncodeNone, EncodeRowIndexV1:
		d.nextUnencoded()
	case EncodePrefix:
		d.nextPrefix()
	case EncodeDiff:
		d.nextDiff()
	}
	return d.finishCell()
}

// nextFast decodes a cell of FAST_DIFF.
func (d *blockDecoder) nextFast() (bool, error) {
	if d.nextCached() {
		d.sameRow = true
		return true, nil
	}
	if d.keyStale {
		d.materializeKey()
	}
	before := d.timestamp
	flag, rest := d.nextFastDiff()
	if ok, err := d.finishCell(); !ok {
		return ok, err
	}
	if d.sameRow {
		d.cacheTransition(flag, rest, before)
	} else {
		d.qualifierAt = qualifierOffset(len(d.cell.Row), len(d.cell.Family))
		d.cacheRowStart()
	}
	return true, nil
}

// finishCell assembles the cell from its decoded parts.
func (d *blockDecoder) finishCell() (bool, error) {
	if d.mvcc && d.in.vlong() != 0 {
		d.skippedSequences = true
	}
	if d.in.bad() {
		return false, d.in.err
	}
	if d.sameRow {
		d.nextInRow()
		return true, nil
	}
	var err error
	if d.cell, err = parseKey(d.key); err != nil {
		d.in.fail("%v", err)
		return false, d.in.err
	}
	d.cell.Value = d.value
	if d.first && d.encoding != EncodeDiff {
		d.family = append(d.family[:0], d.cell.Family...)
	}
	d.first = false
	return true, nil
}

// nextInRow assembles the next cell of the same row from the key, whose lengths were checked with the row's first
// cell.
func (d *blockDecoder) nextInRow() {
	rowEnd, tail := rowLengthLen+len(d.cell.Row), len(d.key)-timestampLen-typeLen
	at := qualifierOffset(len(d.cell.Row), len(d.cell.Family))
	d.cell.Row, d.cell.Family, d.cell.Qualifier = d.key[rowLengthLen:rowEnd:rowEnd],
		d.key[rowEnd+familyLengthLen:at:at], d.key[at:tail:tail]
	d.cell.Timestamp, d.cell.Type = int64(d.timestamp), cell.KeyType(d.kind)
	d.cell.Value = d.value
}

// rowLen is the length of the last key's row.
func (d *blockDecoder) rowLen() int { return int(binary.BigEndian.Uint16(d.key)) }

// setKey copies a key into memory in which later keys are assembled.
func (d *blockDecoder) setKey(key []byte) {
	d.keyBuf = append(d.keyBuf[:0], key...)
	d.key = d.keyBuf
}

// resizeKey makes the key n bytes long and keeps its first keep bytes.
func (d *blockDecoder) resizeKey(n, keep int) {
	if n > cap(d.keyBuf) {
		bigger := make([]byte, n, 2*n)
		copy(bigger, d.key[:keep])
		d.keyBuf = bigger
	}
	d.key = d.keyBuf[:n]
}

// skipTags skips the tags of an encoded cell.
func (d *blockDecoder) skipTags() {
	if d.tags {
		d.skip(d.in.compressedInt())
	}
}

// skip skips n bytes of tags.
func (d *blockDecoder) skip(n int) {
	if n != 0 {
		d.skippedTags = true
		d.in.bytes(n)
	}
}

// cursor reads the parts of a payload. The first error sticks, and everything read after it is zero: callers may read
// several parts and check once.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) bad() bool { return c.err != nil }

// fail records the fault at the current position.
func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at payload byte %d: %s", ErrCorrupt, c.at, fmt.Sprintf(format, args...))
	}
}

// bytes reads n bytes, as a view.
func (c *cursor) bytes(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.b)-c.at {
		c.fail("%d bytes wanted, %d left", n, len(c.b)-c.at)
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

func (c *cursor) rest() []byte { return c.b[c.at:] }

// truncate drops all but the next n bytes.
func (c *cursor) truncate(n int) { c.b = c.b[:c.at+n] }

func (c *cursor) byte() byte {
	if c.err == nil && c.at < len(c.b) {
		c.at++
		return c.b[c.at-1]
	}
	c.bytes(1)
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if b := c.bytes(8); b != nil {
		return be64(b)
	}
	return 0
}

// compressedInt reads what appendCompressedInt writes. Anything larger than an int is an error.
func (c *cursor) compressedInt() int {
	if c.at < len(c.b) && c.b[c.at] < 0x80 && c.err == nil { // the usual case
		c.at++
		return int(c.b[c.at-1])
	}
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<31-1 {
				break
			}
			return int(v)
		}
	}
	c.fail("length out of range")
	return 0
}

// vlong reads a Hadoop vlong or vint (WritableUtils.readVLong).
func (c *cursor) vlong() int64 {
	if c.at < len(c.b) && c.b[c.at] == 0 && c.err == nil { // the usual case
		c.at++
		return 0
	}
	first := int8(c.byte())
	if first >= -112 {
		return int64(first)
	}
	n, negative := -112-int(first), false
	if first < -120 {
		n, negative = -120-int(first), true
	}
	var v int64
	for _, b := range c.bytes(n) {
		v = v<<8 | int64(b)
	}
	if negative {
		return ^v
	}
	return v
}

// appendVInt appends a Hadoop vint or vlong (WritableUtils.writeVLong): one byte for -112 to 127, otherwise a byte
// with sign and length, and then the bytes of the value or its complement, big-endian.
func appendVInt(dst []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(dst, byte(v))
	}
	tag := -112
	if v < 0 {
		v, tag = ^v, -120
	}
	n := 1
	for v>>(8*n) != 0 && n < 8 {
		n++
	}
	dst = append(dst, byte(tag-n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// vintLen is how many bytes appendVInt appends for a length.
func vintLen(v int) int {
	n := 1
	if v > 127 {
		for ; v != 0; v >>= 8 {
			n++
		}
	}
	return n
}

func be64(b []byte) uint64       { return binary.BigEndian.Uint64(b) }
func putBE64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"bulkload/cell"
)

// FAST_DIFF (FastDiffDeltaEncoder.compressSingleKeyValue) stores a cell's differences from the one before:
//
//	byte flag
//	[compressed int key length]     unless equal
//	[compressed int value length]   unless equal
//	compressed int common           leading bytes of the key that are equal, at most to the end of the qualifier
//	rest of row length and row, and the whole qualifier, if the row differs; otherwise the rest of the qualifier
//	last 1 to 8 bytes of the timestamp
//	[byte type]                     unless equal
//	[value]                         unless equal
//	[compressed int tags length, tags] [vlong sequence id]
//
// The first cell of a block has flag 0, common 0 and its whole key. The family is stored nowhere else.
const (
	fastDiffTimestamp    = 0x07 // how many leading bytes of the timestamp are equal, at most 7
	fastDiffSameKeyLen   = 0x08
	fastDiffSameValueLen = 0x10
	fastDiffSameType     = 0x20
	fastDiffSameValue    = 0x40
)

func (e *blockEncoder) addFastDiff(c *cell.Cell, keyLen int) {
	if e.cells == 0 {
		e.buf = append(e.buf, 0)
		e.buf = appendCompressedInt(e.buf, keyLen)
		e.buf = appendCompressedInt(e.buf, len(c.Value))
		e.buf = append(e.buf, 0)
		e.buf = appendKey(e.buf, c)
		e.appendValue(c.Value)
		return
	}
	p := &e.prev
	flagAt := len(e.buf)
	flag := byte(min(bits.LeadingZeros64(uint64(c.Timestamp^p.timestamp))/8, fastDiffTimestamp))
	sameTimestamp := int(flag)
	e.buf = append(e.buf, 0)
	if keyLen == p.keyLen {
		flag |= fastDiffSameKeyLen
	} else {
		e.buf = appendCompressedInt(e.buf, keyLen)
	}
	if len(c.Value) == p.value.len {
		flag |= fastDiffSameValueLen
	} else {
		e.buf = appendCompressedInt(e.buf, len(c.Value))
	}
	e.appendKeyRest(c)
	var ts [timestampLen]byte
	binary.BigEndian.PutUint64(ts[:], uint64(c.Timestamp))
	e.buf = append(e.buf, ts[sameTimestamp:]...)
	if c.Type == p.kind {
		flag |= fastDiffSameType
	} else {
		e.buf = append(e.buf, byte(c.Type))
	}
	if flag&fastDiffSameValueLen != 0 && bytes.Equal(c.Value, p.value.bytesIn(e.buf)) {
		flag |= fastDiffSameValue
	} else {
		e.appendValue(c.Value)
	}
	e.buf[flagAt] = flag
}

// appendKeyRest appends common, and the rest of row and qualifier, as DIFF and FAST_DIFF do.
func (e *blockEncoder) appendKeyRest(c *cell.Cell) {
	common := e.prev.common(c)
	e.buf = appendCompressedInt(e.buf, common)
	if common < rowLengthLen+len(c.Row) {
		e.buf = appendRowRest(e.buf, c.Row, common)
		e.buf = append(e.buf, c.Qualifier...)
		return
	}
	e.buf = append(e.buf, c.Qualifier[common-qualifierOffset(len(c.Row), len(c.Family)):]...)
}

// nextFastDiff decodes a cell. It returns the flag and, in the same row, the rest of the qualifier.
func (d *blockDecoder) nextFastDiff() (flag byte, rest []byte) {
	flag = d.in.byte()
	keyLen, valueLen := len(d.key), len(d.value)
	if flag&fastDiffSameKeyLen == 0 {
		keyLen = d.in.compressedInt()
	}
	if flag&fastDiffSameValueLen == 0 {
		valueLen = d.in.compressedInt()
	}
	common := d.in.compressedInt()
	if d.first {
		d.firstFullKey(keyLen, common)
	} else {
		at := d.in.at
		if !d.nextKeyRest(keyLen, common) {
			return
		}
		rest = d.in.b[at:d.in.at]
		d.timestamp = d.in.timestampRest(d.timestamp, int(flag&fastDiffTimestamp))
		if flag&fastDiffSameType == 0 {
			d.kind = d.in.byte()
		}
		d.putTail()
	}
	if flag&fastDiffSameValue == 0 {
		d.value = d.in.bytes(valueLen)
	} else if valueLen != len(d.value) || d.first {
		d.in.fail("the same value of another length")
	}
	d.skipTags()
	return flag, rest
}

// firstFullKey reads the key of a block's first cell.
func (d *blockDecoder) firstFullKey(keyLen, common int) {
	if common != 0 {
		d.in.fail("first cell shares %d bytes with a cell before it", common)
		return
	}
	d.setKey(d.in.bytes(keyLen))
	if len(d.key) >= keyOverhead { // otherwise the key is refused when it is parsed
		tail := d.keyTail()
		d.timestamp, d.kind = be64(tail[:]), tail[timestampLen]
	}
}

// putTail writes timestamp and type into a key that will be parsed. In the same row nobody reads them there.
func (d *blockDecoder) putTail() {
	if !d.sameRow {
		putBE64(d.key[len(d.key)-timestampLen-typeLen:], d.timestamp)
		d.key[len(d.key)-typeLen] = d.kind
	}
}

// timestampRest reads the last bytes of a timestamp, whose first ones are those of the last timestamp.
func (c *cursor) timestampRest(last uint64, same int) uint64 {
	rest := c.bytes(timestampLen - same)
	v := last >> (8 * len(rest)) // 64 makes it 0
	for _, b := range rest {
		v = v<<8 | uint64(b)
	}
	return v
}

// keyTail is the timestamp and type of the last key.
func (d *blockDecoder) keyTail() (tail [timestampLen + typeLen]byte) {
	copy(tail[:], d.key[len(d.key)-len(tail):])
	return tail
}

// nextKeyRest makes the next key, keyLen bytes long, out of the last one and the rest of row and qualifier. Its
// timestamp and type are filled in later. It returns false if the input is bad.
func (d *blockDecoder) nextKeyRest(keyLen, common int) bool {
	end := keyLen - timestampLen - typeLen // of the qualifier
	oldRowLen := d.rowLen()
	// The common part ends with the qualifier at the latest: no encoder counts bytes of the timestamp.
	if d.in.bad() || common > len(d.key)-timestampLen-typeLen || keyLen < keyOverhead ||
		keyLen > maxKeyLen || end < common {
		d.in.fail("key of %d bytes shares %d with one of %d", keyLen, common, len(d.key))
		return false
	}
	if common >= rowLengthLen+oldRowLen { // the same row: a qualifier follows
		if common < qualifierOffset(oldRowLen, len(d.family)) {
			d.in.fail("common part of %d bytes ends in the family", common)
			return false
		}
		d.resizeKey(keyLen, common)
		copy(d.key[common:end], d.in.bytes(end-common))
		d.sameRow = true
		return !d.in.bad()
	}
	return d.nextRow(keyLen, common)
}

// nextRow makes the next key's row, family and qualifier if the row differs from the last one.
func (d *blockDecoder) nextRow(keyLen, common int) bool {
	end := keyLen - timestampLen - typeLen
	var length [rowLengthLen]byte
	copy(length[:], d.key[:rowLengthLen])
	for i := common; i < rowLengthLen; i++ {
		length[i] = d.in.byte()
	}
	rowLen := int(binary.BigEndian.Uint16(length[:]))
	qualifierAt := qualifierOffset(rowLen, len(d.family))
	if d.in.bad() || rowLen > maxRowLen || qualifierAt > end || common > rowLengthLen+rowLen {
		d.in.fail("row of %d bytes in a key of %d", rowLen, keyLen)
		return false
	}
	keep := max(common, rowLengthLen)
	d.resizeKey(keyLen, keep)
	copy(d.key, length[:])
	copy(d.key[keep:rowLengthLen+rowLen], d.in.bytes(rowLengthLen+rowLen-keep))
	d.key[rowLengthLen+rowLen] = byte(len(d.family))
	copy(d.key[qualifierAt-len(d.family):], d.family)
	copy(d.key[qualifierAt:end], d.in.bytes(end-qualifierAt))
	return !d.in.bad()
}

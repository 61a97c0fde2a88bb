package hfilewriter

import (
	"math/bits"

	"bulkload/cell"
)

// DIFF (DiffKeyDeltaEncoder.compressSingleKeyValue). Before the first cell of a block: byte family length, family.
// Then for each cell:
//
//	byte flag
//	[compressed int key length] [compressed int value length]   unless equal
//	compressed int common, rest of row and qualifier            as FAST_DIFF; the first cell has its row and qualifier
//	timestamp, or the one before less it: 1 to 8 bytes of the absolute value, low ones first
//	[byte type]                                                 unless equal
//	value
//	[compressed int tags length, tags] [vlong sequence id]
const (
	diffSameKeyLen    = 0x01
	diffSameValueLen  = 0x02
	diffSameType      = 0x04
	diffTimestampDiff = 0x08
	diffTimestampLen  = 0x70 // bytes less one, shifted by diffTimestampShift
	diffTimestampNeg  = 0x80

	diffTimestampShift = 4
)

func (e *blockEncoder) addDiff(c *cell.Cell, keyLen int) {
	first, p := e.cells == 0, &e.prev
	if first {
		e.buf = append(e.buf, byte(len(c.Family)))
		e.buf = append(e.buf, c.Family...)
	}
	flagAt, flag := len(e.buf), byte(0)
	e.buf = append(e.buf, 0)
	if !first && keyLen == p.keyLen {
		flag |= diffSameKeyLen
	} else {
		e.buf = appendCompressedInt(e.buf, keyLen)
	}
	if !first && len(c.Value) == p.value.len {
		flag |= diffSameValueLen
	} else {
		e.buf = appendCompressedInt(e.buf, len(c.Value))
	}
	stamp, n := c.Timestamp, storedLen(c.Timestamp)
	if first {
		e.buf = append(e.buf, 0)
		e.buf = appendRowRest(e.buf, c.Row, 0)
		e.buf = append(e.buf, c.Qualifier...)
	} else {
		e.appendKeyRest(c)
		if less := p.timestamp - c.Timestamp; storedLen(less) < n {
			stamp, n = less, storedLen(less)
			flag |= diffTimestampDiff
		}
	}
	if stamp < 0 {
		stamp = -stamp
		flag |= diffTimestampNeg
	}
	flag |= byte(n-1) << diffTimestampShift
	for i := range n {
		e.buf = append(e.buf, byte(uint64(stamp)>>(8*i)))
	}
	if !first && c.Type == p.kind {
		flag |= diffSameType
	} else {
		e.buf = append(e.buf, byte(c.Type))
	}
	e.buf[flagAt] = flag
	e.appendValue(c.Value)
}

// storedLen is how many bytes the absolute value of v needs, 1 to 8; 8 for the smallest number, which has none.
func storedLen(v int64) int {
	if v < 0 {
		v = -v
	}
	return max(1, (bits.Len64(uint64(v))+7)/8)
}

// zeroKey is the key before a block's first cell, which shares nothing with it.
var zeroKey [keyOverhead]byte

func (d *blockDecoder) nextDiff() {
	if d.first {
		d.family = append(d.family[:0], d.in.bytes(int(d.in.byte()))...)
		if len(d.family) > maxFamilyLen {
			d.in.fail("family of %d bytes", len(d.family))
			return
		}
		d.setKey(zeroKey[:]) // nothing to share, see nextRow
	}
	flag := d.in.byte()
	keyLen, valueLen := len(d.key), len(d.value)
	if flag&diffSameKeyLen == 0 {
		keyLen = d.in.compressedInt()
	}
	if flag&diffSameValueLen == 0 {
		valueLen = d.in.compressedInt()
	}
	common := d.in.compressedInt()
	if d.first && (common != 0 || flag&(diffSameKeyLen|diffSameValueLen|diffSameType|diffTimestampDiff) != 0) {
		d.in.fail("first cell refers to a cell before it")
		return
	}
	tail := d.keyTail()
	if !d.diffKey(keyLen, common) {
		return
	}
	d.diffTimestamp(flag, &tail)
	if flag&diffSameType == 0 {
		tail[timestampLen] = d.in.byte()
	}
	copy(d.key[keyLen-len(tail):], tail[:])
	d.timestamp, d.kind = be64(tail[:]), tail[timestampLen]
	d.value = d.in.bytes(valueLen)
	d.skipTags()
}

func (d *blockDecoder) diffKey(keyLen, common int) bool {
	if !d.first {
		return d.nextKeyRest(keyLen, common)
	}
	if keyLen < keyOverhead || keyLen > maxKeyLen {
		d.in.fail("key of %d bytes", keyLen)
		return false
	}
	return d.nextRow(keyLen, 0)
}

// diffTimestamp replaces the timestamp in a key's tail by the stored one.
func (d *blockDecoder) diffTimestamp(flag byte, tail *[timestampLen + typeLen]byte) {
	var v uint64
	for i, b := range d.in.bytes(int(flag&diffTimestampLen>>diffTimestampShift) + 1) {
		v |= uint64(b) << (8 * i)
	}
	stamp := int64(v)
	if flag&diffTimestampNeg != 0 {
		stamp = -stamp
	}
	if flag&diffTimestampDiff != 0 {
		stamp = int64(be64(tail[:])) - stamp
	}
	putBE64(tail[:], uint64(stamp))
}

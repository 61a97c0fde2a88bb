package hfilewriter

import (
	"math/bits"

	"bulkload/cell"
)

// addPrefix adds a cell in PREFIX (PrefixKeyDeltaEncoder.addKV):
//
//	compressed int key length less common, compressed int value length, compressed int common
//	the key's bytes after the first common ones, value
//	[compressed int tags length, tags] [vlong sequence id]
//
// Unlike in DIFF and FAST_DIFF, common counts equal bytes of timestamp and type too. The first cell of a block has
// common 0.
func (e *blockEncoder) addPrefix(c *cell.Cell, keyLen int) {
	common := 0
	if e.cells > 0 {
		common = e.prev.commonToEnd(c, keyLen)
	}
	e.buf = appendCompressedInt(e.buf, keyLen-common)
	e.buf = appendCompressedInt(e.buf, len(c.Value))
	e.buf = appendCompressedInt(e.buf, common)
	at := len(e.buf)
	e.buf = appendKey(e.buf, c)
	e.buf = append(e.buf[:at], e.buf[at+common:]...)
	e.appendValue(c.Value)
}

// commonToEnd is common, and continues into timestamp and type if row and qualifier are equal.
func (p *previous) commonToEnd(c *cell.Cell, keyLen int) int {
	n := p.common(c)
	if n < keyLen-timestampLen-typeLen || len(p.qualifier) != len(c.Qualifier) {
		return n
	}
	same := bits.LeadingZeros64(uint64(c.Timestamp^p.timestamp)) / 8
	if same == timestampLen && p.kind == c.Type {
		same++
	}
	return n + same
}

func (d *blockDecoder) nextPrefix() {
	rest, valueLen, common := d.in.compressedInt(), d.in.compressedInt(), d.in.compressedInt()
	if d.first && common != 0 || common > len(d.key) || rest > maxKeyLen {
		d.in.fail("key shares %d bytes with one of %d and has %d of its own", common, len(d.key), rest)
		return
	}
	own := d.in.bytes(rest)
	d.resizeKey(common+rest, common)
	copy(d.key[common:], own)
	d.value = d.in.bytes(valueLen)
	d.skipTags()
}

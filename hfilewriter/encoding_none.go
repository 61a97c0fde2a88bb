package hfilewriter

import (
	"encoding/binary"

	"bulkload/cell"
)

// addUnencoded adds a cell without encoding (NoneEncoder.write, KeyValueUtil.oswrite):
//
//	int key length, int value length, key, value
//	[short tags length, tags]   only in files with tags
//	[vlong sequence id]         only in files with sequence ids
func (e *blockEncoder) addUnencoded(c *cell.Cell, keyLen int) {
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(keyLen))
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(len(c.Value)))
	e.rowAt = len(e.buf)
	e.buf = appendKey(e.buf, c)
	e.appendValue(c.Value)
}

func (d *blockDecoder) nextUnencoded() {
	keyLen, valueLen := int(d.in.uint32()), int(d.in.uint32())
	d.key = d.in.bytes(keyLen)
	d.value = d.in.bytes(valueLen)
	if d.tags {
		d.skip(int(d.in.uint16()))
	}
}

// addRowIndex adds a cell in ROW_INDEX_V1 (RowIndexEncoderV1), which stores unencoded cells, then the offset of each
// row:
//
//	int n, int offset[n]   of a row's first cell, from the block's first cell
//	int length of all cells
func (e *blockEncoder) addRowIndex(c *cell.Cell, keyLen int) {
	if e.cells == 0 || string(c.Row) != string(e.prev.row) {
		e.rows = append(e.rows, uint32(len(e.buf)-e.start))
	}
	e.addUnencoded(c, keyLen)
}

func (e *blockEncoder) endRowIndex() {
	cells := len(e.buf) - e.start
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(len(e.rows)))
	for _, at := range e.rows {
		e.buf = binary.BigEndian.AppendUint32(e.buf, at)
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(cells))
}

// trimRowIndex removes the row index from a payload and leaves the cells. The index must follow them exactly: HBase
// bisects in it, and an index of another length would send gets into the middle of a cell.
func (d *blockDecoder) trimRowIndex() {
	b := d.in.rest()
	if len(b) < 8 {
		d.in.fail("%d bytes are too few for a row index", len(b))
		return
	}
	cells := int64(binary.BigEndian.Uint32(b[len(b)-4:]))
	if cells > int64(len(b)-8) {
		d.in.fail("row index says %d bytes of cells, block has %d", cells, len(b)-8)
		return
	}
	rows := int64(binary.BigEndian.Uint32(b[cells:]))
	if cells+4+4*rows+4 != int64(len(b)) {
		d.in.fail("row index of %d rows does not fill the block after %d bytes of cells", rows, cells)
		return
	}
	d.in.truncate(int(cells))
}

package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"bulkload/cell"
	"bulkload/internal/poison"
	"bulkload/sortentry"
	"bulkload/values"
)

// Columns is the fixed order of a family's columns, for AppendRow. It is immutable and safe for concurrent use.
type Columns struct {
	family     []byte
	qualifiers [][]byte
}

// NewColumns copies a family and its qualifiers, which must be in HBase's order: strictly ascending.
func NewColumns(family []byte, qualifiers [][]byte) (*Columns, error) {
	if len(family) > maxFamilyLen {
		return nil, fmt.Errorf("%w: family of %d bytes; HBase accepts at most %d", ErrLength, len(family), maxFamilyLen)
	}
	c := &Columns{family: bytes.Clone(family)}
	for i, q := range qualifiers {
		if i > 0 && bytes.Compare(qualifiers[i-1], q) >= 0 {
			return nil, fmt.Errorf("%w: qualifier %q after %q", ErrOrder, q, qualifiers[i-1])
		}
		if len(q) > maxQualifierLen {
			return nil, fmt.Errorf("%w: qualifier of %d bytes; at most %d are possible", ErrLength, len(q), maxQualifierLen)
		}
		c.qualifiers = append(c.qualifiers, bytes.Clone(q))
	}
	return c, nil
}

// AppendRow adds one row of Puts: values[i] is the value of column i, null for no cell. The bytes are those of Append
// for each cell, but it is faster, because the part that a row's cells share is compared and prepared once. A row
// without any value adds nothing. The row and the values are not retained.
func (w *Writer) AppendRow(columns *Columns, row []byte, timestamp int64, fields []values.Value) error {
	if w.err != nil {
		return w.err
	}
	if len(fields) != len(columns.qualifiers) {
		w.err = fmt.Errorf("row %q has %d values for %d columns", row, len(fields), len(columns.qualifiers))
		return w.err
	}
	w.packed = w.packed[:0]
	for _, v := range fields {
		w.packed = sortentry.AppendValue(w.packed, v)
	}
	_, _, err := w.AppendPacked(columns, row, timestamp, w.packed)
	return err
}

// AppendPacked is AppendRow for values that sortentry.AppendValue packed one after another; more bytes may follow
// them. It returns the number of cells added and the bytes after the columns' values. Damaged values are
// sortentry.ErrDamaged. Bytes between the length and the capacity of packed may be read too, though they change
// nothing.
func (w *Writer) AppendPacked(columns *Columns, row []byte, timestamp int64,
	packed []byte) (cells int, rest []byte, err error) {
	if w.err != nil {
		return 0, nil, w.err
	}
	before := w.stats.cells
	var lent poison.Lent
	rest, w.err = w.appendPacked(columns, lent.Bytes(row), timestamp, lent.Bytes(packed))
	if poison.Enabled {
		rest = packed[len(packed)-len(rest):]
	}
	lent.End()
	return int(w.stats.cells - before), rest, w.err
}

func (w *Writer) appendPacked(columns *Columns, row []byte, timestamp int64, packed []byte) ([]byte, error) {
	i, packed, err := skipEmpty(columns, 0, packed)
	if err != nil || i == len(columns.qualifiers) {
		return packed, err
	}
	value, packed, err := sortentry.CutValue(packed)
	if err != nil {
		return nil, err
	}
	next := cell.Cell{Row: row, Family: columns.family, Qualifier: columns.qualifiers[i], Timestamp: timestamp,
		Type: cell.Put, Value: value.Bytes()}
	if w.appendFirst(&next, columns, i) {
		return w.appendByTemplate(&next, i, packed)
	}
	sameRow := w.stats.cells > 0 && bytes.Equal(row, w.enc.prev.row)
	if err := w.Append(&next); err != nil {
		return nil, err
	}
	if sameRow || w.settings.Bloom == BloomRowCol ||
		!w.template.prepare(w.settings.Encoding, columns, len(row), timestamp) {
		return w.appendRest(&next, columns, i+1, packed)
	}
	return w.appendByTemplate(&next, i, packed)
}

// appendFirst does what Append does for the first cell of a row, whose column is i, if the row before was like this
// one: same length, timestamp and columns. It returns false, and has done nothing, if the cell isn't in order, begins a
// block or is the largest so far: Append does the rest.
//
// It leaves the last cell's qualifier to syncPrev, with which appendByTemplate ends.
func (w *Writer) appendFirst(c *cell.Cell, columns *Columns, i int) bool {
	p, e := &w.template, &w.enc
	before := &e.prev
	if p.columns != columns || e.encoding != EncodeFastDiff || w.settings.Bloom == BloomRowCol ||
		p.timestamp != c.Timestamp || before.timestamp != c.Timestamp || before.kind != cell.Put ||
		len(c.Row) != p.rowLen || len(c.Row) != len(before.row) {
		return false
	}
	at, keyLen := commonPrefix(before.row, c.Row), p.cells[i].keyLen
	if at == len(c.Row) || before.row[at] > c.Row[at] || e.cells == 0 || e.full(w.settings.BlockSize) ||
		len(c.Value) > maxValueLen || int64(keyLen+len(c.Value)) > w.stats.biggest {
		return false
	}
	w.addToBlooms(c, newRow)
	flagAt, flag := len(e.buf), byte(fastDiffTimestamp|fastDiffSameType)
	buf := append(e.buf, 0)
	if keyLen == before.keyLen {
		flag |= fastDiffSameKeyLen
	} else {
		buf = appendCompressedInt(buf, keyLen)
	}
	if len(c.Value) == before.value.len {
		flag |= fastDiffSameValueLen
	} else {
		buf = appendCompressedInt(buf, len(c.Value))
	}
	buf = appendCompressedInt(buf, rowLengthLen+at)
	buf = append(buf, c.Row[at:]...)
	buf = append(buf, c.Qualifier...)
	buf = append(buf, byte(c.Timestamp))
	if flag&fastDiffSameValueLen != 0 && bytes.Equal(c.Value, before.value.bytesIn(buf)) {
		flag |= fastDiffSameValue
	} else {
		before.value = span{len(buf), len(c.Value)}
		buf = append(buf, c.Value...)
	}
	buf = append(buf, 0) // sequence id
	buf[flagAt] = flag
	e.buf = buf
	copy(before.row[at:], c.Row[at:])
	e.cells++
	e.unencoded += cellOverhead + keyLen + len(c.Value) + mvccLen
	w.stats.cells++
	w.stats.keyBytes += int64(keyLen)
	w.stats.valueBytes += int64(len(c.Value))
	return true
}

// skipEmpty advances from column i to the next one that has a value.
func skipEmpty(columns *Columns, i int, packed []byte) (int, []byte, error) {
	for ; i < len(columns.qualifiers); i++ {
		if len(packed) == 0 {
			return i, nil, sortentry.ErrDamaged
		}
		if packed[0] != 0 {
			break
		}
		packed = packed[1:]
	}
	return i, packed, nil
}

// appendRest adds a row's cells from column i on, one by one.
func (w *Writer) appendRest(next *cell.Cell, columns *Columns, i int, packed []byte) (rest []byte, err error) {
	for ; i < len(columns.qualifiers); i++ {
		var v values.Value
		if v, packed, err = sortentry.CutValue(packed); err != nil {
			return nil, err
		}
		if v.Null() {
			continue
		}
		next.Qualifier, next.Value = columns.qualifiers[i], v.Bytes()
		if err := w.Append(next); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// appendByTemplate adds the cells after column i, whose cell was added last. A cell that begins a block, or follows a
// column without a cell, is added as Append does.
func (w *Writer) appendByTemplate(next *cell.Cell, i int, packed []byte) (rest []byte, err error) {
	p, e, blockSize := &w.template, &w.enc, w.settings.BlockSize
	for last := i; ; {
		if e.encoding == EncodeFastDiff {
			last, packed = e.appendFast(p, last, packed, blockSize, &w.stats)
		}
		if i, packed, err = skipEmpty(p.columns, last+1, packed); err != nil {
			return nil, err
		}
		if i == len(p.cells) {
			e.syncPrev(p, last)
			return packed, nil
		}
		var value values.Value
		if value, packed, err = sortentry.CutValue(packed); err != nil {
			return nil, err
		}
		v := value.Bytes()
		if len(v) > maxValueLen || i != last+1 || e.full(blockSize) {
			e.syncPrev(p, last)
			next.Qualifier, next.Value = p.columns.qualifiers[i], v
			if err := w.check(next); err != nil {
				return nil, err
			}
			if err := w.appendOrdered(next, sameRow); err != nil {
				return nil, err
			}
		} else {
			if e.encoding == EncodeNone {
				e.addTemplateUnencoded(&p.cells[i], next, v)
			} else {
				e.addTemplateFastDiff(&p.cells[i], v)
			}
			w.stats.addTemplate(&p.cells[i], next, v)
		}
		last = i
	}
}

// rowTemplate is the part of cells that depends neither on the row's bytes nor on the value, given that the cell before
// is that of the column before, in the same row.
type rowTemplate struct {
	columns   *Columns
	rowLen    int
	timestamp int64
	cells     []cellTemplate
	buf       []byte
}

// cellTemplate is one column of a template.
type cellTemplate struct {
	qualifier []byte
	keyLen    int
	flag      byte   // FAST_DIFF: the bits known in advance: what is equal
	length    []byte // FAST_DIFF: the key's length, if it differs
	// FAST_DIFF: common, rest of the qualifier, last byte of the timestamp; NONE: qualifier, timestamp, type
	rest []byte

	// FAST_DIFF: the same bytes as little-endian words: flag and length, and the first 16 bytes of rest.
	head  uint64
	words [2]uint64
}

// prepare adapts the template to rows of this length and timestamp, mostly those of the row before; false if the
// encoding has no templates.
func (p *rowTemplate) prepare(encoding Encoding, columns *Columns, rowLen int, timestamp int64) bool {
	if encoding != EncodeFastDiff && encoding != EncodeNone {
		return false
	}
	if p.columns == columns && p.rowLen == rowLen {
		if p.timestamp != timestamp {
			p.setTimestamp(encoding, timestamp)
		}
		return true
	}
	*p = rowTemplate{columns: columns, rowLen: rowLen, timestamp: timestamp,
		cells: slices.Grow(p.cells[:0], len(columns.qualifiers)), buf: p.buf[:0]}
	for i, q := range columns.qualifiers {
		c := cellTemplate{qualifier: q, keyLen: keyOverhead + rowLen + len(columns.family) + len(q)}
		if encoding == EncodeNone {
			c.rest = p.store(append(binary.BigEndian.AppendUint64(slices.Clone(q), uint64(timestamp)), byte(cell.Put)))
		} else if i > 0 {
			c.prepareFastDiff(p, columns, i)
		}
		p.cells = append(p.cells, c)
	}
	return true
}

// setTimestamp changes the template's timestamp, for input whose rows have one each.
func (p *rowTemplate) setTimestamp(encoding Encoding, timestamp int64) {
	p.timestamp = timestamp
	for i := range p.cells {
		switch rest := p.cells[i].rest; {
		case len(rest) == 0: // FAST_DIFF has no template for the first column
		case encoding == EncodeNone:
			binary.BigEndian.PutUint64(rest[len(rest)-1-timestampLen:], uint64(timestamp))
		default:
			last := len(rest) - 1
			rest[last] = byte(timestamp)
			if word, shift := last/8, last%8*8; word < len(p.cells[i].words) {
				w := &p.cells[i].words[word]
				*w = *w&^(0xff<<shift) | uint64(byte(timestamp))<<shift
			}
		}
	}
}

// prepareFastDiff prepares the cell of column i after that of column i-1.
func (c *cellTemplate) prepareFastDiff(p *rowTemplate, columns *Columns, i int) {
	before := columns.qualifiers[i-1]
	c.flag = fastDiffTimestamp | fastDiffSameType // all eight bytes are equal, but the flag can only say seven
	if len(c.qualifier) == len(before) {
		c.flag |= fastDiffSameKeyLen
	} else {
		c.length = p.store(appendCompressedInt(nil, c.keyLen))
	}
	same := commonPrefix(before, c.qualifier)
	rest := appendCompressedInt(nil, qualifierOffset(p.rowLen, len(columns.family))+same)
	rest = append(rest, c.qualifier[same:]...)
	c.rest = p.store(append(rest, byte(p.timestamp)))
	c.head, _ = maskedWord(append([]byte{c.flag}, c.length...))
	for i := range c.words {
		c.words[i], _ = maskedWord(c.rest[min(8*i, len(c.rest)):])
	}
}

// store copies bytes into the template's buffer, so that all its bytes are close to each other.
func (p *rowTemplate) store(b []byte) []byte {
	at := len(p.buf)
	p.buf = append(p.buf, b...)
	return p.buf[at:len(p.buf):len(p.buf)]
}

// addTemplateFastDiff is addFastDiff by a template.
func (e *blockEncoder) addTemplateFastDiff(c *cellTemplate, value []byte) {
	flag, flagAt := c.flag, len(e.buf)
	buf := append(append(e.buf, flag), c.length...)
	sameLen := len(value) == e.prev.value.len
	if sameLen {
		flag |= fastDiffSameValueLen
	} else {
		buf = appendCompressedInt(buf, len(value))
	}
	buf = append(buf, c.rest...)
	if sameLen && bytes.Equal(value, e.prev.value.bytesIn(buf)) {
		flag |= fastDiffSameValue
	} else {
		e.prev.value = span{len(buf), len(value)}
		buf = append(buf, value...)
	}
	buf = append(buf, 0) // sequence id
	buf[flagAt] = flag
	e.buf = buf
	e.cells++
	e.unencoded += cellOverhead + c.keyLen + len(value) + mvccLen
}

// appendWindow is the room that appendFast needs for a cell. A cell has at most 150 bytes: 6 of flag and key length, 1
// of the value's length, 16 of rest, 126 of value, and 1 of sequence id. Words may reach past the cell's end. The next
// cell overwrites those bytes, and after the last cell they are beyond e.buf's length. The size is a power of two, so
// that masks prove to the compiler that indexes are inside. No mask in appendFast changes its index.
const appendWindow = 256

// appendFast does the work of addTemplateFastDiff for the cells after column i, writing words instead of bytes, as
// long as each column has a value, names and values are short, no cell is the largest so far, and the block has space.
// It returns the last column added and the values after it.
func (e *blockEncoder) appendFast(p *rowTemplate, i int, packed []byte, blockSize int,
	s *stats) (last int, rest []byte) {
	buf, at, before, unencoded := e.buf[:cap(e.buf)], len(e.buf), e.prev.value, e.unencoded
	var keyBytes, valueBytes int
	from, full, biggest := i, min(e.start+blockSize, len(buf)-appendWindow), int(s.biggest)
	cells := p.cells[i+1:]
	for j := range cells {
		c := &cells[j]
		if len(packed) == 0 {
			break
		}
		n := int(packed[0])
		if n < 1 || n > 0x7f || n > len(packed) || len(c.rest) > 16 || at >= full || unencoded >= blockSize ||
			c.keyLen+n-1 > biggest {
			break
		}
		v := packed[1:n]
		w := (*[appendWindow]byte)(buf[at:])
		flag := c.flag
		binary.LittleEndian.PutUint64(w[:], c.head)
		on := (1 + len(c.length)) & 7
		same := len(v) == before.len
		if same {
			flag |= fastDiffSameValueLen
		} else {
			w[on] = byte(len(v))
			on++
		}
		keyRest := w[on&15:]
		binary.LittleEndian.PutUint64(keyRest, c.words[0])
		binary.LittleEndian.PutUint64(keyRest[8:], c.words[1])
		on += len(c.rest)
		value := w[on&63:]
		copyShort(value, v)
		if same && equalShort(buf[before.at:], value, len(v)) {
			flag |= fastDiffSameValue
		} else {
			before = span{at + on, len(v)}
			on += len(v)
		}
		w[on&(appendWindow-1)] = 0 // sequence id
		w[0] = flag
		at += on + 1
		i++
		keyBytes += c.keyLen
		valueBytes += len(v)
		unencoded += cellOverhead + c.keyLen + len(v) + mvccLen
		packed = packed[n:]
	}
	e.buf, e.prev.value, e.unencoded = buf[:at], before, unencoded
	e.cells += i - from
	s.cells += int64(i - from)
	s.keyBytes += int64(keyBytes)
	s.valueBytes += int64(valueBytes)
	return i, packed
}

// copyShort copies v, mostly short, into dst, which has room for it and at least 16 bytes. Bytes after the copy may
// change too.
func copyShort(dst, v []byte) {
	if n := len(v); n > 16 && n <= 32 {
		*(*[16]byte)(dst) = [16]byte(v) // twice 16 bytes, which overlap
		*(*[16]byte)(dst[n-16:]) = [16]byte(v[n-16:])
		return
	} else if n > 16 || cap(v) < 16 {
		copy(dst, v)
		return
	}
	v = v[:16]
	binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(v))
	binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(v[8:]))
}

// equalShort compares the first n bytes of a and b, which have at least 8.
func equalShort(a, b []byte, n int) bool {
	if n <= 8 {
		return (binary.LittleEndian.Uint64(a)^binary.LittleEndian.Uint64(b))<<(64-8*n) == 0
	}
	return bytes.Equal(a[:n], b[:n])
}

// addTemplateUnencoded is addUnencoded by a template.
func (e *blockEncoder) addTemplateUnencoded(c *cellTemplate, next *cell.Cell, value []byte) {
	at := len(e.buf)
	size := cellOverhead + c.keyLen + len(value) + mvccLen
	e.buf = grow(e.buf, size)[:at+size]
	b := e.buf[at:]
	binary.BigEndian.PutUint32(b, uint32(c.keyLen))
	binary.BigEndian.PutUint32(b[4:], uint32(len(value)))
	// Row length, row, family length and family are those of the cell before: copied from there.
	n := cellOverhead + copy(b[cellOverhead:], e.buf[e.rowAt:e.rowAt+qualifierOffset(len(next.Row), len(next.Family))])
	n += copy(b[n:], c.rest)
	e.prev.value = span{at + n, len(value)}
	n += copy(b[n:], value)
	b[n] = 0 // sequence id
	e.rowAt = at + cellOverhead
	e.cells++
	e.unencoded += size
}

// syncPrev updates the cell that Append compares with, which cells by template skip. Column i is the last one added.
// Otherwise the next difference would be to an older cell, and the block could not be decoded.
func (e *blockEncoder) syncPrev(p *rowTemplate, i int) {
	e.prev.qualifier = append(e.prev.qualifier[:0], p.cells[i].qualifier...)
	e.prev.keyLen = p.cells[i].keyLen
}

// addTemplate is add for a Put whose timestamp was counted.
func (s *stats) addTemplate(c *cellTemplate, next *cell.Cell, value []byte) {
	s.cells++
	s.keyBytes += int64(c.keyLen)
	s.valueBytes += int64(len(value))
	if size := int64(c.keyLen + len(value)); size > s.biggest {
		s.biggest = size
		biggest := *next
		biggest.Qualifier = c.qualifier
		s.biggestKey = appendKey(s.biggestKey[:0], &biggest)
	}
}

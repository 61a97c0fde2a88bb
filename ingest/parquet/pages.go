package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"

	"bulkload/internal/poison"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// maxPage is the largest page, in bytes. Writers make them of 1 MiB.
const maxPage = 1 << 30

// pages returns the pages of a column chunk to a column reader of v15, in place of v15's own. It compares each page
// with its checksum and its claims, and counts its values. The column reader asks for a page at the end of each, but
// gets it only if that was allowed, because the values of the last page are views of its buffer.
type pages struct {
	stream   stream
	codec    compress.Compression
	physical parquet.Type
	width    int // of a value, in bytes, if all have the same
	nullable bool
	unpacker *unpacker
	scratch  *[]byte // for compressed pages, shared by the columns

	buf        []byte
	expanded   []byte // the page with values in encoding PLAIN, if v15 has no good decoder
	dictionary []byte
	entries    int // of the dictionary; -1: there is none
	left       int64
	allowed    bool
	page       file.Page
	values     int // of the page, with nulls
	err        error
}

// SetMaxPageHeaderSize does nothing: see maxHeader.
func (p *pages) SetMaxPageHeaderSize(int) {}

// Page is the page that Next found.
func (p *pages) Page() file.Page { return p.page }

// Err is why Next found no page; nil if it was not allowed to look for one.
func (p *pages) Err() error { return p.err }

// Reset is not used: begin begins a chunk.
func (p *pages) Reset(parquet.BufferedReader, int64, compress.Compression, *file.CryptoContext) {
	p.err = errors.New("reset the pages: not for use")
}

// Next finds the next page of values, or the dictionary.
func (p *pages) Next() bool {
	if !p.allowed || p.err != nil {
		return false
	}
	for {
		found, err := p.next()
		if err != nil {
			p.err = err
			return false
		}
		if found {
			return true
		}
	}
}

// next reads a page; false if the page is skipped.
func (p *pages) next() (found bool, err error) {
	if p.page != nil {
		p.page.Release()
		p.page = nil
	}
	if p.stream.left() == 0 {
		return false, fmt.Errorf("the column ends with %d values missing", p.left)
	}
	var h pageHeader
	start := p.stream.offset()
	if err := p.stream.header(&h); err != nil {
		return false, err
	}
	if int64(h.packed) > p.stream.left() {
		return false, fmt.Errorf("read the page at byte %d: it claims %d bytes, the column has %d left",
			start, h.packed, p.stream.left())
	}
	if h.kind != pageData && h.kind != pageDataV2 && h.kind != pageDictionary {
		p.stream.skip(int64(h.packed))
		return false, nil
	}
	if found, err = p.loadPage(&h); err != nil {
		err = fmt.Errorf("read the page at byte %d: %w", start, err)
	}
	return found, err
}

func (p *pages) loadPage(h *pageHeader) (found bool, err error) {
	if !h.body || h.values < 0 {
		return false, errThrift
	}
	if h.kind == pageDictionary {
		return true, p.loadDictionary(h)
	}
	if int64(h.values) > p.left {
		return false, fmt.Errorf("it claims %d values, the column has %d left", h.values, p.left)
	}
	data, err := p.load(h, &p.buf)
	if err != nil {
		return false, err
	}
	if h.values == 0 {
		return false, nil // the column reader would mistake it for the end
	}
	present, at, err := p.count(h, data)
	if err != nil {
		return false, err
	}
	encoding, data, err := p.checkEncoded(h.encoding, data, at, present)
	if err != nil {
		return false, err
	}
	p.left -= int64(h.values)
	p.values, p.allowed = int(h.values), false
	buffer := memory.NewBufferBytes(data)
	if h.kind == pageData {
		p.page = file.NewDataPageV1(buffer, h.values, encoding, h.levels, parquet.Encodings.RLE, int32(len(data)))
	} else {
		p.page = file.NewDataPageV2(buffer, h.values, h.nulls, h.rows, encoding, h.definitions,
			h.repetitions, int32(len(data)), false)
	}
	return true, nil
}

func (p *pages) loadDictionary(h *pageHeader) error {
	if p.entries >= 0 {
		return errors.New("it is a second dictionary")
	}
	if h.encoding != parquet.Encodings.Plain && h.encoding != parquet.Encodings.PlainDict {
		return fmt.Errorf("it is a dictionary with encoding %s", h.encoding)
	}
	data, err := p.load(h, &p.dictionary)
	if err != nil {
		return err
	}
	if err := p.checkPlain(data, int(h.values)); err != nil {
		return err
	}
	p.entries = int(h.values)
	p.page = file.NewDictionaryPage(memory.NewBufferBytes(data), h.values, h.encoding)
	return nil
}

// load reads a page's bytes into buf, checks them and unpacks them.
func (p *pages) load(h *pageHeader, buf *[]byte) ([]byte, error) {
	plain := p.codec == compress.Codecs.Uncompressed || h.kind == pageDataV2 && h.plain
	levels := 0 // bytes at the start that are never compressed
	if h.kind == pageDataV2 {
		levels = int(h.definitions) + int(h.repetitions)
		if h.definitions < 0 || h.repetitions < 0 || levels > int(h.packed) || levels > int(h.unpacked) {
			return nil, errLevels
		}
	}
	switch most := maxUnpacked(p.codec, int(h.packed)-levels); {
	case plain && h.packed != h.unpacked:
		return nil, fmt.Errorf("it is not compressed and claims %d bytes out of %d", h.unpacked, h.packed)
	case int64(h.unpacked) > maxPage || !plain && int64(int(h.unpacked)-levels) > most:
		return nil, fmt.Errorf("it claims %d bytes out of %d, more than can be", h.unpacked, h.packed)
	}
	packed := p.scratch
	if plain {
		packed = buf
	}
	raw := sized(packed, int(h.packed))
	if err := p.stream.read(raw); err != nil {
		return nil, err
	}
	if h.checked && crc32.ChecksumIEEE(raw) != h.crc {
		return nil, fmt.Errorf("its checksum is %08x, the header says %08x: the file is damaged",
			crc32.ChecksumIEEE(raw), h.crc)
	}
	if plain {
		return raw, nil
	}
	data := sized(buf, int(h.unpacked))
	copy(data, raw[:levels])
	if levels == len(data) {
		return data, nil // only nulls
	}
	if err := p.unpacker.unpack(p.codec, data[levels:], raw[levels:]); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", codecName(p.codec), err)
	}
	return data, nil
}

// sized returns n bytes of a reusable buffer, with no capacity beyond them.
func sized(buf *[]byte, n int) []byte {
	poison.Bytes(*buf)
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n:n]
}

// count counts the values of a data page that are not null, and returns where they begin.
func (p *pages) count(h *pageHeader, data []byte) (present, at int, err error) {
	if h.kind == pageDataV2 {
		return p.countV2(h, data)
	}
	if !p.nullable {
		return int(h.values), 0, nil
	}
	if h.levels != parquet.Encodings.RLE {
		return 0, 0, fmt.Errorf("its definition levels have encoding %s; write the file again with a current program",
			h.levels)
	}
	n, err := levelsLength(data)
	if err != nil {
		return 0, 0, err
	}
	present, err = countPresent(data[4:4+n], int(h.values))
	return present, 4 + n, err
}

func (p *pages) countV2(h *pageHeader, data []byte) (present, at int, err error) {
	present, at = int(h.values), int(h.repetitions)+int(h.definitions)
	if p.nullable {
		if present, err = countPresent(data[h.repetitions:at], int(h.values)); err != nil {
			return 0, 0, err
		}
	}
	if h.rows != h.values || present+int(h.nulls) != int(h.values) {
		err = fmt.Errorf("it has %d values that are not null, its header says %d of %d in %d rows are null",
			present, h.nulls, h.values, h.rows)
	}
	return present, at, err
}

// checkEncoded checks the values that are present by their encoding, and returns them in an encoding that v15 reads
// well.
func (p *pages) checkEncoded(encoding parquet.Encoding, data []byte, at,
	present int) (parquet.Encoding, []byte, error) {
	if !encodingReadable(p.physical, encoding) {
		return encoding, data, fmt.Errorf("encoding %s of %s can't be read", encoding, p.physical)
	}
	values, err := data[at:], error(nil)
	switch encoding {
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		if p.entries < 0 {
			return encoding, data, errors.New("it needs a dictionary, but none precedes it")
		}
		err = checkIndices(values, present, p.entries)
	case parquet.Encodings.RLE:
		err = checkBooleans(values, present)
	case parquet.Encodings.DeltaBinaryPacked:
		_, err = walkDeltas(values, present)
	case parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
		prefixed := encoding == parquet.Encodings.DeltaByteArray
		poison.Bytes(p.expanded)
		if p.expanded, err = expandDeltas(append(p.expanded[:0], data[:at]...), values, present,
			p.width, prefixed); err != nil {
			return encoding, data, err
		}
		return parquet.Encodings.Plain, p.expanded[:len(p.expanded):len(p.expanded)], nil
	default:
		err = p.checkPlain(values, present)
	}
	return encoding, data, err
}

func (p *pages) checkPlain(data []byte, n int) error {
	switch p.physical {
	case parquet.Types.Boolean:
		return checkPlainWidth(data, (n+7)/8, 1)
	case parquet.Types.ByteArray:
		return checkByteArrays(data, n)
	}
	return checkPlainWidth(data, n, p.width)
}

// encodingReadable reports whether values of a type can be decoded from an encoding: by v15, or expanded for it.
func encodingReadable(t parquet.Type, e parquet.Encoding) bool {
	switch e {
	case parquet.Encodings.Plain:
		return true
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		return t != parquet.Types.Boolean
	case parquet.Encodings.RLE:
		return t == parquet.Types.Boolean
	case parquet.Encodings.DeltaBinaryPacked:
		return t == parquet.Types.Int32 || t == parquet.Types.Int64
	case parquet.Encodings.DeltaLengthByteArray:
		return t == parquet.Types.ByteArray
	case parquet.Encodings.DeltaByteArray:
		return t == parquet.Types.ByteArray || t == parquet.Types.FixedLenByteArray
	}
	return false
}

func widthOf(t parquet.Type, length int) int {
	switch t {
	case parquet.Types.Int32, parquet.Types.Float:
		return 4
	case parquet.Types.Int64, parquet.Types.Double:
		return 8
	case parquet.Types.Int96:
		return 12
	case parquet.Types.FixedLenByteArray:
		return length
	}
	return 0
}

package parquet

import "github.com/apache/arrow/go/v15/parquet"

// The types of pages (PageType of parquet.thrift).
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader is the part of a page's header (PageHeader of parquet.thrift) that a reader needs.
type pageHeader struct {
	kind     int32
	unpacked int32 // bytes
	packed   int32
	crc      uint32
	checked  bool // it has a crc
	body     bool // it has the header of its kind

	values      int32
	encoding    parquet.Encoding
	levels      parquet.Encoding // of the definition levels in a data page of version 1
	nulls       int32            // the rest is version 2's
	rows        int32
	definitions int32 // bytes
	repetitions int32
	plain       bool // the values are not compressed
}

// parse reads a header and returns its length; errShort if the bytes end before the header does.
func (h *pageHeader) parse(bytes []byte) (int, error) {
	*h = pageHeader{kind: -1, unpacked: -1, packed: -1, values: -1}
	c := compact{bytes: bytes}
	err := c.fields(func(id int16, kind byte) (err error) {
		switch id {
		case 1:
			h.kind, err = c.int32(kind)
		case 2:
			h.unpacked, err = c.int32(kind)
		case 3:
			h.packed, err = c.int32(kind)
		case 4:
			var crc int32
			crc, err = c.int32(kind)
			h.crc, h.checked = uint32(crc), true
		case 5, 7, 8:
			h.body = kind == typeStruct
			return h.parseBody(&c, id, kind)
		default:
			err = c.skip(kind)
		}
		return err
	})
	if err == nil && (h.kind < 0 || h.unpacked < 0 || h.packed < 0) {
		err = errThrift
	}
	return c.at, err
}

func (h *pageHeader) parseBody(c *compact, header int16, kind byte) error {
	if kind != typeStruct {
		return errThrift
	}
	return c.fields(func(id int16, kind byte) error {
		to := h.field(header, id)
		if to == nil {
			if header == 8 && id == 7 {
				h.plain = kind == typeFalse
			}
			return c.skip(kind)
		}
		n, err := c.int32(kind)
		to(n)
		return err
	})
}

// field returns the function that stores a number of one of three headers: 5 of a data page, 7 of a dictionary, 8 of a
// data page of version 2.
func (h *pageHeader) field(header, id int16) func(int32) {
	number := func(to *int32) func(int32) { return func(n int32) { *to = n } }
	encoding := func(to *parquet.Encoding) func(int32) { return func(n int32) { *to = parquet.Encoding(n) } }
	switch {
	case id == 1:
		return number(&h.values)
	case header == 8 && id == 4, header != 8 && id == 2:
		return encoding(&h.encoding)
	case header == 5 && id == 3:
		return encoding(&h.levels)
	case header == 8 && id == 2:
		return number(&h.nulls)
	case header == 8 && id == 3:
		return number(&h.rows)
	case header == 8 && id == 5:
		return number(&h.definitions)
	case header == 8 && id == 6:
		return number(&h.repetitions)
	}
	return nil
}

package parquet

import (
	"errors"
	"math"
)

// The types of fields and elements in Thrift's compact protocol (TCompactProtocol.Types).
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeI16    = 4
	typeI32    = 5
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
	typeUUID   = 13
)

// maxDepth is how deep structures may be nested: those of Parquet have six levels.
const maxDepth = 32

var (
	errShort  = errors.New("it ends too early")
	errThrift = errors.New("it is not a structure of Thrift's compact protocol")
)

// compact walks over a structure of Thrift's compact protocol. Every length is compared with the number of bytes left.
type compact struct {
	bytes []byte
	at    int
	depth int
}

func (c *compact) byte() (byte, error) {
	if c.at >= len(c.bytes) {
		return 0, errShort
	}
	c.at++
	return c.bytes[c.at-1], nil
}

func (c *compact) uvarint() (uint64, error) {
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b, err := c.byte()
		if err != nil {
			return 0, err
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, errThrift
}

func (c *compact) varint() (int64, error) {
	n, err := c.uvarint()
	return int64(n>>1) ^ -int64(n&1), err
}

// int32 reads an i32 from a field of the given type.
func (c *compact) int32(kind byte) (int32, error) {
	if kind != typeI32 {
		return 0, errThrift
	}
	n, err := c.varint()
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, errThrift
	}
	return int32(n), err
}

func (c *compact) advance(n uint64) error {
	if n > uint64(len(c.bytes)-c.at) {
		return errShort
	}
	c.at += int(n)
	return nil
}

// fields visits the fields of a structure. The visitor reads or skips the field's value.
func (c *compact) fields(visit func(id int16, kind byte) error) error {
	if c.depth++; c.depth > maxDepth {
		return errThrift
	}
	defer func() { c.depth-- }()
	for id := int16(0); ; {
		head, err := c.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int16(head >> 4); delta != 0 {
			id += delta
		} else {
			n, err := c.varint()
			if err != nil {
				return err
			}
			id = int16(n)
		}
		if err := visit(id, head&0x0f); err != nil {
			return err
		}
	}
}

// list reads the header of a list or set.
func (c *compact) list() (size int, kind byte, err error) {
	head, err := c.byte()
	if err != nil {
		return 0, 0, err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = c.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	if n > uint64(len(c.bytes)-c.at) { // an element has at least one byte
		return 0, 0, errShort
	}
	return int(n), head & 0x0f, nil
}

// skip skips a field's value.
func (c *compact) skip(kind byte) error {
	switch kind {
	case typeTrue, typeFalse:
		return nil
	case typeByte:
		return c.advance(1)
	case typeI16, typeI32, typeI64:
		_, err := c.uvarint()
		return err
	case typeDouble:
		return c.advance(8)
	case typeUUID:
		return c.advance(16)
	case typeBinary:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		return c.advance(n)
	case typeList, typeSet:
		return c.skipList()
	case typeMap:
		return c.skipMap()
	case typeStruct:
		return c.fields(func(_ int16, kind byte) error { return c.skip(kind) })
	}
	return errThrift
}

func (c *compact) skipList() error {
	if c.depth++; c.depth > maxDepth {
		return errThrift
	}
	defer func() { c.depth-- }()
	n, kind, err := c.list()
	for ; n > 0 && err == nil; n-- {
		err = c.skipElement(kind)
	}
	return err
}

// skipElement skips an element. Unlike a field's, its boolean has a byte.
func (c *compact) skipElement(kind byte) error {
	if kind == typeTrue || kind == typeFalse {
		kind = typeByte
	}
	return c.skip(kind)
}

func (c *compact) skipMap() error {
	if c.depth++; c.depth > maxDepth {
		return errThrift
	}
	defer func() { c.depth-- }()
	n, err := c.uvarint()
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(len(c.bytes)-c.at) {
		return errShort
	}
	kinds, err := c.byte()
	for ; n > 0 && err == nil; n-- {
		if err = c.skipElement(kinds >> 4); err == nil {
			err = c.skipElement(kinds & 0x0f)
		}
	}
	return err
}

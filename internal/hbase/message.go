package hbase

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// message builds by hand the protocol buffer messages that gohbase's pb, which is HBase 1's, lacks, or has without the
// fields that loading needs. The others come from pb.
type message struct {
	bytes []byte
	err   error // the first from a part that could not be encoded
}

func (m *message) uint(number protowire.Number, v uint64) {
	m.bytes = protowire.AppendTag(m.bytes, number, protowire.VarintType)
	m.bytes = protowire.AppendVarint(m.bytes, v)
}

func (m *message) bool(number protowire.Number, v bool) { m.uint(number, protowire.EncodeBool(v)) }

func (m *message) data(number protowire.Number, v []byte) {
	m.bytes = protowire.AppendTag(m.bytes, number, protowire.BytesType)
	m.bytes = protowire.AppendBytes(m.bytes, v)
}

func (m *message) string(number protowire.Number, v string) { m.data(number, []byte(v)) }

func (m *message) message(number protowire.Number, build func(*message)) {
	var inner message
	build(&inner)
	m.data(number, inner.bytes)
}

// known appends a part that pb has.
func (m *message) known(number protowire.Number, part proto.Message) {
	b, err := proto.Marshal(part)
	if err != nil && m.err == nil {
		m.err = err
	}
	m.data(number, b)
}

// field is one field of a parsed message: its number and, depending on its wire type, a number or bytes.
type field struct {
	number protowire.Number
	uint   uint64
	bytes  []byte
}

func (f field) bool() bool { return f.uint != 0 }

// fields visits the fields of a message in order. Fields of a type that no message here uses are skipped, like unknown
// ones. The bytes are views of b.
func fields(b []byte, visit func(field)) error {
	for len(b) > 0 {
		number, t, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("field's tag: %w", protowire.ParseError(n))
		}
		b = b[n:]
		f := field{number: number}
		switch t {
		case protowire.VarintType:
			f.uint, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			f.number = 0
			n = protowire.ConsumeFieldValue(number, t, b)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		b = b[n:]
		visit(f)
	}
	return nil
}

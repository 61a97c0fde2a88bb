package storage

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of Hadoop's datatransfer.proto, as far as reading a block needs them. As in protobuf, the last value of
// a repeated scalar field counts, messages are merged, and a field with another type than its own is unknown.

// blockID names a block. Its number is unique only within its pool, which belongs to a NameNode.
type blockID struct {
	pool   string
	number uint64
}

func (b blockID) String() string { return fmt.Sprintf("blk_%d", b.number) }

// An operation is 2 bytes of version, 1 of code, a varint length, and the code's own message.
const (
	transferVersion = 28
	readBlock       = 81
	operationLead   = 3
	maxOperation    = 64 << 10
)

// operation is the READ_BLOCK operation for the request: OpReadBlockProto{1 ClientOperationHeaderProto{1
// BaseHeaderProto{1 block, 2 token}, 2 client}, 2 offset, 3 length}.
func (r *readRequest) operation(b *locatedBlock, client string) []byte {
	header := message(nil).bytes(1, message(nil).bytes(1, b.block).bytes(2, b.token)).text(2, client)
	op := message(nil).bytes(1, header).number(2, uint64(r.offset)).number(3, uint64(r.length))
	return protowire.AppendBytes([]byte{0, transferVersion, readBlock}, op)
}

// blockResponse is a BlockOpResponseProto.
type blockResponse struct {
	status  uint64 // 0: success
	message string
	hasSums bool
	sums    checksums
}

func parseResponse(b []byte) (blockResponse, error) {
	var r blockResponse
	err := eachField(b, func(f field) error {
		switch f.key() {
		case varintField(1):
			r.status = f.number
		case bytesField(4): // ReadOpChecksumInfoProto
			r.hasSums = true
			return parseChecksums(f.bytes, &r.sums)
		case bytesField(5):
			r.message = string(f.bytes)
		}
		return nil
	})
	return r, err
}

func parseChecksums(b []byte, sums *checksums) error {
	return eachField(b, func(f field) error {
		switch f.key() {
		case bytesField(1): // ChecksumProto
			return eachField(f.bytes, func(f field) error {
				switch f.key() {
				case varintField(1):
					sums.kind = f.number
				case varintField(2):
					sums.chunk = int64(uint32(f.number))
				}
				return nil
			})
		case varintField(2):
			sums.first = int64(f.number)
		}
		return nil
	})
}

// packetHeader is a PacketHeaderProto.
type packetHeader struct {
	offset int64 // of the data in the block
	length int64 // of the data
	last   bool
}

func parsePacketHeader(b []byte) (packetHeader, error) {
	var h packetHeader
	for len(b) > 0 {
		f, n, err := nextField(b)
		if err != nil {
			return h, err
		}
		switch f.key() {
		case fixed64Field(1):
			h.offset = int64(f.number)
		case varintField(3):
			h.last = f.number != 0
		case fixed32Field(4):
			h.length = int64(int32(f.number))
		}
		b = b[n:]
	}
	return h, nil
}

// field is one field of a message.
type field struct {
	id     protowire.Number
	kind   protowire.Type
	number uint64 // of a varint or fixed field
	bytes  []byte
}

// fieldKey is a field's number with its required type.
type fieldKey struct {
	id   protowire.Number
	kind protowire.Type
}

func (f *field) key() fieldKey { return fieldKey{f.id, f.kind} }

func varintField(id protowire.Number) fieldKey  { return fieldKey{id, protowire.VarintType} }
func bytesField(id protowire.Number) fieldKey   { return fieldKey{id, protowire.BytesType} }
func fixed32Field(id protowire.Number) fieldKey { return fieldKey{id, protowire.Fixed32Type} }
func fixed64Field(id protowire.Number) fieldKey { return fieldKey{id, protowire.Fixed64Type} }

func eachField(b []byte, visit func(field) error) error {
	for len(b) > 0 {
		f, n, err := nextField(b)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// nextField returns the field at the start of b, and its length.
func nextField(b []byte) (field, int, error) {
	id, kind, lead := protowire.ConsumeTag(b)
	if lead < 0 {
		return field{}, 0, malformedf("protobuf: %v", protowire.ParseError(lead))
	}
	f := field{id: id, kind: kind}
	n := protowire.ConsumeFieldValue(id, kind, b[lead:])
	if n < 0 {
		return field{}, 0, malformedf("protobuf: %v", protowire.ParseError(n))
	}
	switch kind {
	case protowire.VarintType:
		f.number, _ = protowire.ConsumeVarint(b[lead:])
	case protowire.Fixed32Type:
		f.number = uint64(binary.LittleEndian.Uint32(b[lead:]))
	case protowire.Fixed64Type:
		f.number = binary.LittleEndian.Uint64(b[lead:])
	case protowire.BytesType:
		f.bytes, _ = protowire.ConsumeBytes(b[lead:])
	}
	return f, lead + n, nil
}

// statusName returns the name of a value of Hadoop's enum Status.
func statusName(status uint64) string {
	names := []string{"SUCCESS", "ERROR", "ERROR_CHECKSUM", "ERROR_INVALID", "ERROR_EXISTS", "ERROR_ACCESS_TOKEN",
		"CHECKSUM_OK", "ERROR_UNSUPPORTED"}
	if status < uint64(len(names)) {
		return names[status]
	}
	return fmt.Sprintf("status %d", status)
}

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"bulkload/internal/poison"
)

// A DataNode answers a READ_BLOCK request with one message and then packets, the last of which has no data:
//
//	message:  varint length | BlockOpResponseProto
//	packet:   int32 4 + length of checksums and data | int16 length of header | PacketHeaderProto | checksums | data
//
// Data begins at a multiple of the bytes per checksum. A packet has one checksum of 4 bytes for each such chunk of its
// data, the last of which may be shorter. The DataNode sends checksums as they are on its disk and compares nothing, so
// the client must.

// blockStream reads such an answer from one DataNode, and returns only the data of chunks with the right checksum.
type blockStream struct {
	in io.ReadCloser
	readRequest
	bare    bool   // accept a replica without checksums
	address string // the DataNode's

	begun, ended bool
	sums         checksums
	at           int64  // position in the block at which the next packet must begin
	next         int64  // position in the block of the next byte to be returned
	buf          []byte // the current message or packet
	out          []byte // bytes still to be returned
	err          error  // the error to be returned after these
}

// readRequest is a part of a block, up to the block's end.
type readRequest struct {
	block          blockID
	offset, length int64
}

// checksums describe how a replica's data is checksummed.
type checksums struct {
	kind  uint64
	chunk int64 // bytes for each checksum
	first int64 // position in the block of the first chunk
}

// The values of ChecksumTypeProto.
const (
	checksumNone   = 0
	checksumCRC32  = 1
	checksumCRC32C = 2
)

const (
	maxPacket    = 16 << 20 // Java's PacketReceiver.MAX_PACKET_SIZE
	maxMessage   = 64 << 10
	packetLead   = 6        // the two lengths before a packet's header
	firstBuffer  = 68 << 10 // a packet of the usual 64 KiB of data
	checksumSize = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// errBare refuses a replica without checksums, because another one may have them.
var errBare = errors.New("the replica has no checksums (dfs.checksum.type NULL)")

// damagedError reports a chunk of a replica whose checksum does not match.
type damagedError struct {
	kind        uint64
	from, to    int64 // in the block
	sum, onDisk uint32
}

func (e *damagedError) Error() string {
	name := "CRC32C"
	if e.kind == checksumCRC32 {
		name = "CRC32"
	}
	return fmt.Sprintf("%s of its bytes %d to %d is %08x, stored %08x", name, e.from, e.to-1, e.sum, e.onDisk)
}

// malformedError reports an answer that violates the protocol.
type malformedError string

func (e malformedError) Error() string { return "malformed answer: " + string(e) }

func malformedf(format string, args ...any) error {
	return malformedError(fmt.Sprintf(format, args...))
}

func (s *blockStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 && len(p) > 0 {
		if s.err != nil {
			return 0, s.err
		}
		switch {
		case !s.begun:
			s.begun, s.err = true, s.response()
		case s.ended:
			s.err = io.EOF
		default:
			s.err = s.packet()
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	s.next += int64(n)
	return n, nil
}

// fill reads until buf has n bytes.
func (s *blockStream) fill(n int) (err error) {
	s.buf, err = readMore(s.in, s.buf, n, firstBuffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the DataNode ended the connection at byte %d of the block: %w", s.at, io.ErrUnexpectedEOF)
	}
	return err
}

func (s *blockStream) response() error {
	var length uint64
	prefix := 0
	for n := 0; n <= 0; prefix++ {
		if err := s.fill(prefix + 1); err != nil {
			return err
		}
		if length, n = binary.Uvarint(s.buf); n < 0 || length > maxMessage || prefix > binary.MaxVarintLen32 {
			return malformedf("it begins with a message of more than %d bytes", maxMessage)
		}
	}
	if err := s.fill(prefix + int(length)); err != nil {
		return err
	}
	r, err := parseResponse(s.buf[prefix:])
	if err != nil {
		return err
	}
	return s.begin(r)
}

// begin checks the DataNode's description of the data that follows.
func (s *blockStream) begin(r blockResponse) error {
	s.sums = r.sums
	c := s.sums
	switch {
	case r.status != 0:
		return fmt.Errorf("the DataNode refuses: %s: %s", statusName(r.status), r.message)
	case !r.hasSums:
		return malformedf("it does not say which checksums there are")
	case c.kind > checksumCRC32C:
		return malformedf("checksums of type %d", c.kind)
	case c.chunk < 1 || c.chunk > maxPacket:
		return malformedf("%d bytes for each checksum", c.chunk)
	case c.first < 0 || c.first > s.offset || c.first <= s.offset-c.chunk:
		return malformedf("data begins at byte %d of the block, asked for was byte %d", c.first, s.offset)
	case c.kind == checksumNone && !s.bare:
		return errBare
	}
	s.at = c.first
	return nil
}

// packet reads a packet and compares its checksums. Even with an error, out may have data that precedes the damage.
func (s *blockStream) packet() error {
	poison.Bytes(s.buf[:len(s.buf):len(s.buf)])
	s.buf = s.buf[:0]
	if err := s.fill(packetLead); err != nil {
		return err
	}
	length, header := int64(int32(binary.BigEndian.Uint32(s.buf))), int64(binary.BigEndian.Uint16(s.buf[4:]))
	if length < 4 || length+header > maxPacket {
		return malformedf("a packet of %d bytes", length)
	}
	if err := s.fill(int(packetLead + header + length - 4)); err != nil {
		return err
	}
	h, err := parsePacketHeader(s.buf[packetLead : packetLead+header])
	if err != nil {
		return err
	}
	if err := s.fits(h, length-4); err != nil {
		return err
	}
	s.ended = h.last
	data := packetLead + header + s.sums.size(h.length)
	sound, err := s.verify(s.buf[packetLead+header:data], s.buf[data:])
	// The first chunk may begin before the requested part.
	s.out = s.buf[data+min(max(s.offset-s.at, 0), sound) : data+sound]
	s.at += h.length
	return err
}

// fits checks a packet's header against its length and its position in the block.
func (s *blockStream) fits(h packetHeader, payload int64) error {
	end := s.offset + s.length
	switch {
	case h.length < 0 || h.length+s.sums.size(h.length) != payload:
		return malformedf("a packet of %d bytes of checksums and data says it has %d of data", payload, h.length)
	case h.offset != s.at:
		return malformedf("a packet for byte %d of the block comes where byte %d is due", h.offset, s.at)
	case h.last != (h.length == 0):
		return malformedf("a packet of %d bytes, and last: %v", h.length, h.last)
	case h.last && s.at < end:
		return fmt.Errorf("the replica ends at byte %d, %d were wanted: %w", s.at, end, io.ErrUnexpectedEOF)
	case s.at+h.length >= end+s.sums.chunk:
		return malformedf("data up to byte %d of the block, wanted were %d", s.at+h.length, end)
	}
	return nil
}

// size is the number of bytes of the checksums of n bytes of data.
func (c *checksums) size(n int64) int64 {
	if c.kind == checksumNone {
		return 0
	}
	return (n + c.chunk - 1) / c.chunk * checksumSize
}

// verify returns the number of bytes of data before the first chunk whose checksum does not match.
func (s *blockStream) verify(sums, data []byte) (sound int64, err error) {
	table := castagnoli
	switch s.sums.kind {
	case checksumNone:
		return int64(len(data)), nil
	case checksumCRC32:
		table = crc32.IEEETable
	}
	length := int64(len(data))
	for from := int64(0); from < length; from += s.sums.chunk {
		to := min(from+s.sums.chunk, length)
		sum, onDisk := crc32.Checksum(data[from:to], table), binary.BigEndian.Uint32(sums)
		if sum != onDisk {
			return from, &damagedError{s.sums.kind, s.at + from, s.at + to, sum, onDisk}
		}
		sums = sums[checksumSize:]
	}
	return length, nil
}

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"bulkload/internal/poison"

	"google.golang.org/protobuf/encoding/protowire"
)

// A DataNode answers a READ_BLOCK request with one message and then packets, the last of which has no data:
//
//	message:  varint length | BlockOpResponseProto
//	packet:   int32 4 + length of checksums and data | int16 length of header | PacketHeaderProto | checksums | data
//
// Data begins at a multiple of the bytes per checksum. A packet has one checksum of 4 bytes for each such chunk of its
// data, the last of which may be shorter. The DataNode sends checksums as they are on its disk and compares nothing, so
// the client must.

// blockStream reads such an answer and returns its bytes unchanged, but only those of chunks with the right checksum.
type blockStream struct {
	in      io.Reader
	request readRequest
	bare    bool // accept a replica without checksums

	begun, ended bool
	sums         checksums
	at           int64  // position in the block at which the next data must begin
	buf          []byte // the current message or packet
	joined       []byte // memory for joined packets
	out          []byte // bytes still to be returned
	follow       []byte // bytes to be returned after out
	err          error  // the error to be returned after these
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
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.out) == 0 {
		if s.out, s.follow = s.follow, nil; len(s.out) > 0 {
			break
		}
		if s.err != nil {
			return 0, s.err
		}
		s.err = s.next()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// next reads the message or a packet. Even after an error, out may have sound bytes that precede it.
func (s *blockStream) next() error {
	s.reuse()
	switch {
	case s.ended:
		return io.EOF
	case s.begun:
		return s.packets()
	}
	s.begun = true
	return s.response()
}

// reuse makes room in buf for the next message or packet.
func (s *blockStream) reuse() {
	poison.Bytes(s.buf[:len(s.buf):len(s.buf)])
	s.buf = s.buf[:0]
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
	if err := s.begin(r); err != nil {
		return err
	}
	s.out = s.buf
	return nil
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
	case c.first < 0 || c.first > s.request.offset || c.first <= s.request.offset-c.chunk:
		return malformedf("data begins at byte %d of the block, asked for was byte %d", c.first, s.request.offset)
	case c.kind == checksumNone && !s.bare:
		return errBare
	}
	s.at = c.first
	return nil
}

// packet is a packet whose data is cut off at the first damaged chunk.
type packet struct {
	raw, sums, data []byte
	header          packetHeader
}

const (
	smallPacket = 16 << 10 // bytes of data
	joinedData  = 64 << 10 // bytes of data up to which small packets are joined
)

// small reports whether a packet costs more than its bytes.
func (p *packet) small() bool { return !p.header.last && len(p.data) <= smallPacket }

// packets reads a packet and joins small ones. A DataNode whose connections are protected sends 4 KiB at a time
// (io.file.buffer.size), and the library has a cost for each packet.
func (s *blockStream) packets() error {
	first, err := s.packet()
	if err != nil || !first.small() {
		s.out = first.raw
		return err
	}
	front := packetLead + joinedHeader + int((joinedData+s.sums.chunk-1)/s.sums.chunk)*checksumSize
	if cap(s.joined) < front+joinedData {
		s.joined = make([]byte, 0, front+joinedData)
	}
	poison.Bytes(s.joined)
	j := joining{front: front, sumsEnd: packetLead + joinedHeader, buf: s.joined[:front], first: first.header.offset}
	j.add(first)
	for int64(len(j.buf)-front)%s.sums.chunk == 0 && len(j.buf)-front+smallPacket <= joinedData {
		s.reuse()
		next, err := s.packet()
		if err != nil || !next.small() {
			s.out, s.follow = j.packet(), next.raw
			return err
		}
		j.add(next)
	}
	s.out = j.packet()
	return nil
}

// joining joins packets: it writes checksums from the left, and data from front on.
type joining struct {
	buf            []byte
	front, sumsEnd int
	first          int64 // position of the data in the block
}

func (j *joining) add(p packet) {
	j.sumsEnd += copy(j.buf[j.sumsEnd:j.front], p.sums)
	j.buf = append(j.buf, p.data...)
}

// joinedHeader is the size of a PacketHeaderProto with offset, number, last and length.
const joinedHeader = 9 + 9 + 2 + 5

// packet returns the joined packet. Its number is 0, because a reader does not use it.
func (j *joining) packet() []byte {
	sums := j.buf[packetLead+joinedHeader : j.sumsEnd]
	data := j.buf[j.front:]
	from := j.front - len(sums) - joinedHeader - packetLead
	copy(j.buf[from+packetLead+joinedHeader:], sums)
	h := binary.BigEndian.AppendUint32(j.buf[from:from], uint32(4+len(sums)+len(data)))
	h = binary.BigEndian.AppendUint16(h, joinedHeader)
	h = binary.LittleEndian.AppendUint64(append(h, 1<<3|byte(protowire.Fixed64Type)), uint64(j.first))
	h = binary.LittleEndian.AppendUint64(append(h, 2<<3|byte(protowire.Fixed64Type)), 0)
	h = append(h, 3<<3|byte(protowire.VarintType), 0)
	binary.LittleEndian.AppendUint32(append(h, 4<<3|byte(protowire.Fixed32Type)), uint32(len(data)))
	return j.buf[from:]
}

// packet reads a packet and compares its checksums. With an error, it returns the data before the damage.
func (s *blockStream) packet() (packet, error) {
	if err := s.fill(packetLead); err != nil {
		return packet{}, err
	}
	length, header := int64(int32(binary.BigEndian.Uint32(s.buf))), int64(binary.BigEndian.Uint16(s.buf[4:]))
	if length < 4 || length+header > maxPacket {
		return packet{}, malformedf("a packet of %d bytes", length)
	}
	if err := s.fill(int(packetLead + header + length - 4)); err != nil {
		return packet{}, err
	}
	h, err := parsePacketHeader(s.buf[packetLead : packetLead+header])
	if err != nil {
		return packet{}, err
	}
	if err := s.fits(h, length-4); err != nil {
		return packet{}, err
	}
	s.ended = h.last
	data := packetLead + header + s.sums.size(h.length)
	p := packet{header: h, sums: s.buf[packetLead+header : data]}
	sound, err := s.verify(p.sums, s.buf[data:])
	if err == nil || sound > 0 {
		p.raw, p.data = s.buf[:data+sound], s.buf[data:data+sound]
	}
	s.at += h.length
	return p, err
}

// fits checks a packet's header against its length and its position in the block.
func (s *blockStream) fits(h packetHeader, payload int64) error {
	end := s.request.offset + s.request.length
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

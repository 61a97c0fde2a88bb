package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/testwords"

	"google.golang.org/protobuf/encoding/protowire"
)

// answering makes a DataNode's answer for a block.
type answering struct {
	kind   uint64
	chunk  int // bytes for each checksum
	packet int // bytes of data in a packet
	from   int // position in the block at which the request begins
}

func messageField(b []byte, id protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, id, protowire.BytesType), v)
}

func numberField(b []byte, id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, id, protowire.VarintType), v)
}

func (a answering) first() int { return a.from / a.chunk * a.chunk }

func (a answering) request(block []byte) readRequest {
	return readRequest{blockID{"BP-1", 7}, int64(a.from), int64(len(block) - a.from)}
}

// stream reads an answer to a request.
func stream(r io.Reader, request readRequest, bare bool) *blockStream {
	return &blockStream{in: io.NopCloser(r), readRequest: request, bare: bare}
}

func (a answering) response() []byte {
	sums := messageField(nil, 1, numberField(numberField(nil, 1, a.kind), 2, uint64(a.chunk)))
	sums = numberField(sums, 2, uint64(a.first()))
	return protowire.AppendBytes(nil, messageField(numberField(nil, 1, 0), 4, sums))
}

func (a answering) answer(block []byte) []byte {
	b := a.response()
	at := a.first()
	for ; at < len(block); at += a.packet {
		b = a.appendPacket(b, at, block[at:min(at+a.packet, len(block))])
	}
	return a.appendPacket(b, len(block), nil)
}

func (a answering) appendPacket(b []byte, at int, data []byte) []byte {
	header := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(at))
	header = protowire.AppendFixed64(protowire.AppendTag(header, 2, protowire.Fixed64Type), 0)
	header = numberField(header, 3, protowire.EncodeBool(len(data) == 0))
	header = protowire.AppendFixed32(protowire.AppendTag(header, 4, protowire.Fixed32Type), uint32(len(data)))
	var sums []byte
	for from := 0; from < len(data) && a.kind != checksumNone; from += a.chunk {
		sums = binary.BigEndian.AppendUint32(sums, a.sum(data[from:min(from+a.chunk, len(data))]))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(4+len(sums)+len(data)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(header)))
	return append(append(append(b, header...), sums...), data...)
}

func (a answering) sum(b []byte) uint32 {
	if a.kind == checksumCRC32 {
		return crc32.ChecksumIEEE(b)
	}
	return crc32.Checksum(b, castagnoli)
}

// dataOf parses an answer without comparing anything, and returns the data, from the first chunk on. The answer may end
// anywhere.
func dataOf(b []byte) []byte {
	length, n := binary.Uvarint(b)
	if n <= 0 || int(length) > len(b)-n {
		return nil
	}
	r, err := parseResponse(b[n : n+int(length)])
	if err != nil || r.sums.chunk < 1 {
		return nil
	}
	var data []byte
	for b = b[n+int(length):]; len(b) > packetLead; {
		header := packetLead + int(binary.BigEndian.Uint16(b[4:]))
		if header > len(b) {
			return data
		}
		h, err := parsePacketHeader(b[packetLead:header])
		if err != nil || h.length < 0 {
			return data
		}
		header += int(r.sums.size(h.length))
		end := min(len(b), header+int(h.length))
		data = append(data, b[min(header, end):end]...)
		b = b[end:]
	}
	return data
}

var answers = []answering{
	{checksumCRC32C, 512, 4096, 0},
	{checksumCRC32C, 512, 65536, 0},
	{checksumCRC32, 512, 1024, 5000},
	{checksumCRC32C, 100, 100, 199},
	{checksumCRC32C, 1, 3, 9},
	{checksumCRC32, 65536, 65536, 1},
	{checksumNone, 512, 4096, 777},
}

func TestBlockStream(t *testing.T) {
	block := noise(70_001)
	for _, a := range answers {
		sent := a.answer(block)
		for _, from := range []func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.OneByteReader, iotest.DataErrReader,
		} {
			for _, size := range []int{1, 7, 512, 4096, 1 << 20} {
				s := stream(from(bytes.NewReader(sent)), a.request(block), a.kind == checksumNone)
				got, err := readInPieces(s, size)
				if err != nil || !bytes.Equal(got, block[a.from:]) {
					t.Fatalf("%+v in pieces of %d: %d bytes of %d, %v", a, size, len(got), len(block)-a.from, err)
				}
			}
		}
	}
}

func readInPieces(r io.Reader, size int) ([]byte, error) {
	var got []byte
	piece := make([]byte, size)
	for {
		n, err := r.Read(piece)
		got = append(got, piece[:n]...)
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

// TestBlockStreamFlips: one byte of the answer is wrong. No wrong byte of data passes, and all right ones before its
// chunk do.
func TestBlockStreamFlips(t *testing.T) {
	block := noise(700)
	for _, a := range answers[:5] {
		a.from = min(a.from, 300)
		sent := a.answer(block)
		want := block[a.from:]
		for i := range sent {
			sent[i] ^= 0x10
			got, err := io.ReadAll(stream(bytes.NewReader(sent), a.request(block), false))
			if !bytes.HasPrefix(want, got) || err == nil && len(got) != len(want) {
				t.Fatalf("%+v: byte %d of %d is wrong: %d bytes of data, error %v", a, i, len(sent), len(got), err)
			}
			var damage *damagedError
			if errors.As(err, &damage) && len(got) != max(0, int(damage.from)-a.from) {
				t.Fatalf("%+v: byte %d: %v after %d bytes", a, i, err, len(got))
			}
			sent[i] ^= 0x10
		}
	}
}

// TestBlockStreamEnds: an answer may end anywhere.
func TestBlockStreamEnds(t *testing.T) {
	block := noise(3000)
	a := answers[0]
	sent := a.answer(block)
	for n := range sent {
		got, err := io.ReadAll(stream(bytes.NewReader(sent[:n]), a.request(block), false))
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(block, got) {
			t.Fatalf("after %d of %d bytes: %v", n, len(sent), err)
		}
	}
}

func TestBlockStreamRefuses(t *testing.T) {
	block := noise(3000)
	a := answers[0]
	whole := a.request(block)
	packets := func(p ...[]byte) []byte { return append(a.response(), bytes.Join(p, nil)...) }
	status := protowire.AppendBytes(nil, messageField(numberField(nil, 1, 5), 5, []byte("token is expired")))
	other := answering{3, 512, 4096, 0}
	huge := answering{checksumCRC32C, maxPacket + 1, 4096, 0}
	for name, c := range map[string]struct {
		sent    []byte
		request readRequest
		want    string
	}{
		"status":          {status, whole, "ERROR_ACCESS_TOKEN: token is expired"},
		"no checksums":    {protowire.AppendBytes(nil, numberField(nil, 1, 0)), whole, "which checksums"},
		"unknown kind":    {other.answer(block), whole, "type 3"},
		"huge chunks":     {huge.response(), whole, fmt.Sprint(maxPacket + 1)},
		"bare":            {answering{checksumNone, 512, 4096, 0}.answer(block), whole, errBare.Error()},
		"other place":     {a.answer(block), readRequest{whole.block, 600, 1000}, "begins at byte 0"},
		"after the place": {answering{checksumCRC32C, 512, 4096, 600}.answer(block), whole, "begins at byte 512"},
		"long message":    {protowire.AppendVarint(nil, maxMessage+1), whole, "more than"},
		"endless length":  {bytes.Repeat([]byte{0xff}, 20), whole, "more than"},
		"long packet":     {packets([]byte{1, 0, 0, 1, 0, 20}), whole, "16777217 bytes"},
		"negative packet": {packets([]byte{255, 0, 0, 1, 0, 20}), whole, "packet of -16"},
		"short replica":   {packets(a.appendPacket(nil, 0, block[:1024]), a.appendPacket(nil, 1024, nil)), whole, "ends at byte 1024"},
		"empty replica":   {packets(a.appendPacket(nil, 0, nil)), whole, "ends at byte 0"},
		"a gap":           {packets(a.appendPacket(nil, 512, block[512:1024])), whole, "byte 512 of the block"},
		"too much":        {a.answer(noise(9000)), whole, "wanted were 3000"},
	} {
		got, err := io.ReadAll(stream(bytes.NewReader(c.sent), c.request, false))
		if !testwords.Names(err, c.want) {
			t.Errorf("%s: %v; want %q in it", name, err, c.want)
		}
		if !bytes.HasPrefix(block, got) {
			t.Errorf("%s: %d wrong bytes passed", name, len(got))
		}
	}
}

// TestBlockStreamAllocates: after the first packet, reading allocates nothing.
func TestBlockStreamAllocates(t *testing.T) {
	for _, a := range answers[:2] {
		block := noise(8 << 20)
		s := stream(bytes.NewReader(a.answer(block)), a.request(block), false)
		piece := make([]byte, 64<<10)
		read := func() {
			if _, err := io.ReadFull(s, piece); err != nil {
				t.Fatal(err)
			}
		}
		read()
		read()
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%+v: %v allocations a packet", a, n)
		}
	}
}

// FuzzBlockStream: whatever arrives, nothing panics, memory stays in proportion to the bytes that arrived, and only
// data with the right checksums passes.
func FuzzBlockStream(f *testing.F) {
	block := noise(3000)
	for _, a := range answers {
		a.from = min(a.from, 2000)
		f.Add(a.answer(block), int64(a.from), int64(len(block)-a.from), a.kind == checksumNone)
	}
	f.Fuzz(func(t *testing.T, sent []byte, offset, length int64, bare bool) {
		if offset < 0 || length < 0 || offset+length < 0 {
			return
		}
		s := stream(bytes.NewReader(sent), readRequest{blockID{"BP-1", 7}, offset, length}, bare)
		got, err := io.ReadAll(s)
		if len(got) > 0 && !bytes.HasPrefix(dataOf(sent)[offset-s.sums.first:], got) {
			t.Fatal("other data came out")
		}
		if int64(len(got)) != s.next {
			t.Fatalf("%d bytes came out, and the position is %d", len(got), s.next)
		}
		if cap(s.buf) > max(firstBuffer, 2*len(sent)) {
			t.Fatalf("%d bytes of memory for %d of input", cap(s.buf), len(sent))
		}
		if err == nil && s.sums.kind == checksumNone && !bare {
			t.Fatal("a replica without checksums passed")
		}
		if err == nil && int64(len(got)) < length {
			t.Fatalf("%d bytes passed as %d", len(got), length)
		}
	})
}

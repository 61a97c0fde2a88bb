package hbase

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"bulkload/internal/hbase/cellblock"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// maxFrame bounds an answer, in bytes: a scan's is about 2 MiB and one cell, a table's descriptor far less.
	maxFrame = 64 << 20
	// trustedFrame is how much memory an answer gets at once by its claimed length; more is allocated as its bytes
	// arrive.
	trustedFrame = 4 << 20
)

// noCallID is the id of an answer without a call (-1 in ServerRpcConnection).
const noCallID = math.MaxUint32

// appendConnectionHeader appends the connection header's frame: its length in 4 bytes and the header. It asks a region
// server for cell blocks. A server may still answer with cells as messages.
func appendConnectionHeader(b []byte, service Service, user string) ([]byte, error) {
	header := &pb.ConnectionHeader{
		UserInfo:    &pb.UserInformation{EffectiveUser: &user},
		ServiceName: proto.String(string(service)),
	}
	if service == ClientService {
		header.CellBlockCodecClass = proto.String(cellblock.Codec)
	}
	m, err := proto.Marshal(header)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(m))), m...), err
}

// appendRequest appends a request's frame: the length of the rest in 4 bytes, then the header and the parameter, each
// preceded by its length as a varint. timeout is in milliseconds; 0: the server's own.
func appendRequest(b []byte, id uint32, method string, timeout uint32, param []byte) ([]byte, error) {
	header := &pb.RequestHeader{CallId: &id, MethodName: &method, RequestParam: proto.Bool(true)}
	if timeout > 0 {
		header.Timeout = &timeout
	}
	h, err := proto.Marshal(header)
	if err != nil {
		return nil, err
	}
	size := protowire.SizeBytes(len(h)) + protowire.SizeBytes(len(param))
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = protowire.AppendBytes(b, h)
	return protowire.AppendBytes(b, param), nil
}

// readFrame reads one answer. Memory for a large one is allocated as its bytes arrive, whatever its length claims.
func readFrame(r io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, fmt.Errorf("connection lost: %w", err)
	}
	size := int(binary.BigEndian.Uint32(prefix[:]))
	if size > maxFrame {
		return nil, fmt.Errorf("%w: an answer of %d bytes, more than the limit of %d: is this an HBase server?",
			ErrMalformed, size, maxFrame)
	}
	frame := make([]byte, min(size, trustedFrame))
	for read := 0; ; {
		n, err := io.ReadFull(r, frame[read:])
		if read += n; err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("connection lost within an answer: %w", err)
		}
		if read == size {
			return frame, nil
		}
		frame = append(frame, make([]byte, min(size-read, read))...)
	}
}

// response is an answer: its header's parts, the encoded message, and the block of cells after it.
type response struct {
	callID    uint32
	exception *RemoteError
	param     []byte
	cells     []byte
}

func parseResponse(frame []byte) (*response, error) {
	b, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		return nil, fmt.Errorf("%w: answer's header: %w", ErrMalformed, protowire.ParseError(n))
	}
	var header pb.ResponseHeader
	if err := proto.Unmarshal(b, &header); err != nil {
		return nil, fmt.Errorf("%w: answer's header: %w", ErrMalformed, err)
	}
	r := &response{callID: noCallID}
	if header.CallId != nil {
		r.callID = header.GetCallId()
	}
	if header.Exception != nil {
		r.exception = remoteError(header.Exception)
		return r, nil
	}
	rest := frame[n:]
	if len(rest) == 0 && header.GetCellBlockMeta().GetLength() == 0 {
		return r, nil // an empty message may be omitted
	}
	if r.param, n = protowire.ConsumeBytes(rest); n < 0 {
		return nil, fmt.Errorf("%w: parse answer: %w", ErrMalformed, protowire.ParseError(n))
	}
	r.cells = rest[n:]
	if want := header.GetCellBlockMeta().GetLength(); uint64(len(r.cells)) != uint64(want) {
		return nil, fmt.Errorf("%w: %d bytes after the message, for a block of cells of %d", ErrMalformed, len(r.cells), want)
	}
	return r, nil
}

// errNoID is an answer without a call id.
var errNoID = errors.New("answer without a call id")

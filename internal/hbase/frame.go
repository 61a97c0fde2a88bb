package hbase

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxFrame bounds an answer, in bytes: descriptors of a table with thousands of families are far smaller.
const maxFrame = 64 << 20

// noCallID stands for an answer that is not to a call (-1 in ServerRpcConnection).
const noCallID = math.MaxUint32

// appendConnectionHeader appends the connection header's frame: its length in 4 bytes and
// ConnectionHeader{1 user_info{1 effective_user}, 2 service_name}. With no cell block codec (3), cells come as messages.
func appendConnectionHeader(b []byte, service Service, user string) []byte {
	var m message
	m.message(1, func(m *message) { m.string(1, user) })
	m.string(2, string(service))
	return append(binary.BigEndian.AppendUint32(b, uint32(len(m.bytes))), m.bytes...)
}

// appendRequest appends a request's frame: the length of the rest in 4 bytes, then, each behind a varint of its
// length, RequestHeader{1 call_id, 3 method_name, 4 request_param, 7 timeout in ms} and the parameter.
func appendRequest(b []byte, id uint32, method string, timeout uint32, param []byte) []byte {
	var header message
	header.uint(1, uint64(id))
	header.string(3, method)
	header.bool(4, true)
	if timeout > 0 {
		header.uint(7, uint64(timeout))
	}
	size := protowire.SizeBytes(len(header.bytes)) + protowire.SizeBytes(len(param))
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = protowire.AppendBytes(b, header.bytes)
	return protowire.AppendBytes(b, param)
}

// readFrame reads one answer. Memory is taken as bytes arrive, not as the length promises.
func readFrame(r io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, fmt.Errorf("connection lost: %w", err)
	}
	size := int64(binary.BigEndian.Uint32(prefix[:]))
	if size > maxFrame {
		return nil, fmt.Errorf("answer of %d bytes, more than the %d that are taken: is this an HBase server?", size, maxFrame)
	}
	var frame bytes.Buffer
	if _, err := io.CopyN(&frame, r, size); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("connection lost within an answer: %w", err)
	}
	return frame.Bytes(), nil
}

// response is an answer: ResponseHeader{1 call_id, 2 exception} and the response message's bytes.
type response struct {
	callID    uint32
	exception *RemoteError
	param     []byte
}

func parseResponse(frame []byte) (*response, error) {
	header, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		return nil, fmt.Errorf("parse answer's header: %w", protowire.ParseError(n))
	}
	r := &response{callID: noCallID}
	err := fields(header, func(f field) (err error) {
		switch f.number {
		case 1:
			r.callID = uint32(f.uint)
		case 2:
			r.exception, err = parseException(f.bytes)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("parse answer's header: %w", err)
	}
	if r.exception != nil {
		return r, nil
	}
	if n == len(frame) {
		return r, nil // an empty message may be left out
	}
	if r.param, n = protowire.ConsumeBytes(frame[n:]); n < 0 {
		return nil, fmt.Errorf("parse answer: %w", protowire.ParseError(n))
	}
	return r, nil
}

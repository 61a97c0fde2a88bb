package sasl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"bulkload/internal/poison"
)

// MaxToken bounds a received token, in bytes, because servers put a whole answer into one.
const MaxToken = 64<<20 + 1<<10

// Stream applies a layer to a connection in the form that HBase and DataNodes use: each token is preceded by its length
// in four bytes, most significant first. Each Write is one token and one Write to the connection. With a nil layer it
// returns the connection itself. One goroutine may read while another writes.
func Stream(connection io.ReadWriter, layer Layer) io.ReadWriter {
	if layer == nil {
		return connection
	}
	return &stream{connection: connection, layer: layer}
}

type stream struct {
	connection io.ReadWriter
	layer      Layer
	out        []byte
	in         bytes.Buffer
	rest       []byte // of the last token
}

// keptBuffer is the largest buffer that is reused for the next token.
const keptBuffer = 4 << 20

// Write sends p as one token.
func (s *stream) Write(p []byte) (int, error) {
	out, err := s.layer.Wrap(append(s.out[:0], 0, 0, 0, 0), p)
	if err != nil {
		return 0, err
	}
	if s.out = out; len(out) > keptBuffer {
		s.out = nil
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err = s.connection.Write(out)
	poison.Bytes(out)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read returns the content of the tokens.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		token, err := s.token()
		if err != nil {
			return 0, err
		}
		if s.rest, err = s.layer.Unwrap(token); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) token() ([]byte, error) {
	if s.in.Cap() > keptBuffer {
		s.in = bytes.Buffer{}
	}
	if poison.Enabled {
		poison.Bytes(s.in.Bytes())
	}
	s.in.Reset()
	return ReadToken(s.connection, &s.in)
}

// ReadToken reads one token, preceded by its length, into buffer, and returns the buffer's bytes. Memory grows with the
// bytes that arrive, not with the claimed length. If the connection ends before a token, the error is io.EOF.
func ReadToken(r io.Reader, buffer *bytes.Buffer) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix[:])
	if size > MaxToken {
		return nil, fmt.Errorf("token of %d bytes, more than the %d that are accepted", size, MaxToken)
	}
	if _, err := io.CopyN(buffer, r, int64(size)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("connection lost within a token: %w", err)
	}
	return buffer.Bytes(), nil
}

package parquet

import (
	"errors"
	"fmt"
	"io"

	"bulkload/internal/storage"
)

const (
	// readAhead is the size of a read that looks for a page's header. The bytes of a page are read directly into its
	// buffer.
	readAhead = 64 << 10
	// maxHeader is the longest page header: it may hold statistics with long values.
	maxHeader = 16 << 20
)

// stream reads one column chunk of a file, from its first byte to its last. Unlike the windows of the text forms it
// knows how many bytes are left, and reads the bytes of a page without its buffer.
type stream struct {
	file    storage.File
	buf     []byte
	pos     int   // buf[pos:fill] is read and not yet consumed
	fill    int   //
	at, end int64 // the next position to read, and the end of the chunk
}

func (s *stream) reset(file storage.File, start, end int64) {
	s.file, s.at, s.end, s.pos, s.fill = file, start, end, 0, 0
	if want := min(int64(readAhead), end-start); int64(len(s.buf)) < want {
		s.buf = make([]byte, want)
	}
}

// left is how many bytes of the chunk have not been consumed.
func (s *stream) left() int64 { return s.end - s.at + int64(s.fill-s.pos) }

// offset is the position of the next byte in the file.
func (s *stream) offset() int64 { return s.at - int64(s.fill-s.pos) }

// header reads a page's header.
func (s *stream) header(h *pageHeader) error {
	for {
		n, err := h.parse(s.buf[s.pos:s.fill])
		switch {
		case err == nil:
			s.pos += n
			return nil
		case !errors.Is(err, errShort) || s.at >= s.end || s.fill-s.pos >= maxHeader:
			return fmt.Errorf("read the page header at byte %d: %w", s.offset(), err)
		}
		if err := s.more(); err != nil {
			return err
		}
	}
}

// more reads more bytes after those in the buffer, and enlarges a full buffer.
func (s *stream) more() error {
	rest := s.buf[s.pos:s.fill]
	if len(rest) == len(s.buf) {
		s.buf = make([]byte, 2*len(s.buf))
	}
	s.fill = copy(s.buf, rest)
	s.pos = 0
	n := min(int64(len(s.buf)-s.fill), s.end-s.at)
	if err := readAt(s.file, s.buf[s.fill:s.fill+int(n)], s.at); err != nil {
		return err
	}
	s.fill += int(n)
	s.at += n
	return nil
}

// read fills p, which must not be longer than the rest of the chunk.
func (s *stream) read(p []byte) error {
	n := copy(p, s.buf[s.pos:s.fill])
	s.pos += n
	p = p[n:]
	err := readAt(s.file, p, s.at)
	s.at += int64(len(p))
	return err
}

// skip skips n bytes, which must not be more than the rest of the chunk.
func (s *stream) skip(n int64) {
	held := min(n, int64(s.fill-s.pos))
	s.pos += int(held)
	s.at += n - held
}

func readAt(file storage.File, p []byte, at int64) error {
	if len(p) == 0 {
		return nil
	}
	n, err := file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read at byte %d: %w", at+int64(n), err)
}

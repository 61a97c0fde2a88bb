package csv

import (
	"bytes"
	"errors"
	"io"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
)

const (
	chunkSize = 1 << 20
	// maxRecord is the length of the longest record. In a longer one a quote is assumed to be unclosed.
	maxRecord = 32 << 20
)

// text is a window of a file: buf[pos:fill] was read from it and not yet delivered. It reads a stream from start to
// end, because a quote may be open anywhere; delimited.Reader's window enters files at offsets and ends with a split.
type text struct {
	in   *compressed.Decompressor
	path string

	buf       []byte
	pos, fill int
	base      int64 // offset in the text of buf[0]
	eof       bool  // the window reaches the end of the file
	window    int   // length of buf unless a record needs more
	maxRecord int   // longest record
}

func newText(in *compressed.Decompressor, file ingest.SourceFile, window, longest int) *text {
	if in.Codec() == compressed.None {
		window = int(min(file.Size+1, int64(window))) // one byte more, to see the end
	}
	return &text{in: in, path: file.String(), buf: make([]byte, window), window: window, maxRecord: longest}
}

// rest is the part of the window that was read and not yet delivered.
func (t *text) rest() []byte { return t.buf[t.pos:t.fill] }

// offset is the window's offset in the text.
func (t *text) offset() int64 { return t.base + int64(t.pos) }

// more fills the buffer. A record that fills it doubles it, so the bytes scanned twice are proportional to the record's
// length. It does nothing at the end of the file.
func (t *text) more() error {
	if t.eof {
		return nil
	}
	t.compact()
	for t.fill < len(t.buf) {
		n, err := t.in.Read(t.buf[t.fill:])
		t.fill += n
		if errors.Is(err, io.EOF) {
			t.eof = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compact moves the undelivered bytes to the front of the buffer.
func (t *text) compact() {
	left := t.fill - t.pos
	to := t.buf
	switch {
	case left*2 > len(t.buf) && len(t.buf) <= t.maxRecord:
		// one byte more, for the line break or to see that the record is too long
		to = make([]byte, min(2*len(t.buf), t.maxRecord+1))
	case len(t.buf) > 4*t.window && left < t.window/2:
		to = make([]byte, t.window) // the long record that needed the space has been consumed
	case poison.Enabled:
		to = make([]byte, len(t.buf))
	}
	copy(to, t.buf[t.pos:t.fill])
	poison.Bytes(t.buf)
	t.buf = to
	t.base += int64(t.pos)
	t.pos, t.fill = 0, left
}

// line returns the first line of the window, without its line break, and where the next one begins. The window holds
// all of it, or reaches the end of the file.
func (t *text) line() (line []byte, next int) {
	rest := t.rest()
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		return rest[:i:i], t.pos + i + 1
	}
	return rest[:len(rest):len(rest)], t.fill
}

// tooLong is the error of a line that is too long.
func (t *text) tooLong() error {
	return refusef(errcode.InputFormat, "read %s: the line at byte %d is longer than %d bytes; it is probably not CSV%s",
		t.path, t.offset(), t.maxRecord, loneCR(t.rest()))
}

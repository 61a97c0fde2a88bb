package csv

import (
	"bytes"
	"errors"
	"io"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
)

const (
	chunkSize = 1 << 20
	// maxRecord is the longest record: beyond it a quote is taken for one that is never closed.
	maxRecord = 32 << 20
)

// text is a window of a file: buf[pos:fill] has been read from it and not been delivered. It reads a stream from its start to
// its end, since a quote may be open anywhere; delimited.Reader has a window that enters files at offsets and ends with a split.
type text struct {
	in   *compressed.Reader
	path string

	buf       []byte
	pos, fill int
	base      int64 // where in the text buf[0] stands
	eof       bool  // the window reaches the end of the file
	window    int   // how long buf is where no record needs more
	maxRecord int   // how long a record may be
}

func newText(in *compressed.Reader, file ingest.File, window, longest int) *text {
	if in.Codec() == compressed.None {
		window = int(min(file.Size+1, int64(window))) // one more, to see the end
	}
	return &text{in: in, path: file.Path, buf: make([]byte, window), window: window, maxRecord: longest}
}

// rest is what has been read and not been delivered.
func (t *text) rest() []byte { return t.buf[t.pos:t.fill] }

// offset is where in the text the window begins.
func (t *text) offset() int64 { return t.base + int64(t.pos) }

// more fills the buffer. A record that fills it already makes it twice as long, so that what is scanned again for it
// stays in proportion to its length. It does nothing at the end of the file.
func (t *text) more() error {
	if t.eof {
		return nil
	}
	t.makeRoom()
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

// makeRoom moves what is not yet delivered to the front of the buffer.
func (t *text) makeRoom() {
	left := t.fill - t.pos
	to := t.buf
	switch {
	case left*2 > len(t.buf):
		to = make([]byte, 2*len(t.buf))
	case len(t.buf) > 4*t.window && left < t.window/2:
		to = make([]byte, t.window) // the long record that needed the room is over
	}
	copy(to, t.buf[t.pos:t.fill])
	t.buf = to
	t.base += int64(t.pos)
	t.pos, t.fill = 0, left
}

// line is the first line of the window, without its line break, and where the next one begins. The window holds it
// whole, or reaches the end of the file.
func (t *text) line() (line []byte, next int) {
	rest := t.rest()
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		return rest[:i:i], t.pos + i + 1
	}
	return rest[:len(rest):len(rest)], t.fill
}

// tooLong says that a line goes on and on.
func (t *text) tooLong() error {
	return refusef(errcode.CSVLine, "read %s: the line at byte %d is longer than %d bytes; it is probably no CSV", t.path, t.offset(), t.maxRecord)
}

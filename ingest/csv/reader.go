package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/internal/storage"
	"bulkload/values"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// reader reads the records of one file. It is not safe for concurrent use.
type reader struct {
	form *Form
	file ingest.SourceFile
	*text
	scanner

	names   []string // of the file's columns; nil without a heading
	indexes []int    // the file's index of each of the form's columns
	rec     ingest.Record

	decoded  []byte // the record's values that differ from the bytes in the file
	number   int64  // of the last record delivered or rejected
	skipped  int64  // lines
	ended    bool   // a line has ended, so crlf is known
	crlf     bool
	good     bool // a usable record has been seen
	prompted bool // the last line was a prompt or its continuation
	err      error
}

func (f *Form) open(fsys storage.FS, file ingest.SourceFile) (*reader, error) {
	return f.openSized(fsys, file, chunkSize, maxRecord)
}

func (f *Form) openSized(fsys storage.FS, file ingest.SourceFile, window, longest int) (*reader, error) {
	in, err := compressed.Open(fsys, file.Path, file.Size, f.Compression)
	if err != nil {
		return nil, err
	}
	r := &reader{form: f, file: file, text: newText(in, file, window, longest)}
	r.rec.File = file
	r.rec.Fields = make([]values.Value, len(f.Columns))
	r.scanner = scanner{delimiter: f.Delimiter, quote: f.Quote, quoting: f.Quote != 0,
		rejects: ingest.IsRejects(file.Path)}
	if !r.quoting {
		r.quote = f.Delimiter
	}
	if f.Charset.CanTrail(f.Delimiter) {
		r.scanner.charset = f.Charset
	}
	if err := r.begin(); err != nil {
		in.Close() // it was only read
		return nil, err
	}
	return r, nil
}

// begin advances to the first record.
func (r *reader) begin() error {
	if err := r.more(); err != nil {
		return err
	}
	if err := ingest.DetectForeign(r.path, r.rest()); err != nil {
		return err
	}
	err := r.form.Charset.CheckMark(r.rest())
	if err == nil {
		err = r.form.Charset.CheckUTF16(r.rest())
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", r.path, err)
	}
	if bytes.HasPrefix(r.rest(), byteOrderMark) {
		r.pos = len(byteOrderMark)
	}
	if !r.form.NoHeading {
		return r.readHeading()
	}
	// Instead of a heading: the first line of the rejects, which also says that lines end with LF there.
	r.rec.Heading = string(rune(separator))
	r.spans = make([]span, len(r.form.Columns))
	for i := range r.form.Columns {
		r.indexes = append(r.indexes, i)
	}
	return nil
}

// Next returns the next record; see ingest.Records.
func (r *reader) Next() (*ingest.Record, error) {
	r.rec.End(&r.decoded)
	for r.err == nil {
		rec, err := r.next()
		if rec != nil {
			return rec, nil
		}
		var bad *ingest.BadRecord
		if errors.As(err, &bad) {
			return nil, bad
		}
		r.err = err
	}
	return nil, r.err
}

// next reads one or several lines. It returns neither a record nor an error if they are to be skipped.
func (r *reader) next() (*ingest.Record, error) {
	if r.form.SkipNoise {
		if err := r.skipMarks(); err != nil {
			return nil, err
		}
	}
	end, what, err := r.frame()
	if err != nil {
		return nil, err
	}
	r.rec.Offset = r.offset()
	if what != complete {
		return r.rejectLine()
	}
	raw := r.consume(end)
	if r.isSeparator(raw) {
		return nil, nil
	}
	raw = r.unstuff(raw)
	switch kind := r.classify(raw, r.count == len(r.spans)); {
	case kind == blank:
		return nil, nil
	case kind != noNoise:
		return nil, r.handleNonRow(kind, raw)
	}
	r.begun(raw)
	if r.count != len(r.spans) {
		b := r.bad(errcode.RejectColumns, "", ingest.CountReason(r.count, len(r.spans)))
		b.Hint = r.delimiterHint()
		return nil, b
	}
	if reason := r.checkWholeText(); reason != "" {
		return nil, r.bad(errcode.RejectCharset, "", reason)
	}
	if column, at := r.values(); column >= 0 {
		return nil, r.badValue(column, at)
	}
	r.good = true
	return &r.rec, nil
}

// isSeparator reports whether a line separates two rejects.
func (r *reader) isSeparator(line []byte) bool {
	return r.rejects && isSeparator(line) && bytes.IndexByte(line, '\n') < 0
}

// unstuff returns a record as it was before it became a reject.
func (r *reader) unstuff(raw []byte) []byte {
	if !r.rejects {
		return raw
	}
	text := ingest.Unstuff(raw)
	if len(text) < len(raw) {
		r.scanWhole(text) // its quotes match, as they did before the bytes were doubled
	}
	return text
}

// begun starts and counts a record.
func (r *reader) begun(raw []byte) {
	r.number++
	r.rec.Number, r.rec.Raw = r.number, raw
}

// frame finds the end of the record at the start of the window. Afterwards the window holds the whole record.
func (r *reader) frame() (end int, what outcome, err error) {
	for {
		if r.pos == r.fill && r.eof {
			return 0, complete, io.EOF
		}
		if end, what = r.scan(r.rest(), r.eof); what != cut {
			return end, what, nil
		}
		if len(r.rest()) > r.maxRecord {
			if bytes.IndexByte(r.rest(), '\n') < 0 {
				return 0, cut, r.tooLong()
			}
			return len(r.rest()), unclosed, nil // a line break that does not end the record is inside quotes
		}
		if err := r.more(); err != nil {
			return 0, cut, err
		}
	}
}

// consume advances past a record and its line break, and returns it without the CR of the line break.
func (r *reader) consume(length int) []byte {
	raw := r.rest()[:length:length]
	r.pos = min(r.pos+length+1, r.fill)
	n := len(raw)
	if n == 0 || raw[n-1] != '\r' {
		r.ended = r.ended || n > 0
		return raw
	}
	if !r.ended {
		r.ended, r.crlf = true, true
	}
	last := r.lastSpan()
	if !r.crlf && !last.quoted && n > 1 {
		return raw // part of the value
	}
	last.end = min(last.end, n-1)
	return raw[: n-1 : n-1]
}

func (r *reader) lastSpan() *span {
	if r.count == 0 || r.count > len(r.spans) {
		return new(span)
	}
	return &r.spans[r.count-1]
}

// Skipped is how many lines were skipped; see ingest.Skipper.
func (r *reader) Skipped() int64 { return r.skipped }

// Bytes is how many bytes of the file were consumed, or read if it is compressed.
func (r *reader) Bytes() int64 {
	if r.in.Codec() != compressed.None {
		return r.in.Consumed()
	}
	return r.offset()
}

// Close closes the file.
func (r *reader) Close() error {
	r.err = errClosed
	r.rec.End(&r.decoded)
	poison.Bytes(r.buf)
	return r.in.Close()
}

var errClosed = errors.New("read a record: the reader is closed")

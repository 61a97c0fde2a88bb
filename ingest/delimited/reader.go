package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/internal/storage"
	"bulkload/values"
)

const (
	chunkSize = 1 << 20
	// maxRecord is the length of the longest record. HBase's own limit for a value is 10 MB, and Sqoop stores no more
	// than 16 MB in its text. Each core that reads may have to hold twice maxRecord.
	maxRecord = 64 << 20
	// overrun is how much is read at a time after the end of the split, where only the rest of one record is needed.
	overrun = 64 << 10
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Reader reads the records of one split. It is not safe for concurrent use.
//
// Each form has its own window on its file (delimited's here, csv's in text, parquet's in stream), because each reads
// differently. This one reads a plain file at offsets, stops at the end of its split except for the rest of one record,
// and checks how each record begins.
type Reader struct {
	form  *Form
	file  storage.File
	split ingest.Split
	scan  *scanner                 // if the form has escapes or enclosures
	text  *compressed.Decompressor // of a compressed file; nil for a plain one, which is read at offsets

	buf  []byte // buf[pos:fill] was read from the file and not yet delivered
	pos  int
	fill int
	base int64 // offset in the file's text of buf[0]
	eof  bool  // buf[:fill] reaches the end of the file
	end  int64 // of the split, in the file's text

	maxRecord int // maxRecord, except in tests

	fields       *Form  // form, with its field delimiter in UTF-8
	unescapedBuf []byte // the record in UTF-8 without escapes, if the file has another charset or escapes

	rec    ingest.Record
	number int64 // of the last record delivered; counted from 1 in a split at the start of a file
	good   bool  // a usable record was seen
	hinted bool
	err    error // the error that ended the reading
}

func newReader(d *Form, file storage.File, split ingest.Split) *Reader {
	r := &Reader{form: d, file: file, split: split, base: split.Start, end: split.End,
		maxRecord: maxRecord, fields: d.inUTF8(), scan: newScanner(d, split.File.Path)}
	r.buf = make([]byte, min(chunkSize, max(split.File.Size-split.Start, 0)+int64(len(d.RecordDelimiter))))
	r.rec.Fields = make([]values.Value, len(d.Columns))
	r.rec.File = split.File
	return r
}

// begin advances to the split's first record.
func (r *Reader) begin() error {
	if s := r.split; s.Start < 0 || s.End < s.Start || s.End > s.File.Size {
		return fmt.Errorf("read %s: it has no bytes %d to %d, only %d", s.File, s.Start, s.End, s.File.Size)
	}
	if got, want := r.file.Size(), r.split.File.Size; got != want {
		return errcode.InputChanged.Errorf(
			"read %s: it had %d bytes when it was listed and has %d now; start again when it is complete",
			r.split.File, want, got)
	}
	if r.split.Start == 0 {
		return r.beginFile()
	}
	skip, err := r.skipMark()
	if err != nil {
		return err
	}
	// A delimiter that ends at or after Start may begin before it, but not in a byte order mark.
	r.base = max(r.split.Start-int64(len(r.form.RecordDelimiter)), skip)
	return r.skipToDelimiter()
}

// beginFile advances to the first record of the file, and refuses a file that can't be text with any delimiters.
func (r *Reader) beginFile() error {
	if err := r.more(); err != nil {
		return err
	}
	if err := r.decompress(); err != nil {
		return err
	}
	head := r.buf[:r.fill]
	if err := ingest.DetectForeign(r.split.File.Path, head); err != nil {
		return err
	}
	if !ingest.IsRejects(r.split.File.Path) { // a file of rejects begins with any record of the input
		err := r.form.Charset.CheckMark(head)
		if err == nil && bytes.IndexByte(r.form.FieldDelimiter, 0) < 0 && bytes.IndexByte(r.form.RecordDelimiter, 0) < 0 {
			err = r.form.Charset.CheckUTF16(head)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", r.split.File, err)
		}
	}
	r.pos = int(markLength(head))
	return nil
}

// skipMark returns the length of a byte order mark at the start of the file if the split begins there.
func (r *Reader) skipMark() (int64, error) {
	if r.split.Start >= int64(len(byteOrderMark)+len(r.form.RecordDelimiter)) {
		return 0, nil
	}
	head := make([]byte, min(int64(len(byteOrderMark)), r.split.File.Size))
	if err := r.readAt(head, 0); err != nil {
		return 0, err
	}
	return markLength(head), nil
}

func markLength(head []byte) int64 {
	if bytes.HasPrefix(head, byteOrderMark) {
		return int64(len(byteOrderMark))
	}
	return 0
}

// skipToDelimiter sets pos after the first delimiter that ends in the split or later.
func (r *Reader) skipToDelimiter() error {
	delim := r.form.RecordDelimiter
	for {
		if err := r.more(); err != nil {
			return err
		}
		if i := bytes.Index(r.buf[r.pos:r.fill], delim); i >= 0 {
			r.pos += i + len(delim)
			return nil
		}
		if r.eof || r.base+int64(r.fill) >= r.split.End {
			// The record that began in an earlier split covers all of this one.
			r.pos = r.fill
			r.err = io.EOF
			return nil
		}
		r.pos = max(r.fill-len(delim)+1, r.pos)
	}
}

// Next returns the next record, valid until the next call, or io.EOF after the last one. A *BadRecord is one that can't
// be used, after which reading can continue; any other error ends the reading.
func (r *Reader) Next() (*ingest.Record, error) {
	r.rec.End(&r.unescapedBuf)
	rec, err := r.next()
	// The file's first byte order mark was skipped. A second one would silently become part of a key.
	if err == nil && len(rec.Raw) > 0 && rec.Raw[0] == byteOrderMark[0] && bytes.HasPrefix(rec.Raw, byteOrderMark) &&
		r.form.Charset.IsUTF8() {
		return nil, &ingest.BadRecord{Position: rec.Position, Raw: rec.Raw, Code: errcode.RejectCharset,
			Reason: "a byte order mark before the record, as in files that were joined; join them without their marks"}
	}
	return rec, err
}

func (r *Reader) next() (*ingest.Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.scan != nil {
		return r.nextScanned()
	}
	length, next, err := r.delimit()
	if err != nil {
		r.err = err
		return nil, err
	}
	r.consume(length, next)
	if !r.form.Charset.IsUTF8() {
		return r.nextDecoded()
	}
	return r.cutUnescaped()
}

// cutUnescaped splits the record in rec, which has no escapes.
func (r *Reader) cutUnescaped() (*ingest.Record, error) {
	rec := &r.rec
	if !r.form.cut(rec.Fields, rec.Raw) {
		return nil, r.bad()
	}
	if !ingest.ValidUTF8(rec.Raw) {
		if i, at := invalidField(rec.Fields); i >= 0 {
			return nil, r.badText(i, at)
		}
	}
	r.good = true
	return rec, nil
}

// consume makes the bytes at pos the record in rec.
func (r *Reader) consume(length, next int) {
	r.rec.Raw = r.buf[r.pos : r.pos+length : r.pos+length]
	r.rec.Offset = r.base + int64(r.pos)
	r.number++
	if r.split.Start == 0 {
		r.rec.Number = r.number
	}
	r.pos = next
	if r.scan != nil && r.scan.rejects {
		r.rec.Raw = ingest.Unstuff(r.rec.Raw)
	}
}

// invalidField is the first field that is not UTF-8 and the position in it; -1 if only a delimiter is not.
func invalidField(fields []values.Value) (field, at int) {
	for i, field := range fields {
		f := field.Bytes()
		for at := 0; at < len(f); {
			_, n := utf8.DecodeRune(f[at:])
			if n == 1 && f[at] >= utf8.RuneSelf {
				return i, at
			}
			at += n
		}
	}
	return -1, 0
}

// badText makes the BadRecord of a field that is not UTF-8. Java would hash other bytes for it in a row key, and a
// reader of the table could not recover the original ones.
func (r *Reader) badText(field, at int) error {
	value := r.rec.Fields[field].Bytes()
	return &ingest.BadRecord{Position: r.rec.Position, Column: r.form.Columns[field], Raw: r.rec.Raw,
		Code: errcode.RejectCharset, Hint: ingest.CharsetHint(r.rec.Raw),
		Reason: fmt.Sprintf("not UTF-8: % x at byte %d of the value", value[at:min(at+4, len(value))], at)}
}

// delimit finds the end of the record at pos, and where the next one begins.
func (r *Reader) delimit() (length, next int, err error) {
	// The first record of a file may begin after a byte order mark and a split that is smaller than the mark.
	first := r.split.Start == 0 && r.number == 0 && r.split.End > 0
	if r.base+int64(r.pos) >= r.end && !first {
		return 0, 0, io.EOF
	}
	delim := r.form.RecordDelimiter
	searched := 0
	for {
		window := r.buf[r.pos:r.fill]
		var i int
		if len(delim) == 1 {
			i = bytes.IndexByte(window[searched:], delim[0])
		} else {
			i = bytes.Index(window[searched:], delim)
		}
		if i >= 0 {
			return searched + i, r.pos + searched + i + len(delim), nil
		}
		if r.eof {
			if len(window) == 0 {
				return 0, 0, io.EOF
			}
			return len(window), r.fill, nil
		}
		searched = max(len(window)-len(delim)+1, 0)
		if err := r.more(); err != nil {
			return 0, 0, err
		}
	}
}

// more appends further bytes to those in the buffer.
func (r *Reader) more() error {
	if r.eof {
		return nil
	}
	if err := r.compact(); err != nil {
		return err
	}
	if r.text != nil {
		return r.moreText()
	}
	at := r.base + int64(r.fill)
	end := min(int64(len(r.buf)-r.fill), r.split.File.Size-at)
	if at >= r.split.End {
		end = min(end, overrun)
	} else {
		end = min(end, max(r.split.End-at, overrun))
	}
	if err := r.readAt(r.buf[r.fill:r.fill+int(end)], at); err != nil {
		return err
	}
	r.fill += int(end)
	r.eof = at+end >= r.split.File.Size
	return nil
}

// compact moves the undelivered bytes to the front of the buffer, and enlarges a full buffer.
func (r *Reader) compact() error {
	left := r.fill - r.pos
	most := r.maxRecord + len(r.form.RecordDelimiter)
	if left >= most {
		return errcode.InputFormat.Errorf(
			"read %s: the record at byte %d is longer than %d bytes; %s is probably not the record delimiter%s",
			r.split.File, r.base+int64(r.pos), r.maxRecord, ingest.FormatDelimiter(r.form.RecordDelimiter),
			otherDelimiter(r.buf[r.pos:r.pos+min(left, chunkSize)], r.form.RecordDelimiter))
	}
	to := r.buf
	switch {
	case left*2 > len(r.buf) && len(r.buf) < most:
		to = make([]byte, min(2*len(r.buf), most))
	case len(r.buf) > 4*chunkSize && left < chunkSize/2:
		to = make([]byte, chunkSize) // the long record that needed the space has been consumed
	case poison.Enabled:
		to = make([]byte, len(r.buf))
	}
	copy(to, r.buf[r.pos:r.fill])
	poison.Bytes(r.buf)
	r.buf = to
	r.base += int64(r.pos)
	r.pos, r.fill = 0, left
	return nil
}

func (r *Reader) readAt(p []byte, at int64) error {
	n, err := r.file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at byte %d: %w", r.split.File, at+int64(n), err)
}

// bad describes the record in rec, whose number of columns is wrong.
func (r *Reader) bad() *ingest.BadRecord {
	columns := r.columns(r.rec.Raw)
	b := &ingest.BadRecord{Position: r.rec.Position, Raw: r.rec.Raw,
		Reason: ingest.CountReason(columns, len(r.form.Columns)), Code: errcode.RejectColumns}
	switch {
	case r.hinted:
	case columns > len(r.form.Columns) && r.quoted():
		r.hinted = true
		b.Hint = "values begin with a double quote: if the export encloses those that have a delimiter, set " +
			"optionally_enclosed_by: '\"'"
	case !r.good && r.split.Start == 0:
		r.hinted = true
		b.Hint = r.hint()
	}
	return b
}

// Bytes is how many bytes of the split were consumed.
func (r *Reader) Bytes() int64 {
	if r.text != nil {
		return r.text.Consumed()
	}
	at := r.base + int64(r.pos)
	return min(max(at, r.split.Start), r.split.End) - r.split.Start
}

// Close closes the file.
func (r *Reader) Close() error {
	r.err = errReaderClosed
	r.rec.End(&r.unescapedBuf)
	poison.Bytes(r.buf)
	r.buf = nil
	if r.text != nil {
		return r.text.Close()
	}
	return r.file.Close()
}

var errReaderClosed = errors.New("read a record: the reader is closed")

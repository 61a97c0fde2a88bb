package delimited

import (
	"bytes"
	"errors"
	"io"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/values"
)

// nextScanned is Next for forms with escapes or enclosures.
func (r *Reader) nextScanned() (*ingest.Record, error) {
	if err := r.skipSeparators(); err != nil {
		return nil, err
	}
	if n, plain := r.unescapedRecord(); plain {
		r.consume(n, r.pos+n+1)
		return r.cutUnescaped()
	}
	length, next, err := r.scanRecord()
	if err != nil {
		return nil, r.unreadable(err)
	}
	if r.consume(length, next); r.scan.rejects && len(r.rec.Raw) < length {
		if err := r.scan.whole(r.rec.Raw); err != nil { // the spans are those of the record itself
			return nil, r.unreadableWhole(err)
		}
	}
	if r.scan.columns != len(r.form.Columns) {
		return nil, r.bad()
	}
	if err := r.fillFields(); err != nil {
		return nil, err
	}
	r.good = true
	return &r.rec, nil
}

// skipSeparators advances to the next record that is not a separator of rejects.
func (r *Reader) skipSeparators() error {
	d := r.form.RecordDelimiter
	for r.scan.rejects {
		for r.fill-r.pos < 1+len(d) && !r.eof {
			if err := r.more(); err != nil {
				r.err = err
				return err
			}
		}
		text := r.buf[r.pos:r.fill]
		if len(text) == 0 || text[0] != ingest.RejectSeparator || len(text) > 1 && !bytes.HasPrefix(text[1:], d) {
			return nil
		}
		r.pos = min(r.pos+1+len(d), r.fill)
	}
	return nil
}

// unescapedRecord finds the end of a record without escapes and enclosures, as most are. plain is false for all others,
// and if the search is not worth its cost.
func (r *Reader) unescapedRecord() (length int, plain bool) {
	d := r.form
	if len(d.FieldDelimiter) != 1 || len(d.RecordDelimiter) != 1 || d.EncloseAll || !d.Charset.IsUTF8() {
		return 0, false
	}
	text := r.buf[r.pos:r.fill]
	n := bytes.IndexByte(text, d.RecordDelimiter[0])
	if n < 0 || r.scan.rejects || d.Escape != 0 && bytes.IndexByte(text[:n], d.Escape) >= 0 || d.Enclosure != 0 &&
		bytes.IndexByte(text[:n], d.Enclosure) >= 0 {
		return 0, false
	}
	return n, true
}

// unreadable handles an error of the scanner: a malformed record is skipped, any other error ends the reading.
func (r *Reader) unreadable(err error) error {
	var wrong *badSyntax
	if errors.As(err, &wrong) {
		var length, next int
		if length, next, err = r.scanEnd(); err == nil {
			r.consume(length, next)
			return r.badSyntax(wrong)
		}
	}
	r.err = err
	return err
}

// unreadableWhole is unreadable for a record whose end is known.
func (r *Reader) unreadableWhole(err error) error {
	var wrong *badSyntax
	if errors.As(err, &wrong) {
		return r.badSyntax(wrong)
	}
	r.err = err
	return err
}

// scanRecord finds the end of the record at pos, and where the next one begins.
func (r *Reader) scanRecord() (length, next int, err error) {
	for {
		window := r.buf[r.pos:r.fill]
		if len(window) == 0 && r.eof {
			return 0, 0, io.EOF
		}
		end, behind, err := r.scan.record(window, r.eof)
		if !errors.Is(err, errMore) {
			return end, r.pos + behind, err
		}
		if err := r.more(); err != nil {
			return 0, 0, err
		}
	}
}

// scanEnd is scanRecord for a malformed record.
func (r *Reader) scanEnd() (length, next int, err error) {
	for {
		end, behind, err := r.scan.end(r.buf[r.pos:r.fill], r.eof)
		if !errors.Is(err, errMore) {
			return end, r.pos + behind, err
		}
		if err := r.more(); err != nil {
			return 0, 0, err
		}
	}
}

// fillFields sets the record's values from the scanned spans: decoded, without escapes.
func (r *Reader) fillFields() error {
	rec := &r.rec
	r.unescapedBuf = r.unescapedBuf[:0]
	for i, field := range r.scan.spans {
		value := rec.Raw[field.start:field.end:field.end]
		if !r.form.Charset.IsUTF8() {
			begin := len(r.unescapedBuf)
			text, valid := r.form.Charset.Append(r.unescapedBuf, value)
			if r.unescapedBuf = text; valid < len(value) {
				return r.badCharacterIn(i, field.start+valid)
			}
			value = text[begin:len(text):len(text)]
		}
		rec.Fields[i] = r.unescaped(i, value, field.escaped)
	}
	if r.form.Charset.IsUTF8() && !ingest.ValidUTF8(rec.Raw) {
		if i, at := invalidField(rec.Fields); i >= 0 {
			return r.badText(i, at)
		}
	}
	return nil
}

// unescaped returns a column's value. A null's text may contain its escapes: with --escaped-by \\ Sqoop writes \N as
// \\N, and others leave it as it is. In strict text a value with escapes is never null.
func (r *Reader) unescaped(column int, value []byte, escaped bool) values.Value {
	if r.form.isNull(column, value) {
		return values.Value{}
	}
	if !escaped {
		return values.ValueOf(value)
	}
	begin := len(r.unescapedBuf)
	r.unescapedBuf = unescape(r.unescapedBuf, value, r.form.Escape)
	value = r.unescapedBuf[begin:len(r.unescapedBuf):len(r.unescapedBuf)]
	if !r.form.Strict && r.form.isNull(column, value) {
		return values.Value{}
	}
	return values.ValueOf(value)
}

// badSyntax makes the BadRecord of a malformed record.
func (r *Reader) badSyntax(wrong *badSyntax) error {
	// In the file the fault may be after the record's end, so this looks for what is wrong with the record alone.
	if err := r.scan.whole(r.rec.Raw); err != nil {
		errors.As(err, &wrong)
	}
	b := &ingest.BadRecord{Position: r.rec.Position, Raw: r.rec.Raw, Reason: wrong.reason, Code: errcode.RejectColumns}
	if wrong.column < len(r.form.Columns) {
		b.Column = r.form.Columns[wrong.column]
	}
	return b
}

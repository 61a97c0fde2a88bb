package ingest

import (
	"errors"
	"io"
	"unicode/utf8"
)

// nextScanned is Next where the form has escapes or enclosures.
func (r *Reader) nextScanned() (*Record, error) {
	length, next, err := r.scanRecord()
	var wrong *badSyntax
	if errors.As(err, &wrong) {
		if length, next, err = r.scanEnd(); err == nil {
			r.take(length, next)
			return nil, r.badSyntax(wrong)
		}
	}
	if err != nil {
		r.err = err
		return nil, err
	}
	r.take(length, next)
	if r.scan.columns != len(r.form.Columns) {
		return nil, r.bad()
	}
	if err := r.fillFields(); err != nil {
		return nil, err
	}
	r.good = true
	return &r.rec, nil
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

// scanEnd is the same for a record that can't be read.
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

// fillFields makes the record's values of what was scanned: decoded, without escapes, nil where they are nulls.
func (r *Reader) fillFields() error {
	rec := &r.rec
	r.plain = r.plain[:0]
	for i, field := range r.scan.spans {
		value := rec.Raw[field.start:field.end:field.end]
		if !r.form.Charset.IsUTF8() {
			begin := len(r.plain)
			text, valid := r.form.Charset.Append(r.plain, value)
			if r.plain = text; valid < len(value) {
				return r.badCharacterIn(i, field.start+valid)
			}
			value = text[begin:len(text):len(text)]
		}
		rec.Fields[i] = r.unescaped(i, value, field.escaped)
	}
	if r.form.Charset.IsUTF8() && !utf8.Valid(rec.Raw) {
		if i, at := invalidField(rec.Fields); i >= 0 {
			return r.badText(i, at)
		}
	}
	return nil
}

// unescaped gives a column's value. A null's text is one with its escapes, too: with --escaped-by \\ Sqoop writes \N as
// \\N, and others leave it as it is.
func (r *Reader) unescaped(column int, value []byte, escaped bool) []byte {
	if r.form.isNull(column, value) {
		return nil
	}
	if !escaped {
		return value
	}
	begin := len(r.plain)
	r.plain = unescape(r.plain, value, r.form.Escape)
	value = r.plain[begin:len(r.plain):len(r.plain)]
	if r.form.isNull(column, value) {
		return nil
	}
	return value
}

// badSyntax makes the BadRecord of a record that can't be read.
func (r *Reader) badSyntax(wrong *badSyntax) error {
	b := &BadRecord{Position: r.rec.Position, Raw: r.rec.Raw, Reason: wrong.reason}
	if wrong.column < len(r.form.Columns) {
		b.Column = r.form.Columns[wrong.column]
	}
	return b
}

package delimited

import (
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/errcode"
)

// checkCharset checks that delimiters can be told from the bytes of a character, because the end of a record is
// searched before the text is decoded.
func (d *Form) checkCharset() error {
	if d.Charset.IsUTF8() {
		return nil
	}
	for name, delimiter := range map[string][]byte{"field": d.FieldDelimiter, "record": d.RecordDelimiter} {
		if text, valid := d.Charset.Append(nil, delimiter); valid < len(delimiter) {
			return errcode.JobValue.Errorf("read delimited text: the %s delimiter %s is not text in %s", name,
				ingest.FormatDelimiter(delimiter), d.Charset.Name())
		} else if name == "record" && d.Charset.CanTrail(delimiter[0]) {
			return errcode.JobValue.Errorf(
				"read delimited text: the record delimiter %s may be the second byte of a character in %s; "+
					`export with \n or \x10 between records, or in UTF-8`, ingest.FormatDelimiter(text), d.Charset.Name())
		}
	}
	return nil
}

// inUTF8 is the form that splits a decoded record into fields.
func (d *Form) inUTF8() *Form {
	if d.Charset.IsUTF8() {
		return d
	}
	decoded := *d
	decoded.FieldDelimiter, _ = d.Charset.Append(nil, d.FieldDelimiter)
	return &decoded
}

// nextDecoded continues with the record in rec if the file is not UTF-8. It is decoded before it is split, because a
// field delimiter such as | may be the second byte of a character. Raw keeps the file's own bytes.
func (r *Reader) nextDecoded() (*ingest.Record, error) {
	text, valid := r.form.Charset.Append(r.unescapedBuf[:0], r.rec.Raw)
	r.unescapedBuf = text
	if valid < len(r.rec.Raw) {
		return nil, r.badCharacter(valid)
	}
	if !r.fields.cut(r.rec.Fields, r.unescapedBuf) {
		return nil, r.bad()
	}
	r.good = true
	return &r.rec, nil
}

// badCharacter makes the BadRecord of bytes that are not a character of the charset; r.unescapedBuf holds the text
// before them.
func (r *Reader) badCharacter(at int) error {
	b := &ingest.BadRecord{Position: r.rec.Position, Raw: r.rec.Raw, Code: errcode.RejectCharset,
		Reason: fmt.Sprintf("not %s: % x at byte %d of the record",
			r.form.Charset.Name(), r.rec.Raw[at:min(at+4, len(r.rec.Raw))], at)}
	if i := r.fields.columns(r.unescapedBuf) - 1; i < len(r.form.Columns) {
		b.Column = r.form.Columns[i]
	}
	return b
}

// columns counts the columns of a record as stored in the file.
func (r *Reader) columns(raw []byte) int {
	switch {
	case r.scan != nil:
		return r.scan.count(raw)
	case r.form.Charset.IsUTF8():
		return r.form.columns(raw)
	}
	text, _ := r.form.Charset.Append(nil, raw)
	return r.fields.columns(text)
}

// badCharacterIn is badCharacter for a value of a record that was split before it was decoded.
func (r *Reader) badCharacterIn(column, at int) error {
	return &ingest.BadRecord{Position: r.rec.Position, Column: r.form.Columns[column], Raw: r.rec.Raw,
		Code: errcode.RejectCharset, Reason: fmt.Sprintf("not %s: % x at byte %d of the record",
			r.form.Charset.Name(), r.rec.Raw[at:min(at+4, len(r.rec.Raw))], at)}
}

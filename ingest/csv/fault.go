package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bulkload/ingest"
	"bulkload/internal/errcode"
)

// rejectLine rejects the line in which a record with unmatched quotes begins, and continues with the next line. So the
// reject depends on that line alone, not on the lines that happen to follow.
func (r *reader) rejectLine() (*ingest.Record, error) {
	line, err := r.consumeLine()
	if err != nil {
		return nil, err
	}
	line = r.unstuff(line)
	if kind := r.classify(line, false); kind != noNoise {
		return nil, r.handleNonRow(kind, line)
	}
	r.begun(line)
	_, what := r.scanWhole(line)
	return nil, r.bad(errcode.RejectColumns, r.columnAt(r.count), r.quoteReason(line, what))
}

// consumeLine advances past a line, and returns it without its line break.
func (r *reader) consumeLine() ([]byte, error) {
	for bytes.IndexByte(r.rest(), '\n') < 0 && !r.eof {
		if len(r.rest()) > r.maxRecord {
			return nil, r.tooLong()
		}
		if err := r.more(); err != nil {
			return nil, err
		}
	}
	line, next := r.line()
	r.pos = next
	n := len(line)
	cr := n > 0 && line[n-1] == '\r'
	if !r.ended {
		r.ended, r.crlf = true, cr
	}
	if cr && r.crlf {
		line = line[: n-1 : n-1]
	}
	return line, nil
}

// quoteReason says which quote of a line is wrong, given the outcome of the scan.
func (r *reader) quoteReason(line []byte, what outcome) string {
	start := 0 // start of the value
	if r.count > 0 && r.count <= len(r.spans) {
		start = r.spans[r.count-1].end + 1
	}
	if what == unclosed {
		return fmt.Sprintf("the quote at byte %d of the record is not closed, or a quote in the value is not written twice",
			start)
	}
	at, _ := r.scanWhole(line)
	if start < len(line) && line[start] == r.form.Quote {
		return fmt.Sprintf("a quote at byte %d of the record, within a quoted value, is not written twice", at)
	}
	return fmt.Sprintf("a quote at byte %d of the record, in a value that does not begin with one", at)
}

// badValue makes the BadRecord of a value that is not valid text.
func (r *reader) badValue(column, at int) *ingest.BadRecord {
	v := r.spans[r.indexes[column]]
	value := r.rec.Raw[v.start:v.end]
	if v.quoted {
		r.decoded = r.decoded[:0]
		value = r.unquote(value, v.doubled)
	}
	b := r.bad(errcode.RejectCharset, r.form.Columns[column], fmt.Sprintf("not %s: % x at byte %d of the value",
		charsetName(r.form), value[at:min(at+4, len(value))], at))
	if r.form.Charset.IsUTF8() {
		b.Hint = ingest.CharsetHint(r.rec.Raw)
	}
	return b
}

func charsetName(f *Form) string {
	if f.Charset.IsUTF8() {
		return "UTF-8"
	}
	return f.Charset.Name()
}

// checkWholeText checks that the whole record is valid text if the delimiter can be a part of a character, because a
// character may then have been cut in two.
func (r *reader) checkWholeText() string {
	if r.scanner.charset == nil {
		return ""
	}
	raw := r.rec.Raw
	text, valid := r.form.Charset.Append(r.decoded[:0], raw)
	r.decoded = text
	if valid == len(raw) {
		return ""
	}
	return fmt.Sprintf("not %s: % x at byte %d of the record", charsetName(r.form),
		raw[valid:min(valid+4, len(raw))], valid)
}

// columnAt returns a column's name by its position in the file, if the form has it; otherwise "".
func (r *reader) columnAt(place int) string {
	for i, p := range r.indexes {
		if p == place {
			return r.form.Columns[i]
		}
	}
	if place < len(r.names) {
		return r.names[place]
	}
	return ""
}

// delimiterHint suggests another delimiter if the first record, or the whole file, is a single value.
func (r *reader) delimiterHint() string {
	if r.good || r.number > 1 {
		return ""
	}
	if cr := loneCR(r.rec.Raw); cr != "" && r.eof && r.pos == r.fill {
		return "all of " + r.path + " is one line" + cr
	}
	if r.count != 1 {
		return ""
	}
	if other := r.otherDelimiter(r.rec.Raw); other != "" {
		return fmt.Sprintf("the first record of %s has no field delimiter %s%s", r.path,
			ingest.FormatDelimiter([]byte{r.form.Delimiter}), other)
	}
	return ""
}

// ignoreEOF returns nil for the end of a file.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

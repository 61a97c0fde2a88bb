package delimited

import (
	"bytes"
	"errors"
	"fmt"

	"bulkload/ingest"
)

// maxEnclosed is how far to search for the end of an enclosed value. Sqoop stores values of up to 16 MB in its text.
const maxEnclosed = 32 << 20

// The things that a byte may begin.
const (
	escapes byte = 1 << iota
	endsField
	endsRecord
	character // of several bytes, one of which may look like a delimiter
	separator // separates rejects, between two record delimiters: see ingest.RejectSeparator
)

// scanner finds the end of a record and its fields if the text has escapes or enclosures, or delimiters that may be
// part of a character. It implements the states of Sqoop's org.apache.sqoop.lib.RecordParser: an escape makes the next
// character literal, anywhere. An enclosure opens a value if it is the value's first character, and the next unescaped
// one closes it; only a delimiter may follow. Unlike that parser it treats an escape or an enclosure cut off by the end
// of the file as an error.
type scanner struct {
	form    *Form
	rejects bool      // the file is one of rejects, with separators
	ends    []byte    // end of a reject there: a delimiter, ingest.RejectSeparator and a delimiter
	outside [256]byte // outside of enclosures
	inside  [256]byte // inside: escapes and characters only, and the enclosure as endsField
	spans   []span    // of the last record's fields, at most one more than there are columns
	columns int       // of the last record
}

// span is the text of a field in its record, without enclosures.
type span struct {
	start, end int
	escaped    bool // holds escapes
}

var errMore = errors.New("the record continues after the buffer")

// badSyntax says what is wrong in a record, and at which position.
type badSyntax struct {
	at     int
	column int
	reason string
}

func (b *badSyntax) Error() string { return b.reason }

// newScanner returns nil if the form does not need a scanner.
func newScanner(d *Form, file string) *scanner {
	if !d.needsScanner() {
		return nil
	}
	s := &scanner{form: d, ends: d.RejectDelimiter()}
	if s.rejects = ingest.IsRejects(file) && len(s.ends) > len(d.RecordDelimiter); s.rejects {
		s.inside[ingest.RejectSeparator] |= separator
	}
	if d.Escape != 0 {
		s.outside[d.Escape] |= escapes
		s.inside[d.Escape] |= escapes
	}
	if d.Enclosure != 0 {
		s.inside[d.Enclosure] |= endsField
	}
	if len(d.FieldDelimiter) > 0 {
		s.outside[d.FieldDelimiter[0]] |= endsField
	}
	s.outside[d.RecordDelimiter[0]] |= endsRecord
	if !d.Charset.IsUTF8() {
		for b := 0x80; b < 0x100; b++ {
			s.outside[b] |= character
			s.inside[b] |= character
		}
	}
	return s
}

// record finds the end of the record at the start of text, and where the next one begins. It returns errMore if text
// ends too early and is not the end of the file, and a *badSyntax if the record is malformed.
func (s *scanner) record(text []byte, atEnd bool) (end, next int, err error) {
	s.spans, s.columns = s.spans[:0], 0
	for at := 0; ; {
		field, ended, behind, err := s.field(text, at, atEnd)
		if err != nil {
			return 0, 0, err
		}
		s.columns++
		if len(s.spans) <= len(s.form.Columns) {
			s.spans = append(s.spans, field)
		}
		if ended != endsField {
			if behind == len(text) && ended == 0 {
				return len(text), len(text), nil
			}
			return behind - len(s.form.RecordDelimiter), behind, nil
		}
		at = behind
	}
}

// field reads a field and the delimiter after it. ended is that delimiter, 0 at the end of the file; behind is the
// offset after it.
func (s *scanner) field(text []byte, at int, atEnd bool) (field span, ended byte, behind int, err error) {
	if at == len(text) && !atEnd {
		return span{}, 0, 0, errMore
	}
	enclosure := s.form.Enclosure
	if enclosure != 0 && at < len(text) && text[at] == enclosure {
		return s.enclosed(text, at, atEnd)
	}
	field, ended, behind, err = s.open(text, at, atEnd)
	if err == nil && s.form.EncloseAll && field.end > field.start &&
		!(field.escaped && text[field.start] == s.form.Escape) {
		err = s.bad(at, "the value does not begin with %s", quoted(enclosure))
	}
	return field, ended, behind, err
}

// open reads a field without enclosure.
func (s *scanner) open(text []byte, at int, atEnd bool) (field span, ended byte, behind int, err error) {
	field.start = at
	for {
		for at < len(text) && s.outside[text[at]] == 0 {
			at++
		}
		if at == len(text) {
			if !atEnd {
				return field, 0, 0, errMore
			}
			field.end = at
			return field, 0, at, nil
		}
		if ended, behind, err = s.delimiter(text, at, atEnd); err != nil || ended != 0 {
			field.end = at
			return field, ended, behind, err
		}
		n, err := s.step(text, at, s.outside[text[at]], atEnd)
		if err != nil {
			return field, 0, 0, err
		}
		field.escaped = field.escaped || s.outside[text[at]]&escapes != 0
		at += n
	}
}

// enclosed reads a field that begins with the enclosure.
func (s *scanner) enclosed(text []byte, start int, atEnd bool) (field span, ended byte, behind int, err error) {
	field.start = start + 1
	at := field.start
	for {
		for at < len(text) && s.inside[text[at]] == 0 {
			at++
		}
		if at == len(text) {
			return field, 0, 0, s.unclosed(start, at, atEnd)
		}
		if s.inside[text[at]]&endsField != 0 {
			break
		}
		if s.inside[text[at]]&separator != 0 {
			behind := at + 1 + len(s.form.RecordDelimiter)
			if behind > len(text) && !atEnd {
				return field, 0, 0, errMore
			}
			if s.endsReject(text[:min(len(text), behind)], at-len(s.form.RecordDelimiter)) {
				return field, 0, 0, s.unclosed(start, at, true)
			}
			at++
			continue
		}
		n, err := s.step(text, at, s.inside[text[at]], atEnd)
		if err != nil {
			return field, 0, 0, err
		}
		field.escaped = field.escaped || s.inside[text[at]]&escapes != 0
		at += n
	}
	field.end = at
	at++
	if at == len(text) {
		if !atEnd {
			return field, 0, 0, errMore
		}
		return field, 0, at, nil
	}
	ended, behind, err = s.delimiter(text, at, atEnd)
	if err == nil && ended == 0 {
		err = s.bad(at, "%s follows the closing %s of a value, where a delimiter is expected; a %s inside a value needs an "+
			"escape before it",
			quoted(text[at]), quoted(s.form.Enclosure), quoted(s.form.Enclosure))
	}
	return field, ended, behind, err
}

// unclosed is the error for an enclosed value whose end is not in the text.
func (s *scanner) unclosed(start, at int, atEnd bool) error {
	switch {
	case at-start > maxEnclosed:
		return s.bad(start, "the enclosed value has no %s within %d bytes", quoted(s.form.Enclosure), maxEnclosed)
	case atEnd:
		return s.bad(start, "the enclosed value has no %s at its end", quoted(s.form.Enclosure))
	}
	return errMore
}

// delimiter returns the delimiter at a position, or 0, and the position after it.
func (s *scanner) delimiter(text []byte, at int, atEnd bool) (ended byte, behind int, err error) {
	means, rest := s.outside[text[at]], text[at:]
	if means&endsRecord != 0 {
		if bytes.HasPrefix(rest, s.form.RecordDelimiter) {
			return endsRecord, at + len(s.form.RecordDelimiter), nil
		}
		if !atEnd && bytes.HasPrefix(s.form.RecordDelimiter, rest) {
			return 0, 0, errMore
		}
	}
	if means&endsField != 0 {
		if bytes.HasPrefix(rest, s.form.FieldDelimiter) {
			return endsField, at + len(s.form.FieldDelimiter), nil
		}
		if !atEnd && bytes.HasPrefix(s.form.FieldDelimiter, rest) {
			return 0, 0, errMore
		}
	}
	return 0, 0, nil
}

// maxCharacterLen is how many bytes a character of any charset may have.
const maxCharacterLen = 4

// step is the length of an escape and the character it escapes, of a character, or of a byte that turns out not to be a
// delimiter.
func (s *scanner) step(text []byte, at int, means byte, atEnd bool) (int, error) {
	if means&(escapes|character) == 0 {
		return 1, nil
	}
	if len(text)-at < 1+max(maxCharacterLen, len(s.ends)) && !atEnd {
		return 0, errMore
	}
	if means&escapes == 0 {
		return max(1, s.form.Charset.Length(text[at:])), nil
	}
	if at+1 == len(text) || s.endsReject(text, at+1) {
		return 0, s.bad(at, "it ends with the escape character %s, and nothing that it escapes", quoted(s.form.Escape))
	}
	if s.inside[text[at+1]]&character != 0 {
		return 1 + max(1, s.form.Charset.Length(text[at+1:])), nil
	}
	return 2, nil
}

// end finds the end of a malformed record: its first record delimiter without an escape before it. So a stray enclosure
// costs only the record it is in.
func (s *scanner) end(text []byte, atEnd bool) (end, next int, err error) {
	for at := 0; ; {
		_, ended, behind, err := s.open(text, at, atEnd)
		var bad *badSyntax
		switch {
		case errors.As(err, &bad) && s.endsReject(text, bad.at+1):
			return bad.at + 1, bad.at + 1 + len(s.form.RecordDelimiter), nil
		case bad != nil || err == nil && ended == 0:
			return len(text), len(text), nil
		case err != nil:
			return 0, 0, err
		case ended == endsRecord:
			return behind - len(s.form.RecordDelimiter), behind, nil
		}
		at = behind
	}
}

// endsReject reports whether a reject ends at a position. The last delimiter may be missing at the end of the file.
func (s *scanner) endsReject(text []byte, at int) bool {
	if at < 0 || !s.rejects {
		return false
	}
	rest := text[at:]
	return bytes.HasPrefix(rest, s.ends) || len(rest) == len(s.form.RecordDelimiter)+1 && bytes.HasPrefix(s.ends, rest)
}

func (s *scanner) bad(at int, format string, args ...any) error {
	return &badSyntax{at, s.columns, fmt.Sprintf(format, args...)}
}

// whole scans a record that takes up all of raw. It returns a *badSyntax if the record is malformed.
func (s *scanner) whole(raw []byte) error {
	rejects := s.rejects
	s.rejects = false
	_, _, err := s.record(raw, true)
	s.rejects = rejects
	return err
}

// count is the number of columns of a whole record; -1 if it is malformed.
func (s *scanner) count(raw []byte) int {
	if s.whole(raw) != nil {
		return -1
	}
	return s.columns
}

// quoted formats a byte of a text for people.
func quoted(b byte) string {
	if b >= 0x80 {
		return fmt.Sprintf("byte %02x", b)
	}
	return ingest.FormatDelimiter([]byte{b})
}

// unescape appends text without its escapes to dst; an escape at the very end stays.
func unescape(dst, text []byte, escape byte) []byte {
	for {
		i := bytes.IndexByte(text, escape)
		if i < 0 || i+1 == len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, text[i+1])
		text = text[i+2:]
	}
}

package csv

import (
	"encoding/binary"
	"math/bits"

	"bulkload/ingest/charset"
)

// span is a value in a record, quotes included.
type span struct {
	start, end int
	quoted     bool
	doubled    bool // a quoted quote is in it
}

// scanner finds where the values of a record end.
type scanner struct {
	delimiter, quote byte // quote is the delimiter where there is none: it is never reached then
	spans            []span
	count            int // of the record's values; those beyond len(spans) are only counted

	charset *charset.Charset // set where the delimiter may be a later byte of a character
	known   int              // where a character begins; for begins
}

// outcome is what a scan came to.
type outcome int

const (
	complete  outcome = iota // the record ends
	cut                      // the record goes on behind what was given
	misquoted                // a quote stands where none can
	unclosed                 // a quote is open at the end of the file, or at the separator of rejects
)

// Eight bytes at a time: a byte looked for becomes 0x80, all others 0.
const (
	ones  = 0x0101010101010101
	lower = 0x7f7f7f7f7f7f7f7f
)

func zeros(x uint64) uint64 { return ^((x&lower + lower) | x | lower) }

// scan reads the record at the start of b; atEnd says that b reaches the end of the file. end is where its line break
// stands, or len(b); with misquoted it is where the quote stands.
func (s *scanner) scan(b []byte, atEnd bool) (end int, what outcome) {
	delimiter, quote := s.delimiter, s.quote
	delimiters, quotes, breaks := ones*uint64(delimiter), ones*uint64(quote), uint64(ones*'\n')
	s.count, s.known = 0, 0
	var v span // the value being read
	inside, closed := false, -1
	for at := 0; at < len(b); at += 8 {
		x := word(b, at)
		for marks := zeros(x^delimiters) | zeros(x^quotes) | zeros(x^breaks); marks != 0; marks &= marks - 1 {
			i := at + bits.TrailingZeros64(marks)/8
			switch c := b[i]; {
			case !inside && c == delimiter:
				if s.charset != nil && !s.begins(b, max(v.start, closed+1), i) {
					continue
				}
				v.end = i
				s.add(v)
				v = span{start: i + 1}
			case !inside && c == '\n':
				v.end = i
				s.add(v)
				return i, complete
			case inside && c == quote:
				if what := closes(b[i+1:], delimiter, quote, atEnd); what != complete {
					return i, what
				}
				inside, closed = false, i
			case c == quote && v.quoted && closed == i-1:
				inside, v.doubled = true, true
			case c == quote && i == v.start:
				inside, v.quoted = true, true
			case c == quote:
				return i, misquoted
			case c == '\n' && separates(b[i+1:]):
				return i, unclosed
			}
		}
	}
	switch {
	case !atEnd:
		return len(b), cut
	case inside:
		return len(b), unclosed
	}
	v.end = len(b)
	s.add(v)
	return len(b), complete
}

// word is eight bytes of b, zeros behind its end: neither a delimiter nor a quote is a zero.
func word(b []byte, at int) uint64 {
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	var tail [8]byte
	copy(tail[:], b[at:])
	return binary.LittleEndian.Uint64(tail[:])
}

func (s *scanner) add(v span) {
	if s.count < len(s.spans) {
		s.spans[s.count] = v
	}
	s.count++
}

// begins says whether a character begins at b[at] and b[at] is not a part of one before; one begins at b[from].
func (s *scanner) begins(b []byte, from, at int) bool {
	from = max(from, s.known)
	for from < at {
		from += max(1, s.charset.Length(b[from:]))
	}
	s.known = from
	return from == at
}

// closes looks at what follows a quote in a quoted value: another quote, or the value's end.
func closes(behind []byte, delimiter, quote byte, atEnd bool) outcome {
	switch {
	case len(behind) == 0:
	case behind[0] == delimiter || behind[0] == quote || behind[0] == '\n':
		return complete
	case behind[0] != '\r' || len(behind) > 1 && behind[1] != '\n':
		return misquoted
	case len(behind) > 1:
		return complete
	}
	if !atEnd {
		return cut
	}
	return complete
}

// separates says whether a line begins that is the separator of rejects.
func separates(line []byte) bool {
	return len(line) > 0 && line[0] == separator && (len(line) == 1 || line[1] == '\n' || line[1] == '\r')
}

package csv

import (
	"encoding/binary"
	"math/bits"

	"bulkload/ingest"
	"bulkload/ingest/charset"
)

// span is a value in a record, quotes included.
type span struct {
	start, end int
	quoted     bool
	doubled    bool // it contains a quote, written twice
}

// scanner finds where the values of a record end.
type scanner struct {
	delimiter, quote byte
	quoting          bool // values may be quoted; otherwise quote is the delimiter
	rejects          bool // the file is one of rejects, where a separator ends the record before it
	spans            []span
	count            int // of the record's values; those after len(spans) are only counted

	charset   *charset.Charset // set if the delimiter may be a later byte of a character
	charStart int              // where a character begins; for beginsChar
}

// outcome is how a scan ended.
type outcome int

const (
	complete  outcome = iota // the record ends
	cut                      // the record continues after the given bytes
	misquoted                // a quote where none is allowed
	unclosed                 // an open quote at the end of the file, or at the separator of rejects
)

// scan scans the record at the start of b; atEnd says that b reaches the end of the file. end is the position of the
// record's line break, or len(b); for misquoted it is the position of the quote.
func (s *scanner) scan(b []byte, atEnd bool) (end int, what outcome) {
	s.count, s.charStart = 0, 0
	for start := 0; ; {
		v := span{start: start}
		if s.quoting && start < len(b) && b[start] == s.quote {
			v.quoted = true
			if end, v.doubled, what = s.quoted(b, start+1, atEnd); what != complete {
				return end, what
			}
			end = s.skipCR(b, end)
		} else if end = s.bare(b, start); end < len(b) && b[end] == s.quote && s.quoting {
			return end, misquoted
		}
		if end == len(b) && !atEnd {
			return end, cut
		}
		v.end = end
		if s.count < len(s.spans) {
			s.spans[s.count] = v
		}
		s.count++
		if end == len(b) || b[end] == '\n' {
			return end, complete
		}
		start = end + 1
	}
}

// quoted finds the end of the quoted value whose opening quote precedes b[from]; end is after the closing quote.
func (s *scanner) quoted(b []byte, from int, atEnd bool) (end int, doubled bool, what outcome) {
	stop := s.quote
	if s.rejects {
		stop = separator
	}
	quotes, stops := ingest.EveryByte*uint64(s.quote), ingest.EveryByte*uint64(stop)
	for at := from; ; {
		i := at
		for ; i+8 <= len(b); i += 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			if marks := ingest.ZeroBytes(x^quotes) | ingest.ZeroBytes(x^stops); marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
		}
		for i < len(b) && b[i] != s.quote && b[i] != stop {
			i++
		}
		switch {
		case i == len(b) && atEnd:
			return i, doubled, unclosed
		case i == len(b), i+1 == len(b) && !atEnd:
			return i, doubled, cut
		case b[i] != s.quote && i > 0 && b[i-1] == '\n' && isSeparator(b[i:]):
			return i, doubled, unclosed
		case b[i] != s.quote:
			at = i + 1
		case i+1 < len(b) && b[i+1] == s.quote:
			doubled, at = true, i+2
		default:
			if what := s.closes(b[i+1:], atEnd); what != complete {
				return i, doubled, what
			}
			return i + 1, doubled, complete
		}
	}
}

// closes checks the bytes after a closing quote; they do not begin with a quote.
func (s *scanner) closes(behind []byte, atEnd bool) outcome {
	switch {
	case len(behind) == 0 || behind[0] == s.delimiter || behind[0] == '\n':
		return complete
	case behind[0] != '\r' || len(behind) > 1 && behind[1] != '\n':
		return misquoted
	case len(behind) == 1 && !atEnd:
		return cut
	}
	return complete
}

// skipCR advances from the byte after a closing quote to the value's end, past a CR if there is one.
func (s *scanner) skipCR(b []byte, at int) int {
	if at < len(b) && b[at] == '\r' && s.delimiter != '\r' {
		return at + 1
	}
	return at
}

// bare finds the end of the unquoted value at b[start], or the first quote in it.
func (s *scanner) bare(b []byte, start int) int {
	delimiters, quotes, breaks := ingest.EveryByte*uint64(s.delimiter), ingest.EveryByte*uint64(s.quote),
		uint64(ingest.EveryByte*'\n')
	for at := start; ; {
		i := at
		for ; i+8 <= len(b); i += 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			if marks := ingest.ZeroBytes(x^delimiters) | ingest.ZeroBytes(x^quotes) | ingest.ZeroBytes(x^breaks); marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
		}
		for i < len(b) && b[i] != s.delimiter && b[i] != s.quote && b[i] != '\n' {
			i++
		}
		if s.charset == nil || i == len(b) || b[i] != s.delimiter || s.beginsChar(b, start, i) {
			return i
		}
		at = i + 1
	}
}

// beginsChar reports whether a character begins at b[at], given that one begins at b[from].
func (s *scanner) beginsChar(b []byte, from, at int) bool {
	from = max(from, s.charStart)
	for from < at {
		from += max(1, s.charset.Length(b[from:]))
	}
	s.charStart = from
	return from == at
}

// scanWhole scans a record that takes up all of raw.
func (s *scanner) scanWhole(raw []byte) (end int, what outcome) {
	rejects := s.rejects
	s.rejects = false
	end, what = s.scan(raw, true)
	s.rejects = rejects
	return end, what
}

// isSeparator reports whether a line begins with the separator of rejects.
func isSeparator(line []byte) bool {
	return len(line) > 0 && line[0] == separator && (len(line) == 1 || line[1] == '\n' || line[1] == '\r')
}

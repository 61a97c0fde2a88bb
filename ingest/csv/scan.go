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
	doubled    bool // a quote is in it, written twice
}

// scanner finds where the values of a record end.
type scanner struct {
	delimiter, quote byte
	quoting          bool // values may be quoted; else quote is the delimiter
	rejects          bool // the file is one of rejects: a separator ends what it follows
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

// scan reads the record at the start of b; atEnd says that b reaches the end of the file. end is where its line break
// stands, or len(b); with misquoted it is where the quote stands.
func (s *scanner) scan(b []byte, atEnd bool) (end int, what outcome) {
	s.count, s.known = 0, 0
	for start := 0; ; {
		v := span{start: start}
		if s.quoting && start < len(b) && b[start] == s.quote {
			v.quoted = true
			if end, v.doubled, what = s.quoted(b, start+1, atEnd); what != complete {
				return end, what
			}
			end = s.behind(b, end)
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

// quoted finds where the quoted value ends whose opening quote is before b[from]: end is behind its closing quote.
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
		case b[i] != s.quote && i > 0 && b[i-1] == '\n' && separates(b[i:]):
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

// closes looks at what follows the closing quote of a value, which is not a quote.
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

// behind goes from behind a closing quote to the value's end: a CR may be between.
func (s *scanner) behind(b []byte, at int) int {
	if at < len(b) && b[at] == '\r' && s.delimiter != '\r' {
		return at + 1
	}
	return at
}

// bare finds where the value at b[start] ends that is not quoted, or the quote in it.
func (s *scanner) bare(b []byte, start int) int {
	delimiters, quotes, breaks := ingest.EveryByte*uint64(s.delimiter), ingest.EveryByte*uint64(s.quote), uint64(ingest.EveryByte*'\n')
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
		if s.charset == nil || i == len(b) || b[i] != s.delimiter || s.begins(b, start, i) {
			return i
		}
		at = i + 1
	}
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

// scanWhole reads a record that is all of raw.
func (s *scanner) scanWhole(raw []byte) (end int, what outcome) {
	rejects := s.rejects
	s.rejects = false
	end, what = s.scan(raw, true)
	s.rejects = rejects
	return end, what
}

// separates says whether a line begins that is the separator of rejects.
func separates(line []byte) bool {
	return len(line) > 0 && line[0] == separator && (len(line) == 1 || line[1] == '\n' || line[1] == '\r')
}

package keys

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"bulkload/values"
)

// dateField is a part of a date or time.
type dateField int

const (
	fieldLiteral dateField = iota
	fieldYear
	fieldYear2
	fieldMonth
	fieldDay
	fieldHour
	fieldMinute
	fieldSecond
	fieldMilli
	fieldDayOfYear
)

// datePart is one piece of a layout: a field, or text as it is.
type datePart struct {
	field dateField
	text  string
}

// layoutPieces are a layout's words: those of Go's reference time, and Java's letters. Longer ones come first.
var layoutPieces = []struct {
	word  string
	field dateField
}{
	{"2006", fieldYear}, {"000", fieldMilli}, {"002", fieldDayOfYear}, {"06", fieldYear2}, {"01", fieldMonth},
	{"02", fieldDay}, {"15", fieldHour}, {"04", fieldMinute}, {"05", fieldSecond},
	{"yyyy", fieldYear}, {"SSS", fieldMilli}, {"DDD", fieldDayOfYear}, {"yy", fieldYear2}, {"MM", fieldMonth},
	{"dd", fieldDay}, {"HH", fieldHour}, {"mm", fieldMinute}, {"ss", fieldSecond},
}

var fieldWidths = [...]int{fieldYear: 4, fieldYear2: 2, fieldMonth: 2, fieldDay: 2, fieldHour: 2, fieldMinute: 2,
	fieldSecond: 2, fieldMilli: 3, fieldDayOfYear: 3}

func (p datePart) width() int { return len(p.text) + fieldWidths[p.field] }

// parseLayout parses a layout such as 20060102 or yyyyMMdd.
func parseLayout(layout string) ([]datePart, error) {
	var parts []datePart
	fields := 0
	for i := 0; i < len(layout); {
		field, n := layoutPiece(layout[i:])
		switch c := layout[i]; {
		case n > 0:
			parts = append(parts, datePart{field: field})
			fields++
			i += n
		case isDigit(rune(c)) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			return nil, fmt.Errorf("%q is not a date layout; %q is not part of one: write 20060102 150405 000 or yyyyMMdd "+
				"HHmmss SSS, or parts of it", layout, layout[i:])
		default:
			parts = append(parts, datePart{text: layout[i : i+1]})
			i++
		}
	}
	if fields == 0 {
		return nil, fmt.Errorf("%q names no part of a date: write 20060102 or yyyyMMdd, or parts of it", layout)
	}
	return parts, nil
}

func layoutPiece(text string) (dateField, int) {
	for _, p := range layoutPieces {
		if strings.HasPrefix(text, p.word) {
			return p.field, len(p.word)
		}
	}
	return fieldLiteral, 0
}

const problemDate = "not a date such as 2026-11-20 or 2026-11-20 01:02:03, or out of range"

// noDate says what is wrong with a text that is not a date.
func noDate(x []byte) string { return cmp.Or(values.OracleDate(x), problemDate) }

// applyDate formats the date of x in the step's layout. It shows the clock that x was written with: no time zone is
// involved, except that seconds and milliseconds since 1970 are in UTC. If a zone is given, these, and clocks with an
// offset, are shown in that zone.
func applyDate(s *step, dst, x []byte) ([]byte, string) {
	m, ok := s.parseMoment(x)
	if !ok {
		return dst, noDate(x)
	}
	if s.zone != nil && m.Zoned {
		m = values.ClockAt(m.Millis(nil), s.zone)
	}
	if m.Year < 0 || m.Year > 9999 {
		return dst, problemDate
	}
	for _, p := range s.layout {
		dst = p.append(dst, &m)
	}
	return dst, ""
}

func (p datePart) append(dst []byte, m *values.DateTime) []byte {
	value := 0
	switch p.field {
	case fieldLiteral:
		return append(dst, p.text...)
	case fieldYear:
		value = m.Year
	case fieldYear2:
		value = m.Year % 100
	case fieldMonth:
		value = m.Month
	case fieldDay:
		value = m.Day
	case fieldHour:
		value = m.Hour
	case fieldMinute:
		value = m.Minute
	case fieldSecond:
		value = m.Second
	case fieldMilli:
		value = int(m.Nanos / 1e6)
	case fieldDayOfYear:
		value = m.DayOfYear()
	}
	return appendPadded(dst, uint64(value), fieldWidths[p.field])
}

// rank orders the fields by how long they take to repeat; the longest is 0.
var rank = [...]int{fieldYear: 0, fieldYear2: 0, fieldMonth: 1, fieldDayOfYear: 1, fieldDay: 2,
	fieldHour: 3, fieldMinute: 4,
	fieldSecond: 5, fieldMilli: 6}

// cycles holds, by the rank of its greatest field, the shortest time after which a date repeats.
var cycles = [...]time.Duration{0, 365 * 24 * time.Hour, 28 * 24 * time.Hour, 24 * time.Hour,
	time.Hour, time.Minute, time.Second}

// cycleOf is the time after which the dates of a layout repeat; 0 if it has the year.
func cycleOf(layout []datePart) time.Duration {
	greatest := len(cycles) - 1
	for _, p := range layout {
		if p.field != fieldLiteral {
			greatest = min(greatest, rank[p.field])
		}
	}
	return cycles[greatest]
}

// greatestFirst reports whether dates in a layout sort by time, because no field follows a smaller one.
func greatestFirst(layout []datePart) bool {
	last := 0
	for _, p := range layout {
		if p.field == fieldLiteral {
			continue
		}
		if rank[p.field] < last {
			return false
		}
		last = rank[p.field]
	}
	return true
}

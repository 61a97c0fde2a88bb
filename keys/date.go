package keys

import (
	"fmt"
	"strings"
)

// dateField is a part of a moment.
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

// layoutPieces are a layout's words: Go's reference moment, and Java's letters. Longer ones come first.
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

// parseLayout reads a layout such as 20060102 or yyyyMMdd.
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
			return nil, fmt.Errorf("%q is no date layout from %q on: write 20060102 150405 000 or yyyyMMdd HHmmss SSS, or parts of it", layout, layout[i:])
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

const problemDate = "no date"

// applyDate writes the date of x in the step's layout. The clock is the one that x was written with: no time zone
// comes into it, except that seconds and milliseconds since 1970 are UTC's.
func applyDate(s *step, dst, x []byte) ([]byte, string) {
	m, ok := parseMoment(x)
	if !ok {
		return dst, problemDate
	}
	for _, p := range s.layout {
		dst = p.append(dst, &m)
	}
	return dst, ""
}

func (p datePart) append(dst []byte, m *moment) []byte {
	value := 0
	switch p.field {
	case fieldLiteral:
		return append(dst, p.text...)
	case fieldYear:
		value = m.year
	case fieldYear2:
		value = m.year % 100
	case fieldMonth:
		value = m.month
	case fieldDay:
		value = m.day
	case fieldHour:
		value = m.hour
	case fieldMinute:
		value = m.minute
	case fieldSecond:
		value = m.second
	case fieldMilli:
		value = m.milli
	case fieldDayOfYear:
		value = m.dayOfYear()
	}
	return appendPadded(dst, uint64(value), fieldWidths[p.field])
}

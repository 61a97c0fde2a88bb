package ingest

import (
	"fmt"
	"strings"

	"bulkload/internal/errcode"
)

// BadRecord is a record that can't be used. Raw is a view of the reader's buffer, valid until the reader's next call.
type BadRecord struct {
	Position
	Column string // the column at fault; "" for the whole record
	Value  string // the first bytes of the column's value; "" if it does not explain the reason
	Reason string // e.g. "19 columns instead of 18"
	Hint   string // what is probably wrong with the whole file, if its start suggests it; otherwise ""
	Raw    []byte
	Code   errcode.Code // of the reason
}

// maxShown is how many bytes of a value are shown.
const maxShown = 60

// Shown is a value as an error shows it: its first bytes only.
func Shown(value []byte) string {
	if len(value) > maxShown {
		return strings.ToValidUTF8(string(value[:maxShown]), "\uFFFD") + "…"
	}
	return string(value)
}

// Error returns file, offset, record number and column, if known, and the reason.
func (b *BadRecord) Error() string {
	var s strings.Builder
	switch {
	case b.Rows:
		fmt.Fprintf(&s, "%s, record %d", b.File, b.Number)
	case b.Number > 0:
		fmt.Fprintf(&s, "%s at byte %d (record %d)", b.File, b.Offset, b.Number)
	default:
		fmt.Fprintf(&s, "%s at byte %d", b.File, b.Offset)
	}
	if b.Column != "" {
		fmt.Fprintf(&s, ", column %s", b.Column)
	}
	s.WriteString(": " + b.Reason)
	if b.Value != "" {
		fmt.Fprintf(&s, "; the value is %q", b.Value)
	}
	return s.String()
}

// CountReason is the reason for a record that has n columns instead of want.
func CountReason(n, want int) string {
	if n == 1 {
		return fmt.Sprintf("1 column instead of %d", want)
	}
	return fmt.Sprintf("%d columns instead of %d", n, want)
}

package ingest

import (
	"fmt"
	"strings"
)

// BadRecord is a record that can't be used. Raw is a view of the reader's buffer, valid until its next call.
type BadRecord struct {
	Position
	Column string // the column at fault; "" for the whole record
	Reason string // e.g. "19 columns, want 18"
	Hint   string // what is probably wrong with the whole file, if its start suggests it; otherwise ""
	Raw    []byte
}

// Error returns file, offset, record number and column, if known, and the reason.
func (b *BadRecord) Error() string {
	var s strings.Builder
	switch {
	case b.Rows:
		fmt.Fprintf(&s, "%s, record %d", b.File.Path, b.Number)
	case b.Number > 0:
		fmt.Fprintf(&s, "%s at byte %d (record %d)", b.File.Path, b.Offset, b.Number)
	default:
		fmt.Fprintf(&s, "%s at byte %d", b.File.Path, b.Offset)
	}
	if b.Column != "" {
		fmt.Fprintf(&s, ", column %s", b.Column)
	}
	s.WriteString(": " + b.Reason)
	return s.String()
}

// CountReason is the reason of a record that has n columns and should have others.
func CountReason(n, want int) string {
	if n == 1 {
		return fmt.Sprintf("1 column, want %d", want)
	}
	return fmt.Sprintf("%d columns, want %d", n, want)
}

package cell

import "fmt"

// MaxRowLen is the length of the longest row key in bytes (HConstants.MAX_ROW_LENGTH).
const MaxRowLen = 1<<15 - 1

// Printable formats bytes as HBase's shell does: printable ASCII except the backslash as it is, the rest as \xHH
// (Bytes.toStringBinary).
func Printable(b []byte) string {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if c < ' ' || c > '~' || c == '\\' {
			out = fmt.Appendf(out, `\x%02X`, c)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// HexValue is the value of a hex digit in either case, or -1 if c is not a hex digit.
func HexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

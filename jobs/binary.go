package jobs

import (
	"bytes"
	"fmt"
	"strconv"

	"bulkload/cell"
)

// Printable writes bytes as HBase's shell does, see cell.Printable.
func Printable(b []byte) string { return cell.Printable(b) }

// ParseBinary reads what Printable writes (Bytes.toBytesBinary); bytes above ASCII may stand as they are.
func ParseBinary(text string) ([]byte, error) {
	var out bytes.Buffer
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		if i+4 > len(text) || text[i+1] != 'x' {
			return nil, fmt.Errorf(`%q has a backslash that does not begin a byte such as \x00`, text)
		}
		c, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
		if err != nil {
			return nil, fmt.Errorf(`%q has a \x without two hex digits behind it`, text)
		}
		out.WriteByte(byte(c))
		i += 3
	}
	return out.Bytes(), nil
}

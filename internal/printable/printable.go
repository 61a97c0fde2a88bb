// Package printable formats bytes as text in the notation of the HBase shell, and parses it.
package printable

import (
	"bytes"
	"fmt"
	"strconv"

	"bulkload/cell"
)

// Bytes formats bytes as HBase's shell does, see cell.Printable.
func Bytes(b []byte) string { return cell.Printable(b) }

// Parse parses the notation of Bytes (Bytes.toBytesBinary); bytes above ASCII may be unescaped.
func Parse(text string) ([]byte, error) {
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
			return nil, fmt.Errorf(`%q has a \x without two hex digits after it`, text)
		}
		out.WriteByte(byte(c))
		i += 3
	}
	return out.Bytes(), nil
}

// All formats each element of a list.
func All(all [][]byte) []string {
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = Bytes(b)
	}
	return out
}

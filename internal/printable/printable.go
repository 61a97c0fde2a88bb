// Package printable formats bytes as text in the notation of the HBase shell, and parses it.
package printable

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Name is the name of a file as errors and messages show it. Characters that a terminal would obey, or that would begin
// another line of a log, are escaped, and so are bytes that are not UTF-8, because whoever may write files into a
// folder chooses their names.
func Name(name string) string { return escaped(name, "") }

// Text is Name for a whole message, whose line breaks and tabs stay.
func Text(text string) string { return escaped(text, "\n\t") }

func escaped(text, kept string) string {
	shown := func(r rune) bool { return unicode.IsPrint(r) || r == ' ' || strings.ContainsRune(kept, r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !shown(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if shown(r) && (r != utf8.RuneError || size > 1) {
			out.WriteString(text[i : i+size])
		} else {
			for _, b := range []byte(text[i : i+size]) {
				fmt.Fprintf(&out, `\x%02X`, b)
			}
		}
		i += size
	}
	return out.String()
}

package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bulkload/cell"
)

// ParseDelimiter parses a delimiter of one or more bytes as job files and Sqoop's arguments write it: \x01 (two hex
// digits a byte), \001 or \020 (octal, beginning with 0 or of three digits), \0x01 (Sqoop's hex), \u0001, \t \n \r \b
// \f \\ \' \", and literal text, one after another; or 0x01, 0x0d0a as a whole. A notation that a shell or a reader
// would take for something else (020, x10, ^A, a lone t) is refused with its likely meaning.
func ParseDelimiter(text string) ([]byte, error) {
	if text == "" {
		return nil, errors.New("a delimiter has at least one byte")
	}
	if meant := likelyTypo(text); meant != "" {
		return nil, fmt.Errorf("delimiter %q means these characters literally; write %s", text, meant)
	}
	if hex, ok := cutHexPrefix(text); ok {
		return wholeHex(text, hex)
	}
	var out []byte
	for rest := text; rest != ""; {
		if rest[0] != '\\' {
			out, rest = append(out, rest[0]), rest[1:]
			continue
		}
		char, behind, err := escape(rest[1:])
		if err != nil {
			return nil, fmt.Errorf("delimiter %q: %w", text, err)
		}
		out, rest = append(out, char...), behind
	}
	return out, nil
}

// likelyTypo says what a text that is hardly meant as a delimiter probably stands for; "" for all others.
func likelyTypo(text string) string {
	switch {
	case strings.Trim(text, "0123456789") == "":
		return bareNumber(text)
	case len(text) == 3 && text[0] == 'x' && isHex(text[1:]):
		return `\` + text
	case len(text) == 2 && text[0] == '^' && text[1] >= 'A' && text[1] <= 'Z':
		return fmt.Sprintf(`\x%02x (control-%c)`, text[1]-'@', text[1])
	case text == "t", text == "n", text == "r":
		return `\` + text
	}
	return ""
}

func bareNumber(text string) string {
	if octal, err := strconv.ParseUint(text, 8, 7); err == nil && len(text) > 1 {
		if hex, err := strconv.ParseUint(text, 16, 7); err == nil && hex != octal {
			return fmt.Sprintf(`\x%02x (octal %s, from Sqoop's \%s) or \x%02x (hex %s)`, octal, text, text, hex, text)
		}
		return fmt.Sprintf(`\x%02x`, octal)
	}
	return fmt.Sprintf(`\x%02s`, text[:min(2, len(text))])
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func cutHexPrefix(text string) (string, bool) {
	if len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		return text[2:], true
	}
	return "", false
}

func wholeHex(text, digits string) ([]byte, error) {
	if len(digits) == 1 {
		digits = "0" + digits
	}
	if !isHex(digits) || len(digits)%2 != 0 {
		return nil, fmt.Errorf("delimiter %q: after 0x come two hex digits a byte, and nothing else", text)
	}
	var out []byte
	for ; digits != ""; digits = digits[2:] {
		b, err := strconv.ParseUint(digits[:2], 16, 8)
		if err != nil {
			return nil, fmt.Errorf("delimiter %q: %w", text, err)
		}
		out = append(out, byte(b))
	}
	return out, nil
}

var simpleEscapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'b': '\b', 'f': '\f',
	'\\': '\\', '\'': '\'', '"': '"'}

// escape parses the text after a backslash, and returns the rest.
func escape(s string) (char []byte, behind string, err error) {
	if s == "" {
		return nil, "", errors.New(`a backslash at the end means nothing; write \\ for a backslash`)
	}
	if b, ok := simpleEscapes[s[0]]; ok {
		return []byte{b}, s[1:], nil
	}
	switch {
	case s[0] == 'x':
		return numbered(s, 1, 2, 2, 16)
	case s[0] == 'u':
		return numbered(s, 1, 4, 4, 16)
	case strings.HasPrefix(s, "0x"):
		return numbered(s, 2, 1, 4, 16)
	case s[0] == '0':
		return numbered(s, 0, 1, 4, 8)
	case s[0] >= '1' && s[0] <= '3':
		return numbered(s, 0, 3, 3, 8)
	}
	return nil, "", fmt.Errorf(`\%s is not a notation; there are \x01, \001, \0x01, \t, \n, \r and \\`, firstRune(s))
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// numbered parses from least to most digits of base in s, from index from on. \xff is that byte. In the notations that
// number characters, a number above 7f is refused, because it would be two bytes in Sqoop's UTF-8 and one elsewhere.
func numbered(s string, from, least, most, base int) (char []byte, behind string, err error) {
	end := from
	for end < len(s) && end-from < most && isDigit(s[end], base) {
		end++
	}
	notation := `\` + s[:end]
	if end-from < least {
		return nil, "", fmt.Errorf(`%s has %d digits, want %d; write \x01, \001 or \0x01`, notation, end-from, least)
	}
	n, err := strconv.ParseUint(s[from:end], base, 16)
	if err != nil {
		return nil, "", err
	}
	if n > 0x7f && s[0] != 'x' {
		return nil, "", fmt.Errorf(`%s is not a single byte in UTF-8: write %s for the character, or \x.. for a byte`,
			notation, FormatDelimiter([]byte(string(rune(n)))))
	}
	return []byte{byte(n)}, s[end:], nil
}

// isDigit reports whether c is a digit of a base up to 16.
func isDigit(c byte, base int) bool {
	value := cell.HexValue(c)
	return value >= 0 && value < base
}

// FormatDelimiter formats a delimiter so that ParseDelimiter can parse it.
func FormatDelimiter(delimiter []byte) string {
	text := string(delimiter)
	plain := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) < 0
	if _, hex := cutHexPrefix(text); plain && !hex && likelyTypo(text) == "" {
		return text
	}
	var s strings.Builder
	for _, b := range delimiter {
		switch b {
		case '\t':
			s.WriteString(`\t`)
		case '\n':
			s.WriteString(`\n`)
		case '\r':
			s.WriteString(`\r`)
		default:
			fmt.Fprintf(&s, `\x%02x`, b)
		}
	}
	return s.String()
}

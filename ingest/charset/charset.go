// Package charset converts text in the charsets that Oracle's clients write to UTF-8, exactly as Java 17 does, and
// reports bytes that are not a character.
//
// golang.org/x/text follows the WHATWG: it maps 82 codes of GBK differently from Java, silently turns 2,067
// user-defined codes into U+FFFD, and reports no error. So the tables here are Java's own, written by
// testdata/Tables.java.
//
//	charset.go  a charset, and decoding text of it
//	names.go    the known charsets, by their names and by Oracle's
//	table.go    the tables: one- and two-byte codes, GB18030's four-byte codes
//	unicode.go  UTF-8, and CESU-8, which Oracle calls UTF8
package charset

//go:generate java testdata/Tables.java tables

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Charset is a way to write characters as bytes. In every charset the bytes below 0x80 are ASCII at the start of a
// character; in some, such bytes are also the second byte of another character (CanTrail). The nil Charset is UTF-8. A
// Charset is immutable and safe for concurrent use.
type Charset struct {
	name string
	table
	cesu bool
}

// Name is the charset's name as Names lists it.
func (c *Charset) Name() string {
	if c == nil {
		return "utf-8"
	}
	return c.name
}

// Identity is the charset as it appears in a run's identity: its name, "" for UTF-8.
func (c *Charset) Identity() string {
	if c == nil {
		return ""
	}
	return c.name
}

// IsUTF8 reports whether the charset is UTF-8, so that text need only be checked.
func (c *Charset) IsUTF8() bool { return c == nil }

// CanTrail reports whether b may be a later byte of a character. If so, a delimiter b can't be searched for before the
// text is decoded.
func (c *Charset) CanTrail(b byte) bool {
	if c == nil || c.cesu {
		return b&0xc0 == 0x80
	}
	return c.trail[b]
}

// Append appends text to dst as UTF-8. It stops at the first bytes that are not a character; valid is the number of
// bytes of text that it read, which is all of them if the text is valid. It allocates only if dst has too little
// capacity.
func (c *Charset) Append(dst, text []byte) (out []byte, valid int) {
	switch {
	case c == nil:
		valid = validUTF8(text)
		return append(dst, text[:valid]...), valid
	case c.cesu:
		return appendCESU(dst, text)
	}
	return c.append(dst, text)
}

// MarkError reports that a file begins with the byte order mark of another charset.
type MarkError struct{ reason string }

// Error says which mark it is, without the file.
func (e *MarkError) Error() string { return e.reason }

// CheckMark checks a file's first bytes. It returns a *MarkError if they are the byte order mark of another charset.
func (c *Charset) CheckMark(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return &MarkError{fmt.Sprintf("it begins with the byte order mark of UTF-16, and input.charset is %s; export "+
			"it in UTF-8", c.Name())}
	case c != nil && bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return &MarkError{fmt.Sprintf("it begins with the byte order mark of UTF-8, and input.charset is %s", c.Name())}
	}
	return nil
}

// CheckUTF16 checks whether a file begins with two ASCII characters of UTF-16 and no mark. It looks at the first four
// bytes, so that the answer does not depend on how much is read at a time. The error is a *MarkError.
func (c *Charset) CheckUTF16(head []byte) error {
	if len(head) < 4 || (head[0] == 0) != (head[2] == 0) || (head[1] == 0) != (head[3] == 0) ||
		(head[0] == 0) == (head[1] == 0) {
		return nil
	}
	return &MarkError{fmt.Sprintf("it is UTF-16 without a byte order mark, and input.charset is %s; export it in UTF-8",
		c.Name())}
}

// Length is the number of bytes of the first character of text; 0 if text is empty or does not begin with a character.
func (c *Charset) Length(text []byte) int {
	switch {
	case len(text) == 0:
		return 0
	case text[0] < utf8.RuneSelf:
		return 1
	case c == nil:
		if _, n := utf8.DecodeRune(text); n > 1 {
			return n
		}
		return 0
	case c.cesu:
		_, n := decodeCESU(text)
		return n
	}
	_, n := c.decode(text)
	return n
}

// IsASCII reports whether text is ASCII, which has the same bytes in all charsets.
func IsASCII(text []byte) bool { return asciiLength(text) == len(text) }

// asciiLength is the number of ASCII bytes at the start of text.
func asciiLength(text []byte) int {
	n := 0
	for ; n+8 <= len(text); n += 8 {
		if high := binary.LittleEndian.Uint64(text[n:]) & 0x8080808080808080; high != 0 {
			return n + bits.TrailingZeros64(high)/8
		}
	}
	for n < len(text) && text[n] < utf8.RuneSelf {
		n++
	}
	return n
}

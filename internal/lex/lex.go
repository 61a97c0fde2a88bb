// Package lex splits texts of a job file's two languages, row keys and filters, into tokens. Names, names in backticks,
// and literals in quotes have the same form in both. Each language defines its other tokens itself.
package lex

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"bulkload/cell"
)

// Lexer is a text and the position reached in it.
type Lexer struct {
	Text string
	Pos  int // in bytes
}

// Fail is an error at a byte offset. It shows the offset as a column, in characters from 1. The error is UTF-8, even if
// the text is not.
func (l *Lexer) Fail(at int, format string, args ...any) error {
	reason := strings.ToValidUTF8(fmt.Sprintf(format, args...), string(utf8.RuneError))
	return fmt.Errorf("character %d: %s", utf8.RuneCountInString(l.Text[:at])+1, reason)
}

// SkipSpace moves to the next token, and reports whether there is one.
func (l *Lexer) SkipSpace() bool {
	for l.Pos < len(l.Text) && strings.IndexByte(" \t\r\n", l.Text[l.Pos]) >= 0 {
		l.Pos++
	}
	return l.Pos < len(l.Text)
}

// Run reads characters as long as they belong to the token.
func (l *Lexer) Run(belongs func(rune) bool) string {
	start := l.Pos
	for l.Pos < len(l.Text) {
		r, size := utf8.DecodeRuneInString(l.Text[l.Pos:])
		if !belongs(r) {
			break
		}
		l.Pos += size
	}
	return l.Text[start:l.Pos]
}

// Name reads a column's name or a word of the language.
func (l *Lexer) Name() (string, error) {
	if first, _ := utf8.DecodeRuneInString(l.Text[l.Pos:]); !isNameStart(first) {
		return "", l.Fail(l.Pos, "unexpected character %q", first)
	}
	return l.Run(IsNamePart), nil
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// IsNamePart reports whether a name may contain a character after its first. Oracle's names may contain $ and #.
func IsNamePart(r rune) bool { return isNameStart(r) || unicode.IsDigit(r) || r == '$' || r == '#' }

// Backticked reads a name in backticks, and returns it without them.
func (l *Lexer) Backticked() (string, error) {
	start := l.Pos
	n := strings.IndexByte(l.Text[start+1:], '`')
	switch {
	case n < 0:
		return "", l.Fail(start, "the backtick is not closed")
	case n == 0:
		return "", l.Fail(start, "no column name between the backticks")
	}
	l.Pos = start + n + 2
	return l.Text[start+1 : l.Pos-1], nil
}

// Quoted reads a text in single or double quotes, in which a backslash escapes, and returns its value.
func (l *Lexer) Quoted() (string, error) {
	start, quote := l.Pos, l.Text[l.Pos]
	var value []byte
	for i := start + 1; i < len(l.Text); i++ {
		switch c := l.Text[i]; c {
		case quote:
			l.Pos = i + 1
			return string(value), nil
		case '\\':
			b, size := escape(l.Text[i+1:])
			if size == 0 {
				return "", l.Fail(i, `unknown escape; known are \\ \' \" \n \r \t \0 and \x with two hex digits`)
			}
			value = append(value, b)
			i += size
		default:
			value = append(value, c)
		}
	}
	return "", l.Fail(start, "the quote %c is not closed", quote)
}

// escape reads the text after a backslash. It returns the byte that it stands for and its length; 0 if it is not an
// escape.
func escape(rest string) (value byte, size int) {
	if rest == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`\'"nrt0`, rest[0]); i >= 0 {
		return "\\'\"\n\r\t\x00"[i], 1
	}
	if len(rest) < 3 || rest[0] != 'x' {
		return 0, 0
	}
	high, low := cell.HexValue(rest[1]), cell.HexValue(rest[2])
	if high < 0 || low < 0 {
		return 0, 0
	}
	return byte(high<<4 | low), 3
}

// Shown is a text as an error shows it: at most 200 bytes, in quotes, readable whatever it contains.
func Shown(text string) string {
	const most = 200
	if len(text) > most {
		end := most
		for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		return fmt.Sprintf("%q…", text[:end])
	}
	return fmt.Sprintf("%q", text)
}

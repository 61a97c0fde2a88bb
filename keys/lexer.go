package keys

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"bulkload/cell"
)

// tokenKind is what a piece of an expression's text is.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenColumn // a name in backticks, which is never a function
	tokenLiteral
	tokenNumber
	tokenPlus
	tokenOpen
	tokenClose
	tokenComma
)

// token is one piece of an expression's text.
type token struct {
	kind  tokenKind
	start int    // byte offsets in the text
	end   int    // after the last byte
	value string // a name without backticks, a literal without quotes and escapes
}

// syntaxError says what is wrong in an expression's text, and where.
type syntaxError struct {
	column int // in characters, from 1
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.column, e.reason) }

// lexer cuts an expression's text into tokens.
type lexer struct {
	text string
	pos  int
}

func (l *lexer) fail(at int, format string, args ...any) error {
	return &syntaxError{utf8.RuneCountInString(l.text[:at]) + 1, fmt.Sprintf(format, args...)}
}

var punctuation = map[byte]tokenKind{'+': tokenPlus, '(': tokenOpen, ')': tokenClose, ',': tokenComma}

func (l *lexer) next() (token, error) {
	for l.pos < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	if start == len(l.text) {
		return token{kind: tokenEnd, start: start, end: start}, nil
	}
	c := l.text[start]
	if kind, ok := punctuation[c]; ok {
		l.pos++
		return token{kind: kind, start: start, end: l.pos}, nil
	}
	switch {
	case c == '\'' || c == '"':
		return l.literal()
	case c == '`':
		return l.quotedName()
	case c >= '0' && c <= '9':
		return l.run(tokenNumber, isDigit), nil
	}
	if first, _ := utf8.DecodeRuneInString(l.text[start:]); !isNameStart(first) {
		return token{}, l.fail(start, "unexpected character %q", first)
	}
	return l.run(tokenName, isNamePart), nil
}

// run reads the characters that belong together.
func (l *lexer) run(kind tokenKind, belongs func(rune) bool) token {
	start := l.pos
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !belongs(r) {
			break
		}
		l.pos += size
	}
	return token{kind, start, l.pos, l.text[start:l.pos]}
}

func isDigit(r rune) bool     { return r >= '0' && r <= '9' }
func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }
func isNamePart(r rune) bool {
	// Oracle's names have $ and # in them.
	return isNameStart(r) || unicode.IsDigit(r) || r == '$' || r == '#'
}

func (l *lexer) quotedName() (token, error) {
	start := l.pos
	n := strings.IndexByte(l.text[start+1:], '`')
	switch {
	case n < 0:
		return token{}, l.fail(start, "the backtick is never closed")
	case n == 0:
		return token{}, l.fail(start, "no column name between the backticks")
	}
	l.pos = start + n + 2
	return token{tokenColumn, start, l.pos, l.text[start+1 : l.pos-1]}, nil
}

// literal reads a text in single or double quotes, in which a backslash escapes.
func (l *lexer) literal() (token, error) {
	start, quote := l.pos, l.text[l.pos]
	var value []byte
	for i := start + 1; i < len(l.text); i++ {
		switch c := l.text[i]; c {
		case quote:
			l.pos = i + 1
			return token{tokenLiteral, start, l.pos, string(value)}, nil
		case '\\':
			b, size, err := l.escape(i)
			if err != nil {
				return token{}, err
			}
			value = append(value, b)
			i += size - 1
		default:
			value = append(value, c)
		}
	}
	return token{}, l.fail(start, "the quote %c is never closed", quote)
}

var escapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'n': '\n', 'r': '\r', 't': '\t', '0': 0}

// escape parses the escape at a backslash, and returns its byte and its length in the text.
func (l *lexer) escape(at int) (value byte, size int, err error) {
	rest := l.text[at+1:]
	if rest != "" {
		if b, ok := escapes[rest[0]]; ok {
			return b, 2, nil
		}
	}
	if len(rest) >= 3 && rest[0] == 'x' {
		high, low := cell.HexValue(rest[1]), cell.HexValue(rest[2])
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), 4, nil
		}
	}
	return 0, 0, l.fail(at, `unknown escape; known are \\ \' \" \n \r \t \0 and \x with two hex digits`)
}

package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a piece of a filter's text is.
type tokenKind int

const (
	tokenEnd      tokenKind = iota
	tokenWord               // a column's name or a word of the language
	tokenColumn             // a name in backticks
	tokenText               // a literal in quotes
	tokenNumber             // a literal without them
	tokenOperator           // = != <> < <= > >= ( ) ,
)

// token is one piece of a filter's text.
type token struct {
	kind  tokenKind
	start int    // byte offset in the text
	value string // without quotes, backticks and escapes
}

// is tells whether a token is a word of the language or an operator.
func (t token) is(word string) bool {
	return t.kind == tokenOperator && t.value == word || t.kind == tokenWord && strings.EqualFold(t.value, word)
}

type lexer struct {
	text string
	pos  int
}

// fail is an error that names its place, in characters from 1. It is UTF-8, also where the filter is not.
func (l *lexer) fail(at int, format string, args ...any) error {
	reason := strings.ToValidUTF8(fmt.Sprintf(format, args...), string(utf8.RuneError))
	return fmt.Errorf("character %d: %s", utf8.RuneCountInString(l.text[:at])+1, reason)
}

var operators = []string{"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","}

func (l *lexer) next() (token, error) {
	for l.pos < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	if start == len(l.text) {
		return token{kind: tokenEnd, start: start}, nil
	}
	for _, o := range operators {
		if strings.HasPrefix(l.text[start:], o) {
			l.pos += len(o)
			return token{tokenOperator, start, o}, nil
		}
	}
	switch c := l.text[start]; {
	case c == '\'' || c == '"':
		return l.quoted()
	case c == '`':
		return l.column()
	case c >= '0' && c <= '9' || strings.IndexByte("+-.", c) >= 0:
		return l.number(), nil
	}
	if first, _ := utf8.DecodeRuneInString(l.text[start:]); !isNameStart(first) {
		return token{}, l.fail(start, "unexpected character %q", first)
	}
	return l.run(tokenWord, isNamePart), nil
}

// run takes the characters that belong together.
func (l *lexer) run(kind tokenKind, belongs func(rune) bool) token {
	start := l.pos
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !belongs(r) {
			break
		}
		l.pos += size
	}
	return token{kind, start, l.text[start:l.pos]}
}

// number takes all that could be meant as one: a sign, and digits with what stands among them.
func (l *lexer) number() token {
	var before rune
	return l.run(tokenNumber, func(r rune) bool {
		signed := (r == '-' || r == '+') && (before == 0 || before == 'e' || before == 'E')
		before = r
		return r == '.' || isNamePart(r) || signed
	})
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }
func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.IsDigit(r) || r == '$' || r == '#' // Oracle's names have the last two
}

func (l *lexer) column() (token, error) {
	start := l.pos
	n := strings.IndexByte(l.text[start+1:], '`')
	switch {
	case n < 0:
		return token{}, l.fail(start, "the backtick is not closed")
	case n == 0:
		return token{}, l.fail(start, "no column name between the backticks")
	}
	l.pos = start + n + 2
	return token{tokenColumn, start, l.text[start+1 : l.pos-1]}, nil
}

// quoted reads a text in single or double quotes, in which a backslash escapes.
func (l *lexer) quoted() (token, error) {
	start, quote := l.pos, l.text[l.pos]
	var value []byte
	for i := start + 1; i < len(l.text); i++ {
		switch c := l.text[i]; c {
		case quote:
			l.pos = i + 1
			return token{tokenText, start, string(value)}, nil
		case '\\':
			b, size := escape(l.text[i+1:])
			if size == 0 {
				return token{}, l.fail(i, `unknown escape; known are \\ \' \" \n \r \t \0 and \x with two hex digits`)
			}
			value = append(value, b)
			i += size
		default:
			value = append(value, c)
		}
	}
	return token{}, l.fail(start, "the quote %c is not closed", quote)
}

// escape reads what stands behind a backslash: its byte and how much text it takes; 0 where it is none.
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
	b, err := strconv.ParseUint(rest[1:3], 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(b), 3
}

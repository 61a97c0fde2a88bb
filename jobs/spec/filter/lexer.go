package filter

import (
	"strings"

	"bulkload/internal/lex"
)

type tokenKind int

const (
	tokenEnd      tokenKind = iota
	tokenWord               // a column's name or a word of the language
	tokenColumn             // a name in backticks
	tokenText               // a literal in quotes
	tokenNumber             // a literal without quotes
	tokenOperator           // = != <> < <= > >= ( ) ,
)

// token is one piece of a filter's text.
type token struct {
	kind  tokenKind
	start int    // byte offset in the text
	value string // without quotes, backticks and escapes
}

// isWord reports whether a token is this word of the language or operator.
func (t token) isWord(word string) bool {
	return t.kind == tokenOperator && t.value == word || t.kind == tokenWord && strings.EqualFold(t.value, word)
}

// lexer splits a filter's text into tokens. Package lex does what filters and row keys have in common.
type lexer struct{ lex.Lexer }

var operators = []string{"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","}

func (l *lexer) next() (t token, err error) {
	more := l.SkipSpace()
	t.start = l.Pos
	if !more {
		return t, nil
	}
	for _, o := range operators {
		if strings.HasPrefix(l.Text[l.Pos:], o) {
			l.Pos += len(o)
			return token{tokenOperator, t.start, o}, nil
		}
	}
	switch c := l.Text[l.Pos]; {
	case c == '\'' || c == '"':
		t.kind = tokenText
		t.value, err = l.Quoted()
	case c == '`':
		t.kind = tokenColumn
		t.value, err = l.Backticked()
	case c >= '0' && c <= '9' || strings.IndexByte("+-.", c) >= 0:
		t.kind, t.value = tokenNumber, l.number()
	default:
		t.kind = tokenWord
		t.value, err = l.Name()
	}
	return t, err
}

// number reads everything that may be meant as one number: a sign, digits, and characters among them.
func (l *lexer) number() string {
	var before rune
	return l.Run(func(r rune) bool {
		signed := (r == '-' || r == '+') && (before == 0 || before == 'e' || before == 'E')
		before = r
		return r == '.' || lex.IsNamePart(r) || signed
	})
}

package keys

import "bulkload/internal/lex"

// tokenKind is the kind of a piece of an expression's text.
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

// lexer cuts an expression's text into tokens. The embedded lex.Lexer reads what filters have in common with keys; the
// tokens are specific to this language.
type lexer struct{ lex.Lexer }

var punctuation = map[byte]tokenKind{'+': tokenPlus, '(': tokenOpen, ')': tokenClose, ',': tokenComma}

func (l *lexer) next() (t token, err error) {
	more := l.SkipSpace()
	start := l.Pos
	if !more {
		return token{kind: tokenEnd, start: start, end: start}, nil
	}
	c := l.Text[start]
	if kind, ok := punctuation[c]; ok {
		l.Pos++
		return token{kind: kind, start: start, end: l.Pos}, nil
	}
	t.start = start
	switch {
	case c == '\'' || c == '"':
		t.kind = tokenLiteral
		t.value, err = l.Quoted()
	case c == '`':
		t.kind = tokenColumn
		t.value, err = l.Backticked()
	case isDigit(rune(c)):
		t.kind, t.value = tokenNumber, l.Run(isDigit)
	default:
		t.kind = tokenName
		t.value, err = l.Name()
	}
	t.end = l.Pos
	return t, err
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

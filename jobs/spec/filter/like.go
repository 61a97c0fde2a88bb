package filter

import (
	"errors"
	"unicode/utf8"

	"bulkload/values"
)

// likeNode is SQL's LIKE: % matches any text, _ one character; a backslash makes the next character literal.
type likeNode struct {
	column int
	first  []rune   // prefix
	inner  [][]rune // parts that follow in this order, each after a %
	last   []rune   // suffix, after a %
	run    bool     // there is a %
}

// anyCharacter represents _ in a pattern.
const anyCharacter rune = -1

// parseLike cuts a pattern at its %.
func parseLike(pattern string) (*likeNode, error) {
	parts := [][]rune{nil}
	add := func(r rune) { parts[len(parts)-1] = append(parts[len(parts)-1], r) }
	for i := 0; i < len(pattern); {
		r, size := utf8.DecodeRuneInString(pattern[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, errors.New("a pattern must be UTF-8")
		}
		i += size
		switch r {
		case '%':
			parts = append(parts, nil)
		case '_':
			add(anyCharacter)
		case '\\':
			if r, size = utf8.DecodeRuneInString(pattern[i:]); r != '%' && r != '_' && r != '\\' {
				return nil, errors.New(
					`a backslash in a pattern must be followed by %, _ or another backslash (and is written twice in quotes)`)
			}
			i += size
			add(r)
		default:
			add(r)
		}
	}
	n := &likeNode{first: parts[0]}
	if len(parts) > 1 {
		n.run, n.last, n.inner = true, parts[len(parts)-1], parts[1:len(parts)-1]
	}
	return n, nil
}

func (n *likeNode) eval(_ *Matcher, fields []values.Value) truth {
	x := fields[n.column]
	if x.Null() {
		return unknown
	}
	return truthOf(n.matches(x.Bytes()))
}

// matches matches each inner part at its first occurrence: if the rest fits after a later one, it also fits after the
// first.
func (n *likeNode) matches(x []byte) bool {
	size := matchAt(n.first, x)
	if size < 0 {
		return false
	}
	x = x[size:]
	if !n.run {
		return len(x) == 0
	}
	for _, part := range n.inner {
		for size = matchAt(part, x); size < 0; size = matchAt(part, x) {
			if len(x) == 0 {
				return false
			}
			_, step := utf8.DecodeRune(x)
			x = x[step:]
		}
		x = x[size:]
	}
	tail := endOf(x, len(n.last))
	return tail >= 0 && matchAt(n.last, x[tail:]) == len(x)-tail
}

// endOf returns where the last count characters begin; -1 if there are fewer.
func endOf(x []byte, count int) int {
	at := len(x)
	for ; count > 0; count-- {
		if at == 0 {
			return -1
		}
		_, size := utf8.DecodeLastRune(x[:at])
		at -= size
	}
	return at
}

// matchAt returns how many bytes at the start of x a part matches; -1 if it does not match.
func matchAt(part []rune, x []byte) int {
	at := 0
	for _, want := range part {
		r, size := utf8.DecodeRune(x[at:])
		if size == 0 || want != anyCharacter && (r != want || r == utf8.RuneError && size == 1) {
			return -1
		}
		at += size
	}
	return at
}

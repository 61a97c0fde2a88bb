package filter

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/lex"
	"bulkload/keys"
	"bulkload/values"
)

// maxDepth bounds the nesting of a filter's parts.
const maxDepth = 64

// Parse reads a filter over the given columns. Its errors name the position in text.
func Parse(text string, columns []InputColumn) (*Filter, error) {
	for _, c := range columns {
		if _, err := values.NewReader(c.Type); err != nil {
			return nil, fmt.Errorf("filter: column %s: %w", c.Name, err)
		}
	}
	p := &parser{lexer: lexer{lex.Lexer{Text: text}}, columns: slices.Clone(columns)}
	root, err := p.whole()
	if err != nil {
		return nil, fmt.Errorf("filter %s: %w", lex.Shown(text), err)
	}
	return &Filter{text, p.columns, root}, nil
}

// parser reads a filter by recursive descent, with one token of lookahead.
type parser struct {
	lexer
	columns []InputColumn
	ahead   token
	depth   int
}

func (p *parser) advance() (err error) {
	p.ahead, err = p.next()
	return err
}

// accept consumes the next token if it is this word or operator.
func (p *parser) accept(word string) (bool, error) {
	if !p.ahead.isWord(word) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(word string) error {
	if !p.ahead.isWord(word) {
		return p.unexpected(word)
	}
	return p.advance()
}

func (p *parser) unexpected(want string) error {
	if p.ahead.kind == tokenEnd {
		return p.Fail(p.ahead.start, "the filter ends where %s is expected", want)
	}
	return p.Fail(p.ahead.start, "found %q where %s is expected", p.ahead.value, want)
}

// whole parses the text to its end.
func (p *parser) whole() (node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.parseOr()
	if err == nil && p.ahead.kind != tokenEnd {
		err = p.unexpected("and, or, or the end")
	}
	return root, err
}

// parseOr parses the operands of "or".
func (p *parser) parseOr() (node, error) {
	parts, err := p.chain("or", p.parseAnd)
	if err != nil || len(parts) == 1 {
		return parts[0], err
	}
	return &orNode{parts}, nil
}

// parseAnd parses the operands of "and".
func (p *parser) parseAnd() (node, error) {
	parts, err := p.chain("and", p.not)
	if err != nil || len(parts) == 1 {
		return parts[0], err
	}
	return &andNode{parts}, nil
}

// chain parses parts that are separated by a word.
func (p *parser) chain(word string, part func() (node, error)) ([]node, error) {
	var parts []node
	for {
		n, err := part()
		parts = append(parts, n)
		if err != nil {
			return parts, err
		}
		if more, err := p.accept(word); !more || err != nil {
			return parts, err
		}
	}
}

func (p *parser) not() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.Fail(p.ahead.start, "the filter's parts are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if negated, err := p.accept("not"); err != nil || negated {
		if err != nil {
			return nil, err
		}
		of, err := p.not()
		return &notNode{of}, err
	}
	open, err := p.accept("(")
	if err != nil {
		return nil, err
	}
	if !open {
		return p.condition()
	}
	inner, err := p.parseOr()
	if err != nil {
		return nil, err
	}
	return inner, p.expect(")")
}

// condition parses one comparison.
func (p *parser) condition() (node, error) {
	start := p.ahead
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	operator := p.ahead
	if matches, ok := operatorsHold[operator.value]; ok && operator.kind == tokenOperator {
		return p.comparison(left, operator, matches)
	}
	if left.column < 0 && !operator.isWord("is") {
		return nil, p.unexpected("a comparison such as =")
	}
	if is, err := p.accept("is"); is || err != nil {
		return p.isNull(start, left, err)
	}
	negated, err := p.accept("not")
	if err != nil {
		return nil, err
	}
	n, err := p.listOrPattern(left)
	if err == nil && negated {
		n = &notNode{n}
	}
	return n, err
}

func (p *parser) listOrPattern(left side) (node, error) {
	operator := p.ahead
	switch {
	case operator.isWord("in"):
		return p.list(left)
	case operator.isWord("like"), operator.isWord("starts_with"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.pattern(left, operator)
	}
	return nil, p.unexpected("a comparison: = != < <= > >=, is, in, like or starts_with")
}

// isNull parses what follows "is".
func (p *parser) isNull(start token, left side, err error) (node, error) {
	if err != nil {
		return nil, err
	}
	negated, err := p.accept("not")
	if err != nil {
		return nil, err
	}
	if err := p.expect("null"); err != nil {
		return nil, err
	}
	if left.column < 0 {
		return nil, p.Fail(start.start, "only a column can be null")
	}
	if negated {
		return &notNode{&nullNode{left.column}}, nil
	}
	return &nullNode{left.column}, nil
}

// pattern parses the text after "like" or "starts_with".
func (p *parser) pattern(left side, operator token) (node, error) {
	text := p.ahead
	if text.kind != tokenText {
		return nil, p.unexpected("a text in quotes")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if operator.isWord("starts_with") {
		return &prefixNode{left.column, []byte(text.value)}, nil
	}
	n, err := parseLike(text.value)
	if err != nil {
		return nil, p.Fail(text.start, "%v", err)
	}
	n.column = left.column
	return n, nil
}

// side is an operand before its class is known.
type side struct {
	token
	column int // -1: a literal
}

func (p *parser) operand() (side, error) {
	t := p.ahead
	s := side{t, -1}
	switch {
	case t.kind == tokenText:
	case t.kind == tokenNumber:
		if _, problem := values.ParseNumber([]byte(t.value), false); problem != "" {
			return s, p.Fail(t.start, "%s is %s; write a text in quotes", t.value, problem)
		}
	case t.isWord("true"), t.isWord("false"):
	case t.kind == tokenColumn, t.kind == tokenWord && !reserved(t.value):
		if s.column = p.column(t.value); s.column < 0 {
			return s, p.Fail(t.start, "unknown column %s%s; write a text in quotes", t.value, keys.Suggest(t.value, p.names()))
		}
	default:
		return s, p.unexpected("a column or a value")
	}
	return s, p.advance()
}

// reserved reports whether a word belongs to the language; a column of that name needs backticks.
func reserved(word string) bool {
	return slices.Contains([]string{"and", "or", "not", "is", "null", "in", "like", "starts_with"}, strings.ToLower(word))
}

func (p *parser) column(name string) int {
	return slices.IndexFunc(p.columns, func(c InputColumn) bool { return c.Name == name })
}

func (p *parser) names() []string {
	names := make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.Name
	}
	return names
}

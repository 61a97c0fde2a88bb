package keys

import (
	"fmt"
	"strconv"
	"time"
	_ "time/tzdata" // a key must not depend on the installed time zones
	"unicode/utf8"

	"bulkload/values"
)

// maxDepth bounds the nesting of calls: Append keeps a mark for each.
const maxDepth = 16

// term is one part of a sum: a literal, a column or a call.
type term struct {
	start, end int // in the text, bytes
	literal    []byte
	column     int // -1: not a column
	call       *call
}

// call is a function with its arguments.
type call struct {
	*function
	value     []term // the expression that is the first argument; nil if the function has none
	numbers   []int64
	character byte // 0 if none is given
	layout    []datePart
	zone      *time.Location // nil if none is given
	given     int            // arguments written
}

// parser reads an expression by recursive descent, one token ahead.
type parser struct {
	lexer
	columns []KeyColumn
	ahead   token
	depth   int
}

func (p *parser) advance() (err error) {
	p.ahead, err = p.next()
	return err
}

// whole parses the text to its end.
func (p *parser) whole() ([]term, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	sum, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.ahead.kind != tokenEnd {
		return nil, p.unexpected("+ or the end")
	}
	return sum, nil
}

func (p *parser) sum() ([]term, error) {
	var terms []term
	for {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		if p.ahead.kind != tokenPlus {
			return terms, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) term() (term, error) {
	t := p.ahead
	switch t.kind {
	case tokenLiteral, tokenName, tokenColumn:
	default:
		return term{}, p.unexpected("a column, a function or a text in quotes")
	}
	if err := p.advance(); err != nil {
		return term{}, err
	}
	switch {
	case t.kind == tokenLiteral:
		return term{t.start, t.end, []byte(t.value), -1, nil}, nil
	case t.kind == tokenName && p.ahead.kind == tokenOpen:
		return p.call(t)
	}
	column := findColumn(p.columns, t.value)
	if column < 0 {
		return term{}, p.Fail(t.start, "unknown column %s%s", t.value, p.suggestColumn(t.value))
	}
	return term{t.start, t.end, nil, column, nil}, nil
}

// call parses a function's arguments; its name was read before.
func (p *parser) call(name token) (term, error) {
	f := findFunction(name.value)
	if f == nil {
		return term{}, p.Fail(name.start, "unknown function %s%s", name.value, Suggest(name.value, functionNames()))
	}
	if p.depth++; p.depth > maxDepth {
		return term{}, p.Fail(name.start, "calls are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	c := &call{function: f}
	for i := 0; ; i++ {
		if err := p.advance(); err != nil { // skip ( or ,
			return term{}, err
		}
		if err := p.argument(c, i); err != nil {
			return term{}, err
		}
		c.given++
		if p.ahead.kind != tokenComma || i+1 == f.arguments() {
			break
		}
	}
	end := p.ahead.end
	if p.ahead.kind != tokenClose {
		return term{}, p.unexpected(c.afterArguments())
	}
	if c.given < f.required {
		return term{}, p.Fail(p.ahead.start, "%s has too few arguments; write %s", f.name, f.usage)
	}
	return term{name.start, end, nil, -1, c}, p.advance()
}

// argument parses argument i of a call.
func (p *parser) argument(c *call, i int) (err error) {
	if c.takesValue {
		if i == 0 {
			c.value, err = p.sum()
			return err
		}
		i--
	}
	switch param := c.params[i]; param.kind {
	case paramNumber:
		return p.number(c, param)
	case paramCharacter:
		return p.character(c)
	case paramZone:
		return p.zone(c)
	default:
		return p.layout(c)
	}
}

func (p *parser) number(c *call, param param) error {
	if p.ahead.kind != tokenNumber {
		return p.unexpected("a number: " + c.usage)
	}
	n, err := strconv.ParseInt(p.ahead.value, 10, 64)
	if err != nil || n < param.min || n > param.max {
		return p.Fail(p.ahead.start, "%s is outside %d to %d: %s", p.ahead.value, param.min, param.max, c.usage)
	}
	c.numbers = append(c.numbers, n)
	return p.advance()
}

func (p *parser) character(c *call) error {
	if p.ahead.kind != tokenLiteral {
		return p.unexpected("a character in quotes: " + c.usage)
	}
	if v := p.ahead.value; len(v) != 1 || v[0] == 0 || v[0] >= utf8.RuneSelf {
		return p.Fail(p.ahead.start, "expected one ASCII character: %s", c.usage)
	}
	c.character = p.ahead.value[0]
	return p.advance()
}

func (p *parser) layout(c *call) error {
	if p.ahead.kind != tokenLiteral {
		return p.unexpected("a date layout in quotes: " + c.usage)
	}
	layout, err := parseLayout(p.ahead.value)
	if err != nil {
		return p.Fail(p.ahead.start, "%v", err)
	}
	c.layout = layout
	return p.advance()
}

func (p *parser) zone(c *call) error {
	if p.ahead.kind != tokenLiteral {
		return p.unexpected("a time zone in quotes: " + c.usage)
	}
	zone, err := values.Location(p.ahead.value)
	if err != nil || p.ahead.value == "" { // a separate error, since a name is in quotes here
		return p.Fail(p.ahead.start, "%q is not a time zone; write a name such as 'Asia/Shanghai', or 'UTC'", p.ahead.value)
	}
	if c.zone = zone; zone == nil {
		c.zone = time.UTC
	}
	return p.advance()
}

func (c *call) afterArguments() string {
	if c.given < c.arguments() {
		return ", or ) of " + c.usage
	}
	return ") of " + c.usage
}

func (p *parser) unexpected(wanted string) error {
	found := "the end"
	if p.ahead.kind != tokenEnd {
		found = p.Text[p.ahead.start:p.ahead.end]
	}
	return p.Fail(p.ahead.start, "expected %s, found %s", wanted, found)
}

func (p *parser) suggestColumn(name string) string {
	names := make([]string, len(p.columns))
	for i := range p.columns {
		names[i] = p.columns[i].Name
	}
	if f := findFunction(name); f != nil {
		return fmt.Sprintf("; write the function as %s", f.usage)
	}
	return Suggest(name, names)
}

func findColumn(columns []KeyColumn, name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	return -1
}

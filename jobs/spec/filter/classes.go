package filter

import (
	"slices"

	"bulkload/values"
)

// comparison parses the right side of a comparison. The next token is the operator.
func (p *parser) comparison(left side, operator token, matches [3]bool) (node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	if left.column < 0 && right.column < 0 {
		return nil, p.Fail(left.start, "neither side of %s is a column", operator.value)
	}
	n, err := p.compare(left, right)
	if err != nil {
		return nil, err
	}
	n.matches, n.unordered = matches, matches == operatorsHold["!="]
	if n.class == classBoolean && matches[0] != matches[2] {
		return nil, p.Fail(operator.start, "true and false are compared with = and !=, not with %s", operator.value)
	}
	return n, nil
}

// list parses what follows "in".
func (p *parser) list(left side) (node, error) {
	n := &inNode{column: left.column, texts: map[string]bool{}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	for separator := "("; ; separator = "," {
		if err := p.expect(separator); err != nil {
			return nil, err
		}
		value, err := p.operand()
		if err != nil {
			return nil, err
		}
		if value.column >= 0 {
			return nil, p.Fail(value.start, "in (…) needs values, but %s is a column", value.value)
		}
		c, err := p.compare(left, value)
		if err != nil {
			return nil, err
		}
		c.matches = operatorsHold["="]
		if len(n.any) > 0 && c.class != n.class {
			return nil, p.Fail(value.start, "the values in (…) are not of one type")
		}
		n.class, n.any = c.class, append(n.any, *c)
		n.texts[value.value] = true
		if p.ahead.isWord(")") {
			return n, p.advance()
		}
	}
}

// compare builds a comparison of two sides and parses their literals. At least one side must be a column.
func (p *parser) compare(left, right side) (*compareNode, error) {
	n := &compareNode{}
	var err error
	if n.class, err = p.classOf(left, right); err != nil {
		return nil, err
	}
	if n.left, err = p.operandOf(left, right, n.class); err != nil {
		return nil, err
	}
	n.right, err = p.operandOf(right, left, n.class)
	return n, err
}

// classOf returns the class in which two sides are compared, and refuses sides without a common class.
func (p *parser) classOf(left, right side) (class, error) {
	a, b := p.classesOf(left), p.classesOf(right)
	for _, c := range a {
		if slices.Contains(b, c) {
			return c, nil
		}
	}
	if hint := p.textAsNumber(left, right); hint != "" {
		return 0, p.Fail(right.start, "%s", hint)
	}
	return 0, p.Fail(right.start,
		"%s is %s, and %s is %s: they can't be compared; the types of columns are declared in columns_map",
		left.value, p.typeText(left), right.value, p.typeText(right))
}

// textAsNumber returns a hint if a text column is compared with a number.
func (p *parser) textAsNumber(left, right side) string {
	if left.kind == tokenNumber {
		left, right = right, left
	}
	if right.kind == tokenNumber && left.column >= 0 && p.columns[left.column].Type.Kind == values.KindText {
		return left.value + " is text: put " + right.value + " in quotes to compare the texts, or declare the column's type"
	}
	return ""
}

// classesOf lists the classes of a side, the most specific first.
func (p *parser) classesOf(s side) []class {
	if s.column < 0 {
		switch {
		case s.kind == tokenNumber:
			return []class{classNumber}
		case s.kind == tokenWord:
			return []class{classBoolean}
		}
		return []class{classText, classNumber, classMoment, classBoolean}
	}
	switch kind := p.columns[s.column].Type.Kind; {
	case kind == values.KindUnknown:
		return []class{classText, classNumber, classBoolean}
	case kind.Number():
		return []class{classNumber}
	case kind.Moment():
		return []class{classMoment}
	case kind == values.KindBoolean:
		return []class{classBoolean}
	}
	return []class{classText}
}

func (p *parser) typeText(s side) string {
	switch {
	case s.column >= 0 && p.columns[s.column].Type.Kind == values.KindUnknown:
		return "of no declared type"
	case s.column >= 0:
		return "of type " + p.columns[s.column].Type.Kind.String()
	case s.kind == tokenNumber:
		return "a number"
	case s.kind == tokenWord:
		return "true or false"
	}
	return "a text"
}

// operandOf parses a side for its comparison with other in class c.
func (p *parser) operandOf(s, other side, c class) (operand, error) {
	o := operand{column: s.column, float: s.column >= 0 && floating(p.columns[s.column].Type.Kind)}
	if s.column >= 0 {
		return o, nil
	}
	o.text = []byte(s.value)
	problem := ""
	switch c {
	case classNumber:
		o.number, problem = values.ParseNumber(o.text, other.column >= 0 && floating(p.columns[other.column].Type.Kind))
	case classMoment:
		o.moment, problem = momentLiteral(o.text, p.columns[other.column].Type)
	case classBoolean:
		o.truth, problem = values.ParseBoolean(o.text)
	}
	if problem != "" {
		return o, p.Fail(s.start, "%s is of type %v, and %s is %s", other.value,
			p.columns[other.column].Type.Kind, s.value, problem)
	}
	return o, nil
}

// momentLiteral parses a date or timestamp of a filter: a clock reading in the column's zone.
func momentLiteral(text []byte, t values.Type) (values.Moment, string) {
	r, err := values.NewReader(values.Type{Kind: values.KindTimestamp, Zone: t.Zone})
	if err != nil {
		return values.Moment{}, err.Error()
	}
	return r.Moment(text)
}

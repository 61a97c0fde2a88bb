package filter

import (
	"bytes"

	"bulkload/values"
)

// class is how two operands are compared.
type class int

const (
	classText class = iota
	classNumber
	classMoment
	classBoolean
)

// operand is a column or a literal. A literal is parsed for its class when the filter is parsed.
type operand struct {
	column int    // -1: a literal
	text   []byte // of a literal
	float  bool   // the number may be NaN or infinite
	number values.Number
	moment values.Moment
	truth  bool
}

// compareNode is a comparison of two operands of one class.
type compareNode struct {
	class       class
	left, right operand
	matches     [3]bool // result if left is less, equal, greater
	unordered   bool    // result if one of two numbers is NaN
}

// operatorsHold has the results of each operator: for less, equal and greater.
var operatorsHold = map[string][3]bool{
	"=": {false, true, false}, "!=": {true, false, true}, "<>": {true, false, true}, "<": {true, false, false},
	"<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
}

func (n *compareNode) eval(v *Matcher, fields []values.Value) truth {
	if n.left.null(fields) || n.right.null(fields) {
		return unknown
	}
	order := 0
	switch n.class {
	case classNumber:
		a, okA := n.left.asNumber(v, fields)
		b, okB := n.right.asNumber(v, fields)
		if !okA || !okB {
			return unknown
		}
		var ordered bool
		if order, ordered = a.Compare(b); !ordered {
			return truthOf(n.unordered)
		}
	case classMoment:
		a, okA := n.left.asMoment(v, fields)
		b, okB := n.right.asMoment(v, fields)
		if !okA || !okB {
			return unknown
		}
		order = a.Compare(b)
	case classBoolean:
		a, okA := n.left.asBoolean(v, fields)
		b, okB := n.right.asBoolean(v, fields)
		if !okA || !okB {
			return unknown
		}
		if a != b {
			order = 1 // the two can only be equal or not
		}
	default:
		order = bytes.Compare(n.left.bytes(fields), n.right.bytes(fields))
	}
	return truthOf(n.matches[order+1])
}

func (o *operand) null(fields []values.Value) bool { return o.column >= 0 && fields[o.column].Null() }

func (o *operand) bytes(fields []values.Value) []byte {
	if o.column < 0 {
		return o.text
	}
	return fields[o.column].Bytes()
}

func (o *operand) asNumber(v *Matcher, fields []values.Value) (values.Number, bool) {
	if o.column < 0 {
		return o.number, true
	}
	n, problem := values.ParseNumber(fields[o.column].Bytes(), o.float)
	if problem != "" {
		v.refuse(o.column, "the filter compares numbers, and this is "+problem)
		return n, false
	}
	return n, true
}

func (o *operand) asMoment(v *Matcher, fields []values.Value) (values.Moment, bool) {
	if o.column < 0 {
		return o.moment, true
	}
	m, problem := v.readers[o.column].Moment(fields[o.column].Bytes())
	if problem != "" {
		v.refuse(o.column, problem)
		return m, false
	}
	return m, true
}

func (o *operand) asBoolean(v *Matcher, fields []values.Value) (bool, bool) {
	if o.column < 0 {
		return o.truth, true
	}
	b, problem := values.ParseBoolean(fields[o.column].Bytes())
	if problem != "" {
		v.refuse(o.column, problem)
		return b, false
	}
	return b, true
}

// inNode compares a column with several literals of one class.
type inNode struct {
	column int
	class  class
	texts  map[string]bool // for texts
	any    []compareNode   // for other classes
}

func (n *inNode) eval(v *Matcher, fields []values.Value) truth {
	x := fields[n.column]
	if x.Null() {
		return unknown
	}
	if n.class == classText {
		return truthOf(n.texts[string(x.Bytes())])
	}
	for i := range n.any {
		if t := n.any[i].eval(v, fields); t != no {
			return t
		}
	}
	return no
}

type prefixNode struct {
	column int
	prefix []byte
}

func (n *prefixNode) eval(_ *Matcher, fields []values.Value) truth {
	if x := fields[n.column]; !x.Null() {
		return truthOf(bytes.HasPrefix(x.Bytes(), n.prefix))
	}
	return unknown
}

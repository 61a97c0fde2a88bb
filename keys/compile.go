package keys

import (
	"math"
	"time"

	"bulkload/values"
)

// stepKind is the kind of one step of a compiled expression.
type stepKind int

const (
	stepLiteral        stepKind = iota // append literal
	stepColumn                         // append the column
	stepMark                           // remember where a nested value begins
	stepColumnFunction                 // append apply's result for the column
	stepFunction                       // replace the bytes after the last mark by apply's result for them
	stepRecordSalt                     // append a salt of the whole record
)

// step is one step of a compiled expression.
type step struct {
	kind    stepKind
	column  int // -1: none, or several
	literal []byte
	text    string // as written, for errors

	apply applier
	n     int64 // divisor, base, or where a substring begins
	width int   // of the result: digits or UTF-16 units; -1: to the end
	check int   // number of bytes that the result must have; 0: any
	// sameUnits: the result must have as many characters as the value.
	sameUnits bool
	declared  int // the column's width in bytes; 0: any
	pad       byte
	layout    []datePart
	zone      *time.Location  // nil: UTC, and clocks as they were written
	unit      time.Duration   // of a number that is a point in time; 0: its digits decide
	typed     values.TypeKind // the column's declared type
}

// part is a term of the sum that is the key.
type part struct {
	start, end  int // in the text
	steps       []step
	columns     []int // in order of first use
	wholeRecord bool  // depends on all columns of the record
	width       Width
	props       props
	term        *term
}

// compile compiles a term to steps.
func (e *Expr) compile(t *term) part {
	p := part{start: t.start, end: t.end, term: t}
	p.width = p.add(t, e)
	p.props = e.propsOf(t)
	return p
}

// add appends a term's steps and returns the width of its value.
func (p *part) add(t *term, e *Expr) Width {
	text := e.text[t.start:t.end]
	switch {
	case t.call != nil:
		return p.addCall(t.call, text, e)
	case t.column < 0:
		p.steps = append(p.steps, step{kind: stepLiteral, column: -1, literal: t.literal})
		return Width{len(t.literal), len(t.literal)}
	}
	p.use(t.column)
	c := e.columns[t.column]
	p.steps = append(p.steps, step{kind: stepColumn, column: t.column, text: text, check: c.Width, typed: c.Kind})
	return columnWidth(c)
}

func (p *part) addCall(c *call, text string, e *Expr) Width {
	if !c.takesValue {
		w, s := c.shape(c, Width{})
		s.kind, s.column, s.text = stepRecordSalt, -1, text
		p.steps = append(p.steps, s)
		p.wholeRecord = true
		return w
	}
	if len(c.value) == 1 && c.value[0].column >= 0 {
		column := c.value[0].column
		p.use(column)
		w := p.addFunction(c, stepColumnFunction, column, text, columnWidth(e.columns[column]))
		p.steps[len(p.steps)-1].inherit(e.columns[column])
		return w
	}
	p.steps = append(p.steps, step{kind: stepMark})
	var w Width
	first := len(p.steps)
	for i := range c.value {
		w = w.plus(p.add(&c.value[i], e))
	}
	return p.addFunction(c, stepFunction, onlyColumn(p.steps[first:]), text, w)
}

func (p *part) addFunction(c *call, kind stepKind, column int, text string, of Width) Width {
	w, s := c.shape(c, of)
	s.kind, s.column, s.text, s.apply = kind, column, text, c.apply
	p.steps = append(p.steps, s)
	return w
}

// inherit copies the column's date unit, and its zone if the function does not set one. date shows local time as it is
// written, so it converts only to a zone given as its own argument.
func (s *step) inherit(c KeyColumn) {
	s.unit, s.typed, s.declared = c.Unit, c.Kind, c.Width
	if s.zone == nil && s.layout == nil {
		s.zone = c.Zone
	}
}

// onlyColumn is the only column that the steps use, or -1 if they use none or several.
func onlyColumn(steps []step) int {
	only := -1
	for i := range steps {
		switch c := steps[i].column; {
		case steps[i].kind == stepRecordSalt:
			return -1
		case steps[i].kind != stepColumn && steps[i].kind != stepColumnFunction:
		case only >= 0 && only != c:
			return -1
		default:
			only = c
		}
	}
	return only
}

func (p *part) use(column int) {
	for _, c := range p.columns {
		if c == column {
			return
		}
	}
	p.columns = append(p.columns, column)
}

func columnWidth(c KeyColumn) Width {
	if c.Width > 0 {
		return Width{c.Width, c.Width}
	}
	if c.Kind.Whole() {
		return Width{1, -1} // a key has the number's text as it is written, with any number of leading zeros
	}
	return Width{0, -1}
}

// greatest is the greatest number of a kind.
var greatest = map[values.TypeKind]int64{values.KindInt16: math.MaxInt16, values.KindInt32: math.MaxInt32,
	values.KindInt64: math.MaxInt64}

func (w Width) plus(v Width) Width {
	if w.Max < 0 || v.Max < 0 {
		return Width{w.Min + v.Min, -1}
	}
	return Width{w.Min + v.Min, w.Max + v.Max}
}

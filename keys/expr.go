// Package keys computes row keys from expressions. It knows nothing of files or networks.
package keys

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"bulkload/cell"
	"bulkload/internal/lex"
	"bulkload/values"
)

// KeyColumn is an input column as the key language sees it.
type KeyColumn struct {
	Name  string
	Width int             // declared fixed width in bytes; 0 when not declared
	Kind  values.TypeKind // declared; KindUnknown when not

	// For a date or a timestamp. Unit is time.Second or time.Millisecond if the column stores a number of them since
	// 1970, and 0 if it stores a clock reading. Zone is the zone of such a clock; nil is UTC. The date functions use
	// both unless they are given another zone.
	Unit time.Duration
	Zone *time.Location
}

// Expr is a compiled row-key expression. It is immutable and safe for concurrent use.
type Expr struct {
	text    string
	columns []KeyColumn
	parts   []part
	steps   []step // of all parts
}

// Width is how many bytes a key, or a part of one, has. pad, substr and reverse cut to a number of characters, and
// Width counts each as one byte; text outside ASCII has as many characters, and so more bytes.
type Width struct {
	Min int
	Max int // -1: unbounded
}

// Fixed reports whether all keys have the same number of bytes.
func (w Width) Fixed() bool { return w.Min == w.Max }

// Parse compiles a row-key expression over the given columns. Its errors name the position in text. It also refuses
// functions of columns whose declared type they can't accept.
func Parse(text string, columns []KeyColumn) (*Expr, error) {
	columns = slices.Clone(columns)
	p := &parser{lexer: lexer{lex.Lexer{Text: text}}, columns: columns}
	terms, err := p.whole()
	if err != nil {
		return nil, fmt.Errorf("row key %s: %w", lex.Shown(text), err)
	}
	e := &Expr{text: text, columns: columns}
	if err := e.check(terms); err != nil {
		return nil, fmt.Errorf("row key %s: %w", lex.Shown(text), err)
	}
	for i := range terms {
		e.addPart(e.compile(&terms[i]))
	}
	if w := e.Width(); w.Min > cell.MaxRowLen {
		return nil, fmt.Errorf("row key %s: every key has at least %d bytes, and HBase accepts at most %d",
			lex.Shown(text), w.Min, cell.MaxRowLen)
	}
	return e, nil
}

func (e *Expr) addPart(p part) {
	e.parts = append(e.parts, p)
	e.steps = append(e.steps, p.steps...)
}

// Width is the width of the keys.
func (e *Expr) Width() Width {
	var w Width
	for i := range e.parts {
		w = w.plus(e.parts[i].width)
	}
	return w
}

// Salts lists all possible beginnings of the keys, in order, if the keys begin with a salt: the literals before the
// salt, then one of its values. It is nil if the key does not begin with a salt.
func (e *Expr) Salts() [][]byte {
	front, parts := e.front()
	if len(parts) == 0 || !parts[0].props.spread.salt {
		return nil
	}
	return parts[0].values(front)
}

// front returns the literals that the key begins with, and the parts after them.
func (e *Expr) front() (text []byte, behind []part) {
	for i := range e.parts {
		p := &e.parts[i]
		if !p.literal() {
			return text, e.parts[i:]
		}
		constant, err := e.evaluate(p.steps, nil, make([]values.Value, len(e.columns)), nil)
		if err != nil {
			return text, nil // a function has no result for a constant: no record has a key
		}
		text = append(text, constant...)
	}
	return text, nil
}

// values lists all values of a salt or a remainder, each after front.
func (p *part) values(front []byte) [][]byte {
	all := make([][]byte, p.props.spread.count)
	width := len(front) + p.width.Max
	text := make([]byte, 0, len(all)*width)
	for i := range all {
		text = appendPadded(append(text, front...), uint64(i), p.width.Max)
		all[i] = text[i*width : (i+1)*width : (i+1)*width]
	}
	return all
}

// Columns lists the indexes of the columns that the key uses, in order of first use. random_salt depends on all
// columns and adds none.
func (e *Expr) Columns() []int {
	var all part
	for i := range e.parts {
		for _, c := range e.parts[i].columns {
			all.use(c)
		}
	}
	return all.columns
}

// Prefix is the expression of the longest leading part that the query columns determine. Its Append accepts the same
// fields, of which only the query columns need be set. If not even the first part is determined, it returns an error.
func (e *Expr) Prefix(query []string) (*Expr, error) {
	known, err := e.known(query)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(e.parts) && e.parts[n].determined(known) {
		n++
	}
	if n == 0 {
		return nil, errors.New(e.undetermined(known))
	}
	prefix := &Expr{columns: e.columns, text: e.text[:e.parts[n-1].end]}
	for i := range n {
		prefix.addPart(e.parts[i])
	}
	return prefix, nil
}

// known marks the columns of a query.
func (e *Expr) known(query []string) ([]bool, error) {
	known := make([]bool, len(e.columns))
	for _, name := range query {
		c := findColumn(e.columns, name)
		if c < 0 {
			p := parser{columns: e.columns}
			return nil, fmt.Errorf("query column %s is not an input column%s", name, p.suggestColumn(name))
		}
		known[c] = true
	}
	return known, nil
}

func (p *part) determined(known []bool) bool {
	if p.wholeRecord && slices.Contains(known, false) {
		return false
	}
	return !slices.ContainsFunc(p.columns, func(c int) bool { return !known[c] })
}

// undetermined says why the query columns do not determine the first part.
func (e *Expr) undetermined(known []bool) string {
	first := &e.parts[0]
	text := e.text[first.start:first.end]
	for _, c := range first.columns {
		if !known[c] {
			return fmt.Sprintf("the query columns do not determine %s, with which the row key begins: it needs %s too",
				text, e.columns[c].Name)
		}
	}
	return fmt.Sprintf("the query columns do not determine %s, with which the row key begins: it depends on the "+
		"whole record", text)
}

// position is a position in the text, in characters from 1.
func (e *Expr) position(at int) int { return utf8.RuneCountInString(e.text[:at]) + 1 }

// String is the expression as it was written.
func (e *Expr) String() string { return e.text }

// ValueError says that one record's value can't be used in a key, for example a null, text that is not a number, or a
// value that is too wide.
type ValueError struct {
	Column int    // index of the column; -1 for the whole key
	Reason string // what is wrong, without the value
	Beyond bool   // it is a number greater than the base of desc
}

func (e *ValueError) Error() string { return e.Reason }

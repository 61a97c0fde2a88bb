package filter

import "bulkload/values"

// InputColumn is an input column as a filter sees it.
type InputColumn struct {
	Name string
	Type values.Type
}

// Filter is a parsed and checked filter. It is immutable and safe for concurrent use.
type Filter struct {
	text    string
	columns []InputColumn
	root    node
}

// String returns the filter as it was written.
func (e *Filter) String() string { return e.text }

// Fault says that a record's value can't be compared as the filter requires.
type Fault struct {
	Column int    // its index
	Reason string // what is wrong, without the value
}

// Error returns the reason.
func (f *Fault) Error() string { return f.Reason }

// Matcher decides about records. It belongs to one goroutine.
type Matcher struct {
	root    node
	readers []*values.ColumnParser // for columns of dates and timestamps; nil for others
	fault   *Fault
}

// Evaluator returns a Matcher for one goroutine.
func (e *Filter) Evaluator() *Matcher {
	v := &Matcher{root: e.root, readers: make([]*values.ColumnParser, len(e.columns))}
	for i, c := range e.columns {
		if c.Type.Kind.Moment() {
			v.readers[i], _ = values.NewReader(c.Type) // Parse has checked that this works
		}
	}
	return v
}

// Wanted reports whether the filter accepts a record, given its columns' texts or nulls. The error is a *Fault.
func (v *Matcher) Wanted(fields []values.Value) (bool, error) {
	v.fault = nil
	t := v.root.eval(v, fields)
	if v.fault != nil {
		return false, v.fault
	}
	return t == yes, nil
}

// refuse records that a column's value can't be used.
func (v *Matcher) refuse(column int, problem string) truth {
	if v.fault == nil {
		v.fault = &Fault{column, problem}
	}
	return unknown
}

// truth is a condition's value for a record. In this order "and" is the minimum of two, "or" the maximum.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// node is a part of a filter.
type node interface {
	eval(v *Matcher, fields []values.Value) truth
}

type andNode struct{ all []node }

func (n *andNode) eval(v *Matcher, fields []values.Value) truth {
	least := yes
	for _, part := range n.all {
		if least = min(least, part.eval(v, fields)); least == no {
			break
		}
	}
	return least
}

type orNode struct{ all []node }

func (n *orNode) eval(v *Matcher, fields []values.Value) truth {
	greatest := no
	for _, part := range n.all {
		if greatest = max(greatest, part.eval(v, fields)); greatest == yes {
			break
		}
	}
	return greatest
}

type notNode struct{ of node }

func (n *notNode) eval(v *Matcher, fields []values.Value) truth { return yes - n.of.eval(v, fields) }

type nullNode struct{ column int }

func (n *nullNode) eval(_ *Matcher, fields []values.Value) truth {
	return truthOf(fields[n.column].Null())
}

// floating reports whether values of a kind may be NaN or infinite.
func floating(k values.TypeKind) bool { return k == values.KindFloat32 || k == values.KindFloat64 }

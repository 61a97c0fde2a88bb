package keys

import (
	"time"

	"bulkload/values"
)

// Part is a term of the sum that makes a row key, as described by the expression and the declared columns.
type Part struct {
	Text     string // as it was written
	Position int    // where it begins in the expression, in characters from 1
	Columns  []int  // columns that it depends on, in order of first use
	Reversed []int  // columns of varying width that it reverses or rotates unchanged
	// columns whose texts have no offset and that it reads as UTC, because neither a function nor the column names a
	// zone
	Unzoned []int
	Record  bool  // it depends on every column of the record: random_salt
	Literal bool  // it is the same in every key
	Width   Width // in bytes
	Values  int64 // number of values, for salts and remainders; 0: unknown or many
	// whether its values are evenly distributed in any order of records: salts, hashes, low digits first
	Even   bool
	Order  Order         // how it follows time or a sequence
	Moment bool          // it is made of a date or a timestamp
	Cycle  time.Duration // shortest time after which a date without its year repeats; 0: never
}

// Order is how a part of the key changes as the number or time in it grows.
type Order int

// The orders of a part.
const (
	Unordered  Order = iota // it jumps, or its order is unknown
	Ascending               // new records have ever greater keys
	Descending              // new records have ever smaller keys
)

// Parts lists the terms of the sum that makes the key.
func (e *Expr) Parts() []Part {
	parts := make([]Part, len(e.parts))
	for i := range e.parts {
		p := &e.parts[i]
		parts[i] = Part{
			Text: e.textOf(p), Position: e.position(p.start), Columns: p.columns, Reversed: e.reversedColumns(p.term, nil),
			Unzoned: e.unzonedColumns(p.term, nil), Record: p.wholeRecord,
			Literal: p.literal(), Width: p.width, Values: p.props.spread.count, Even: p.props.spread.known(),
			Order: p.props.order, Moment: p.props.moment, Cycle: p.props.cycle,
		}
	}
	return parts
}

// Apart returns the bytes of each part of a record's row key, in the order of Parts. The error is a *ValueError, as
// with Append.
func (e *Expr) Apart(fields []values.Value) ([][]byte, error) {
	apart := make([][]byte, len(e.parts))
	for i := range e.parts {
		var err error
		if apart[i], err = e.evaluate(e.parts[i].steps, nil, fields, nil); err != nil {
			return nil, err
		}
	}
	return apart, nil
}

func (e *Expr) textOf(p *part) string { return e.text[p.start:p.end] }

// literal reports whether the part is the same in every key.
func (p *part) literal() bool { return len(p.columns) == 0 && !p.wholeRecord }

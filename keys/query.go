package keys

import (
	"errors"
	"fmt"

	"bulkload/values"
)

// KeyQuery finds the rows that have the same values in some columns. They lie below one key prefix, or below one prefix
// for each value of the salts and remainders that those columns do not determine. It is immutable and safe for
// concurrent use.
type KeyQuery struct {
	expr  *Expr
	parts []part // the leading ones that are determined or can be enumerated
	open  []bool // for each, whether its values are enumerated
	scans int
}

// MaxScans is the largest number of scans for a query.
const MaxScans = 10_000

// Query prepares queries by the given columns. The error says why there is no prefix: either the key begins with
// something that these columns don't determine, or so many scans would cost more than reading the whole table.
func (e *Expr) Query(columns []string) (*KeyQuery, error) {
	known, err := e.known(columns)
	if err != nil {
		return nil, err
	}
	q := &KeyQuery{expr: e, scans: 1}
	open := make([]bool, len(e.parts))
	for i, scans := 0, 1; i < len(e.parts); i++ {
		p := &e.parts[i]
		open[i] = !p.determined(known)
		if open[i] {
			if p.props.spread.count == 0 || scans > MaxScans {
				break
			}
			scans *= int(min(p.props.spread.count, MaxScans+1))
		} else if !p.literal() || scans == q.scans { // after an enumerated salt a literal narrows nothing
			q.parts, q.open, q.scans = e.parts[:i+1], open[:i+1], scans
		}
	}
	switch {
	case q.parts == nil:
		return nil, errors.New(e.undetermined(known))
	case q.scans > MaxScans:
		return nil, fmt.Errorf("a query of %v needs more than %d scans, since it does not determine the salt",
			columns, MaxScans)
	}
	return q, nil
}

// Scans is the number of a query's prefixes, each of which is a scan.
func (q *KeyQuery) Scans() int { return q.scans }

// String is the part of the expression that makes the prefixes.
func (q *KeyQuery) String() string { return q.expr.text[:q.parts[len(q.parts)-1].end] }

// Prefixes returns the key prefixes of a query's rows, ascending. fields are the record's columns as for Expr.Append;
// only those of the query need be set. If a prefix ends in a value of varying width, rows with longer values share it.
// The error is a *ValueError.
func (q *KeyQuery) Prefixes(fields []values.Value) (prefixes [][]byte, err error) {
	prefixes = [][]byte{nil}
	for i := range q.parts {
		p := &q.parts[i]
		ends := [][]byte{nil}
		if q.open[i] {
			ends = p.values(nil)
		} else if ends[0], err = q.expr.evaluate(p.steps, nil, fields, nil); err != nil {
			return nil, err
		}
		longer := make([][]byte, 0, len(prefixes)*len(ends))
		for _, front := range prefixes {
			for _, v := range ends {
				longer = append(longer, append(front[:len(front):len(front)], v...))
			}
		}
		prefixes = longer
	}
	return prefixes, checkLength(len(prefixes[0]), 1)
}

// Next is the part of the key that follows the prefixes, so that it orders the rows of one query, and is not a literal;
// false if nothing follows.
func (q *KeyQuery) Next() (Part, bool) {
	all := q.expr.Parts()
	for i := len(q.parts); i < len(all); i++ {
		if !all[i].Literal {
			return all[i], true
		}
	}
	return Part{}, false
}

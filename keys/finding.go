package keys

import (
	"fmt"
	"slices"
)

// KeyFinding is something that an operator should know about a row key before creating a table for it. It follows from
// the expression, the declared columns and the query alone.
type KeyFinding struct {
	Code     string // of the Finding… constants; it never changes
	Warning  bool   // otherwise it is a note
	Part     string // the part of the expression that it is about
	Position int    // where that begins, in characters from 1
	Reason   string // what happens, as a sentence
	Remedy   string // what to do about it
}

// The codes of the findings.
const (
	FindingMonotonic       = "monotonic"      // new rows all go to the table's last region, or to its first
	FindingCycle           = "cycle"          // a date without its year repeats
	FindingRandomSalt      = "random-salt"    // each read needs one scan per salt
	FindingOpenSalt        = "open-salt"      // the query doesn't determine a salt
	FindingLateSalt        = "late-salt"      // a salt after something else distributes nothing
	FindingNoSeparator     = "no-separator"   // adjacent parts of varying width with nothing between them
	FindingOpenPrefix      = "open-prefix"    // rows of other values share the query's prefix
	FindingUnusedQuery     = "unused-query"   // a query column is not in the prefix
	FindingReversedUnfixed = "turned-unfixed" // reverse or rotate of text whose width varies
	FindingUnpadded        = "unpadded"       // numbers of varying width don't sort by size
	FindingComplement      = "complement"     // desc of a number that may be greater than its base
	FindingConstant        = "constant"       // the key is the same in every record
)

// Findings lists the findings of the key, part by part. query are the columns that a reader knows; nil if unknown.
func (e *Expr) Findings(query []string) []KeyFinding {
	f := findings{expr: e}
	f.first()
	for i := range e.parts {
		f.part(i)
	}
	if len(query) > 0 {
		f.query(query)
	}
	return f.list
}

// findings collects the findings of one key.
type findings struct {
	expr *Expr
	list []KeyFinding
}

func (f *findings) add(code string, warning bool, text string, at int, reason, remedy string) {
	f.list = append(f.list, KeyFinding{code, warning, text, f.expr.position(at), reason, remedy})
}

func (f *findings) addPart(code string, warning bool, p *part, reason, remedy string) {
	f.add(code, warning, f.expr.textOf(p), p.start, reason, remedy)
}

// first checks the part that decides a row's region: the first one that is not a literal.
func (f *findings) first() {
	i := slices.IndexFunc(f.expr.parts, func(p part) bool { return !p.literal() })
	if i < 0 {
		f.addPart(FindingConstant, true, &f.expr.parts[0],
			"the key is the same in every record, so all records become one row", "put a column in it")
		return
	}
	p := &f.expr.parts[i]
	const spread = "put a salt, or a hash of columns that readers know, in front, or reverse the digits with " +
		"reverse(x, width)"
	switch n := p.props; {
	case n.cycle > 0:
		f.addPart(FindingCycle, true, p,
			fmt.Sprintf("the dates repeat after %s, and so do the keys: rows of the previous period are mixed with the "+
				"new ones, or overwritten. All rows of a date go to one region", cycleText(n)),
			"give the table a TTL that leaves time for two major compactions before the dates repeat")
	case n.order == Ascending && n.moment:
		f.addPart(FindingMonotonic, true, p,
			"it grows with time: all new rows go to the table's last region, and its region server does all the work", spread)
	case n.order == Descending:
		f.addPart(FindingMonotonic, true, p,
			"it falls with time: all new rows go to the table's first region, and its region server does all the work", spread)
	case n.order == Ascending:
		f.addPart(FindingMonotonic, false, p,
			"it is a number: if it is assigned in sequence, all new rows go to the table's last region", spread)
	}
}

func cycleText(n props) string {
	if d := n.cycle.Hours() / 24; d >= 1 {
		return fmt.Sprintf("%.0f days", d)
	}
	return n.cycle.String()
}

// part checks a part against those before it.
func (f *findings) part(i int) {
	p := &f.expr.parts[i]
	n := p.props
	switch {
	case p.wholeRecord && n.spread.salt:
		f.addPart(FindingRandomSalt, true, p, fmt.Sprintf("no reader knows it, so each query needs %d scans", n.spread.count),
			"salt(x, n) of a column that readers know needs only one")
	case n.spread.salt && i > 0 && !f.expr.onlyLiterals(i):
		f.addPart(FindingLateSalt, false, p, "it is not at the beginning, so it spreads only rows with the same beginning",
			"put it first")
	}
	if i > 0 {
		f.neighbours(&f.expr.parts[i-1], p)
	}
	if n.content.numeric() && !p.width.Fixed() {
		f.addPart(FindingUnpadded, false, p, `its numbers differ in width, and "10" sorts before "9"`,
			"pad(x, width) sorts them by size, if none is negative; int64(x) does so in 8 bytes")
	}
	f.calls(p.term)
}

func (f *findings) neighbours(before, p *part) {
	if before.width.Fixed() || p.width.Fixed() {
		return
	}
	f.add(FindingNoSeparator, true, f.expr.text[before.start:p.end], before.start,
		`neither has a fixed width and nothing is between them: "1"+"23" and "12"+"3" are one key`,
		"put a separator such as '-' between them, or give the first a width: pad(x, width)")
}

func (e *Expr) onlyLiterals(before int) bool {
	return !slices.ContainsFunc(e.parts[:before], func(p part) bool { return !p.literal() })
}

// query checks the prefix that a reader's columns determine.
func (f *findings) query(columns []string) {
	q, err := f.expr.Query(columns)
	if err != nil {
		f.addPart(FindingOpenSalt, true, &f.expr.parts[0], err.Error(), "begin the key with columns that readers know")
		return
	}
	if q.scans > 1 {
		i := slices.Index(q.open, true)
		if p := &f.expr.parts[i]; !p.wholeRecord {
			f.addPart(FindingOpenSalt, true, p,
				fmt.Sprintf("the query columns don't determine it, so a query needs %d scans", q.scans),
				"compute it from a column that readers know")
		}
	}
	last := &q.parts[len(q.parts)-1]
	if !last.width.Fixed() && len(q.parts) < len(f.expr.parts) {
		f.addPart(FindingOpenPrefix, true, last,
			`a query's prefix ends with it and it has no fixed width: `+
				`a scan for "12" reads the rows of "123", too, and drops them`,
			"put a separator such as '-' after it, or pad(x, width)")
	}
	f.unused(q, columns)
}

func (f *findings) unused(q *KeyQuery, columns []string) {
	for _, name := range columns {
		c := findColumn(f.expr.columns, name)
		if slices.ContainsFunc(q.parts, func(p part) bool { return p.wholeRecord || slices.Contains(p.columns, c) }) {
			continue
		}
		f.add(FindingUnusedQuery, true, f.expr.text[q.parts[0].start:q.parts[len(q.parts)-1].end], q.parts[0].start,
			fmt.Sprintf("the query columns determine the key only up to here, without %s: all rows with this beginning are "+
				"read, and those with another %s are dropped",
				name, name), fmt.Sprintf("put %s in the key right after it", name))
	}
}

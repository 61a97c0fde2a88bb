package draft

import (
	"bytes"
	"fmt"

	"bulkload/keys"
	"bulkload/values"
)

const (
	fewestRows    = 3      // that show a key
	maxParts      = 6      // of a key
	maxTries      = 50_000 // combinations of parts
	maxKeyColumns = 40     // that are tried
	widestPad     = 20
)

// foundKey is a row key that gives the keys of all rows that were read.
type foundKey struct {
	parts []string
	query string // the column of the first part
}

// keyPart is a part that a key may have: what it gives for each row.
type keyPart struct {
	text   string
	column string
	first  bool // it is only useful at the beginning of a key: a salt
	bytes  [][]byte
}

// keySearch searches for a key, part by part.
type keySearch struct {
	rows  []TableRow
	parts []keyPart
	tries int
	found []keyPart
}

// findKey finds an expression of the columns that gives every row's key; nil if there is none.
func (t *Table) findKey(columns []*tableColumn, salts salting) *foundKey {
	if len(t.Rows) < fewestRows {
		return nil
	}
	s := &keySearch{rows: t.Rows, parts: t.keyParts(columns, salts)}
	if !s.from(make([]int, len(t.Rows)), nil) {
		return nil
	}
	key := &foundKey{}
	for _, p := range s.found {
		key.parts = append(key.parts, p.text)
		if key.query == "" {
			key.query = p.column
		}
	}
	if key.query == "" {
		return nil
	}
	return key
}

// keyParts are the parts that can be in a key: functions of columns that every row has.
func (t *Table) keyParts(columns []*tableColumn, salts salting) []keyPart {
	var names []keys.Column
	var used []*tableColumn
	for _, c := range columns {
		if c.text && c.rows == len(t.Rows) && c.shortest > 0 && len(used) < maxKeyColumns {
			used, names = append(used, c), append(names, keys.Column{Name: c.name})
		}
	}
	fields := make([][]values.Value, len(t.Rows))
	for i := range t.Rows {
		for _, c := range used {
			fields[i] = append(fields[i], values.ValueOf(c.values[i]))
		}
	}
	var parts []keyPart
	for _, c := range used {
		for _, expression := range partsOf(quoted(c.name), salts, c) {
			if outputs := evaluate(expression.text, names, fields); outputs != nil {
				parts = append(parts, keyPart{expression.text, c.name, expression.first, outputs})
			}
		}
	}
	return append(parts, t.separators()...)
}

// partsOf are the functions of a column that are tried, the most telling first.
func partsOf(column string, salts salting, c *tableColumn) (all []keyPart) {
	for _, call := range salts.calls(column) {
		all = append(all, keyPart{text: call, first: true})
	}
	for _, form := range []string{"md5(%s)", "md5_bytes(%s)", "md5(%s, 8)", "md5(%s, 4)", "desc(%s)", "int64(%s)", "%s", "reverse(%s)"} {
		all = append(all, keyPart{text: fmt.Sprintf(form, column)})
	}
	if c.kind == "timestamp" || c.kind == "date" {
		for _, zone := range []string{"UTC", "Asia/Shanghai"} {
			for _, form := range []string{"desc(millis(%s, '%s'))", "millis(%s, '%s')", "desc(seconds(%s, '%s'), 9999999999)"} {
				all = append(all, keyPart{text: fmt.Sprintf(form, column, zone)})
			}
		}
	}
	for width := c.longest; width <= widestPad; width++ {
		all = append(all, keyPart{text: fmt.Sprintf("pad(%s, %d)", column, width)}, keyPart{text: fmt.Sprintf("reverse(%s, %d)", column, width)})
	}
	return all
}

// evaluate is what an expression gives for each row; nil if it has no value for one of them.
func evaluate(expression string, columns []keys.Column, rows [][]values.Value) [][]byte {
	expr, err := keys.Parse(expression, columns)
	if err != nil {
		return nil
	}
	var all [][]byte
	for _, fields := range rows {
		out, err := expr.Append(nil, fields)
		if err != nil {
			return nil
		}
		all = append(all, out)
	}
	return all
}

// separators are characters that every key may have between two parts.
func (t *Table) separators() (parts []keyPart) {
	for _, c := range "-_|:#,.~/" {
		p := keyPart{text: fmt.Sprintf("'%c'", c)}
		for range t.Rows {
			p.bytes = append(p.bytes, []byte{byte(c)})
		}
		parts = append(parts, p)
	}
	return parts
}

// from continues the key of each row at a position.
func (s *keySearch) from(at []int, chosen []keyPart) bool {
	ended := 0
	for i, row := range s.rows {
		if at[i] == len(row.Key) {
			ended++
		}
	}
	if ended == len(s.rows) {
		s.found = chosen
		return true
	}
	if ended > 0 || len(chosen) == maxParts {
		return false
	}
	next := make([]int, len(at))
	for _, p := range s.parts {
		if s.tries++; s.tries > maxTries {
			return false
		}
		if p.first && len(chosen) > 0 || !s.continues(&p, at, next) {
			continue
		}
		if s.from(next, append(chosen[:len(chosen):len(chosen)], p)) {
			return true
		}
	}
	return false
}

// continues reports whether every key has the part at its position, and sets the positions after it.
func (s *keySearch) continues(p *keyPart, at, next []int) bool {
	for i, row := range s.rows {
		if !bytes.HasPrefix(row.Key[at[i]:], p.bytes[i]) {
			return false
		}
		next[i] = at[i] + len(p.bytes[i])
	}
	return true
}

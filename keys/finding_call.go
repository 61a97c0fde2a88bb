package keys

import "fmt"

// calls checks the functions of a term, the inner ones first.
func (f *findings) calls(t *term) {
	if t.call == nil || !t.call.takesValue {
		return
	}
	for i := range t.call.value {
		f.calls(&t.call.value[i])
	}
	n := f.expr.propsOfValue(t.call)
	switch c := t.call; c.name {
	case "reverse", "rotate":
		f.turned(t)
	case "desc":
		f.complement(t, n)
	}
}

func (f *findings) addCall(code string, warning bool, t *term, reason, remedy string) {
	f.add(code, warning, f.expr.text[t.start:t.end], t.start, reason, remedy)
}

func (f *findings) turned(t *term) {
	c := t.call
	if !f.expr.reversesUnfixed(c) {
		return
	}
	remedy := fmt.Sprintf("declare the width of its column in columns_map, or %s(pad(x, width))", c.name)
	if c.name == "reverse" {
		remedy = "reverse(x, width) fills up with zeros first; or declare the width of its column in columns_map"
	}
	f.addCall(FindingReversedUnfixed, true, t,
		fmt.Sprintf("%s may differ in width: the keys do, too, and what begins alike isn't of one value (12 and 312 turned "+
			"round are 21 and 213)",
			f.expr.textOfValue(c)), remedy)
}

// reversesUnfixed reports whether a function reverses or rotates a value of varying width.
func (e *Expr) reversesUnfixed(c *call) bool {
	switch {
	case c.name == "reverse" && len(c.numbers) > 0: // it pads first
		return false
	case c.name == "reverse", c.name == "rotate":
		return !e.widthOfValue(c).Fixed()
	}
	return false
}

// reversedColumns appends the columns that a term passes to such functions unchanged.
func (e *Expr) reversedColumns(t *term, columns []int) []int {
	if t.call == nil || !t.call.takesValue {
		return columns
	}
	if value := t.call.value; e.reversesUnfixed(t.call) && len(value) == 1 && value[0].column >= 0 {
		return append(columns, value[0].column)
	}
	for i := range t.call.value {
		columns = e.reversedColumns(&t.call.value[i], columns)
	}
	return columns
}

// unzonedColumns appends the columns that a term passes unchanged to millis or seconds without a zone for them. That
// includes columns in the zone UTC, because KeyColumn.Zone is nil for these too.
func (e *Expr) unzonedColumns(t *term, columns []int) []int {
	c := t.call
	if c == nil || !c.takesValue {
		return columns
	}
	if value := c.value; (c.name == "millis" || c.name == "seconds") && len(value) == 1 && value[0].column >= 0 {
		if of := e.columns[value[0].column]; c.zone == nil && of.Zone == nil && of.Unit == 0 {
			return append(columns, value[0].column)
		}
		return columns
	}
	for i := range c.value {
		columns = e.unzonedColumns(&c.value[i], columns)
	}
	return columns
}

func (e *Expr) widthOfValue(c *call) Width {
	var w Width
	var aside part
	for i := range c.value {
		w = w.plus(aside.add(&c.value[i], e))
	}
	return w
}

func (f *findings) complement(t *term, n props) {
	if base := t.call.base(); n.most > base {
		f.addCall(FindingComplement, true, t,
			fmt.Sprintf("values may be as great as %d; those over %d are rejects", n.most, base),
			"take a base that no value is greater than: desc(x) goes from 9223372036854775807")
	}
}

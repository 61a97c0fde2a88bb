package jobs

import (
	"bulkload/keys"
	"strings"
)

// readColumnsMap gives each column its family and qualifier.
func (j *Job) readColumnsMap(s *section) {
	family := s.text("family")
	for i := range j.Columns {
		j.Columns[i].Family, j.Columns[i].Qualifier = family, j.Columns[i].Name
	}
	if rules := s.section("columns_map"); rules != nil {
		for name := range rules.keys {
			j.readColumnRule(rules, name, family)
		}
	}
	j.readCells(s)
}

// readCells skips all columns but those of the list.
func (j *Job) readCells(s *section) {
	if !s.has("cells") {
		return
	}
	named := make([]bool, len(j.Columns))
	for _, item := range s.list("cells") {
		i, ok := j.column(item.text)
		switch {
		case !ok:
			s.doc.fail(item.node, "cells: input.columns has no column %s%s", item.text, keys.Meant(item.text, j.columnNames()))
		case j.Columns[i].Skip:
			s.doc.fail(item.node, "cells: columns_map skips column %s", item.text)
		default:
			named[i] = true
		}
	}
	for i := range j.Columns {
		j.Columns[i].Skip = !named[i]
	}
}

func (j *Job) readColumnRule(rules *section, name, family string) {
	i, ok := j.column(name)
	if !ok {
		rules.doc.fail(rules.keys[name], "columns_map: input.columns has no column %s%s", name, keys.Meant(name, j.columnNames()))
		return
	}
	c := &j.Columns[i]
	rule := rules.section(name)
	rule.known("to", "skip", "width", "type", "null")
	rule.notYet("type", "null")
	c.Skip = rule.flag("skip")
	c.Width = int(rule.number("width", 0, 1))
	if !rule.has("to") {
		return
	}
	to := rule.text("to")
	if f, q, found := strings.Cut(to, ":"); found {
		checkFamily(rule, "to", f)
		c.Family, c.Qualifier = f, q
	} else {
		c.Family, c.Qualifier = family, to
	}
}

// checkCells wants a family for every cell and no two cells in one place.
func (j *Job) checkCells(s *section) {
	seen := map[[2]string]string{}
	for _, c := range j.cellColumns() {
		place := [2]string{c.Family, c.Qualifier}
		if other, taken := seen[place]; taken {
			s.fail("columns_map", "columns %s and %s both become the cell %s:%s", other, c.Name, c.Family, c.Qualifier)
		}
		seen[place] = c.Name
		if c.Family == "" && !s.has("family") {
			s.doc.fail(s.node, "family is missing, and columns_map gives column %s none", c.Name)
			return
		}
	}
	if len(seen) == 0 && len(j.Columns) > 0 {
		s.fail("columns_map", "skips every column; a row needs at least one cell")
	}
}

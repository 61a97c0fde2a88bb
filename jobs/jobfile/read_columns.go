package jobfile

import (
	"maps"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/jobkeys"
	"bulkload/keys"
	"bulkload/values"
)

// readColumnsMap sets each column's family, qualifier and other settings.
func readColumnsMap(j *Job, s *section) {
	family := s.text("family")
	for i := range j.Columns {
		j.Columns[i].Family, j.Columns[i].Qualifier = family, j.Columns[i].Name
	}
	if rules := s.section("columns_map"); rules != nil {
		for _, name := range slices.Sorted(maps.Keys(rules.keys)) {
			readColumnRule(j, rules, name, family)
		}
	}
	readCells(j, s)
}

// readCells skips all columns and constants that are not in the list.
func readCells(j *Job, s *section) {
	if !s.has("cells") {
		return
	}
	named, constants := map[string]bool{}, map[string]bool{}
	for _, c := range j.Constants {
		constants[c.Name] = true
	}
	for _, item := range s.list("cells") {
		i, ok := j.Column(item.text)
		switch {
		case constants[item.text]:
		case !ok:
			s.doc.noColumn(item.node, "cells", item.text)
		case j.Columns[i].Skip:
			s.doc.fail(item.node, "cells: columns_map skips column %s", item.text)
		}
		named[item.text] = true
	}
	for i := range j.Columns {
		j.Columns[i].Skip = !named[j.Columns[i].Name]
	}
	j.Constants = slices.DeleteFunc(j.Constants, func(c Constant) bool { return !named[c.Name] })
}

func readColumnRule(j *Job, rules *section, name, family string) {
	rule := rules.section(name)
	i, ok := j.Column(name)
	switch {
	case rule.has("constant") && ok:
		rule.fail("constant", "%s is a column of the input; give the constant another name", name)
		return
	case rule.has("constant"):
		readConstant(j, rule, name, family)
		return
	case !ok:
		rules.doc.noColumn(rules.keys[name], "columns_map", name)
		return
	}
	c := &j.Columns[i]
	rule.known(jobkeys.Column)
	c.Skip = rule.flag("skip")
	c.Width = int(rule.number("width", 0, 1))
	if null := rule.oneOf("null", "omit", string(NullEmpty), string(NullError)); null != "omit" {
		c.Null = NullPolicy(null)
	}
	c.readPlace(rule, family)
	c.readType(rule)
}

// readPlace reads the family and the qualifier.
func (c *Column) readPlace(rule *section, family string) {
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

// readType reads the type of the values and how they are stored.
func (c *Column) readType(rule *section) {
	if name := rule.text("type"); name != "" {
		kind, ok := values.ParseKind(name)
		if !ok {
			rule.fail("type", "%q is none of %s%s", name, strings.Join(values.KindNames(), ", "), keys.Suggest(name, values.KindNames()))
			return
		}
		c.Type.Kind = kind
	}
	for _, key := range []string{"format", "zone"} {
		if rule.has(key) && !c.Type.Kind.Moment() {
			rule.fail(key, "applies only to the types date and timestamp")
			return
		}
	}
	if format := rule.oneOf("format", values.Formats()...); format != values.FormatClock {
		c.Type.Format = format
	}
	if c.Type.Zone = rule.text("zone"); c.Type.Zone != "" && c.Type.Format != "" {
		rule.fail("zone", "applies only to the format %s; %s count from 1970 in UTC", values.FormatClock, c.Type.Format)
	}
	if _, err := values.NewReader(c.Type); err != nil {
		rule.fail("zone", "%v", err)
	}
	c.Binary = rule.oneOf("store", "text", "binary") == "binary"
	switch {
	case c.Binary && c.Type.Kind == values.KindUnknown:
		rule.fail("store", "binary needs the type: the bytes follow from it")
	case c.Binary && zoneMissing(c.Type):
		rule.fail("store", "binary stores milliseconds in UTC: give the zone of the column's values, such as zone: Asia/Shanghai or zone: UTC")
	}
}

// zoneMissing reports whether timestamps can't be computed from clock readings because the zone is missing.
func zoneMissing(t values.Type) bool { return t.Kind.Moment() && t.Format == "" && t.Zone == "" }

// readConstant reads a cell that every row has. Its value is checked and converted here, once.
func readConstant(j *Job, rule *section, name, family string) {
	rule.known(jobkeys.Constant)
	if name == "" {
		rule.fail("constant", "has no name; give it one, which is the cell's qualifier unless to gives another")
	}
	c := Constant{Column: Column{Name: name, Family: family, Qualifier: name}}
	c.readPlace(rule, family)
	c.readType(rule)
	text := ""
	if !rule.lacksDate("constant") {
		text, _ = rule.scalar("constant", rule.values["constant"])
	}
	reader, err := values.NewReader(c.Type)
	if err != nil { // readType has reported it
		return
	}
	c.Value = []byte(text)
	problem := reader.Check(c.Value)
	if c.Binary {
		c.Value, problem = reader.AppendBinary([]byte{}, []byte(text))
	}
	if problem != "" && !rule.lacksDate("constant") {
		rule.fail("constant", "%q is %s", text, problem)
	}
	j.Constants = append(j.Constants, c)
}

// checkCells checks that every cell has a family and that no two cells are the same.
func checkCells(j *Job, s *section) {
	seen := map[[2]string]string{}
	for _, c := range j.CellColumns() {
		place := [2]string{c.Family, c.Qualifier}
		if other, taken := seen[place]; taken {
			s.fail("columns_map", "columns %s and %s both become the cell %s:%s", other, c.Name, c.Family, c.Qualifier)
		}
		seen[place] = c.Name
		if c.Family == "" && !s.has("family") {
			s.doc.failCode(errcode.JobMissing, s.node, "family is missing, and columns_map names none for column %s", c.Name)
			return
		}
	}
	if len(seen) == 0 && len(j.Columns) > 0 {
		s.fail("columns_map", "skips every column; a row needs at least one cell")
	}
}

package jobfile

import (
	"maps"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/spec/yamldoc"
	"bulkload/keys"
	"bulkload/values"

	"go.yaml.in/yaml/v3"
)

// readColumnsMap sets each column's family, qualifier and other settings.
func readColumnsMap(j *Job, s *yamldoc.Section) {
	family := s.Text("family")
	for i := range j.Columns {
		j.Columns[i].Family, j.Columns[i].Qualifier = family, j.Columns[i].Name
	}
	if rules := s.Section("columns_map"); rules != nil {
		for _, name := range slices.Sorted(maps.Keys(rules.Keys)) {
			readColumnRule(j, rules, name, family)
		}
	}
	readCells(j, s)
}

// readCells skips all columns and constants that are not in the list.
func readCells(j *Job, s *yamldoc.Section) {
	if !s.Has("cells") {
		return
	}
	named, constants := map[string]bool{}, map[string]bool{}
	for _, c := range j.Constants {
		constants[c.Name] = true
	}
	for _, item := range s.List("cells") {
		i, ok := j.Column(item.Text)
		switch {
		case constants[item.Text]:
		case !ok:
			s.Doc.NoColumn(item.Node, "cells", item.Text)
		case j.Columns[i].Skip:
			s.Doc.Fail(item.Node, "cells: columns_map skips column %s", item.Text)
		}
		named[item.Text] = true
	}
	for i := range j.Columns {
		j.Columns[i].Skip = !named[j.Columns[i].Name]
	}
	j.Constants = slices.DeleteFunc(j.Constants, func(c Constant) bool { return !named[c.Name] })
}

func readColumnRule(j *Job, rules *yamldoc.Section, name, family string) {
	if n := yamldoc.Resolve(rules.Values[name]); n.Kind != yaml.MappingNode {
		rules.Doc.FailCode(errcode.JobValue, n,
			"columns_map.%s is %s; it must be a mapping, such as {skip: true}, with keys among %s",
			name, yamldoc.KindName(n), strings.Join(yamldoc.Names(yamldoc.Column), ", "))
		return
	}
	rule := rules.Section(name)
	i, ok := j.Column(name)
	switch {
	case rule.Has("constant") && ok:
		rule.Fail("constant", "%s is a column of the input; give the constant another name", name)
		return
	case rule.Has("constant"):
		readConstant(j, rule, name, family)
		return
	case !ok:
		rules.Doc.NoColumn(rules.Keys[name], "columns_map", name)
		return
	}
	c := &j.Columns[i]
	rule.Known(yamldoc.Column)
	c.Skip = rule.Flag("skip")
	c.Width = int(rule.Number("width", 0, 1))
	if null := rule.OneOf("null", "omit", string(NullEmpty), string(NullError)); null != "omit" {
		c.Null = NullPolicy(null)
	}
	c.readPlace(rule, family)
	c.readType(rule)
}

// readPlace reads the family and the qualifier.
func (c *Column) readPlace(rule *yamldoc.Section, family string) {
	if !rule.Has("to") {
		return
	}
	to := rule.Text("to")
	if f, q, found := strings.Cut(to, ":"); found {
		checkFamily(rule, "to", f)
		c.Family, c.Qualifier = f, q
	} else {
		c.Family, c.Qualifier = family, to
	}
}

// readType reads the type of the values and how they are stored.
func (c *Column) readType(rule *yamldoc.Section) {
	if name := rule.Text("type"); name != "" {
		kind, ok := values.ParseKind(name)
		if !ok {
			rule.Fail("type", "%q is none of %s%s", name, strings.Join(values.KindNames(), ", "),
				keys.Suggest(name, values.KindNames()))
			return
		}
		c.Type.Kind = kind
	}
	for _, key := range []string{"format", "zone"} {
		if rule.Has(key) && !c.Type.Kind.Moment() {
			rule.Fail(key, "applies only to the types date and timestamp")
			return
		}
	}
	if format := rule.OneOf("format", values.Formats()...); format != values.FormatClock {
		c.Type.Format = format
	}
	if c.Type.Zone = rule.Text("zone"); c.Type.Zone != "" && c.Type.Format != "" {
		rule.Fail("zone", "applies only to the format %s; %s count from 1970 in UTC", values.FormatClock, c.Type.Format)
	}
	if _, err := values.NewReader(c.Type); err != nil {
		rule.Fail("zone", "%v", err)
	}
	c.Binary = rule.OneOf("store", "text", "binary") == "binary"
	switch {
	case c.Binary && c.Type.Kind == values.KindUnknown:
		rule.Fail("store", "binary needs the type: the bytes follow from it")
	case c.Binary && zoneMissing(c.Type):
		rule.Fail("store", "binary stores milliseconds in UTC: give the zone of the column's values, such as zone: "+
			"Asia/Shanghai or zone: UTC")
	}
}

// zoneMissing reports whether timestamps can't be computed from clock readings because the zone is missing.
func zoneMissing(t values.Type) bool { return t.Kind.Moment() && t.Format == "" && t.Zone == "" }

// readConstant reads a cell that every row has. Its value is checked and converted here, once.
func readConstant(j *Job, rule *yamldoc.Section, name, family string) {
	rule.Known(yamldoc.Constant)
	if name == "" {
		rule.Fail("constant", "has no name; give it one, which is the cell's qualifier unless to gives another")
	}
	c := Constant{Column: Column{Name: name, Family: family, Qualifier: name}}
	c.readPlace(rule, family)
	c.readType(rule)
	text := ""
	if !rule.LacksDate("constant") {
		text, _ = rule.Scalar("constant", rule.Values["constant"])
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
	if problem != "" && !rule.LacksDate("constant") {
		rule.Fail("constant", "%q is %s", text, problem)
	}
	j.Constants = append(j.Constants, c)
}

// checkCells checks that every cell has a family and that no two cells are the same.
func checkCells(j *Job, s *yamldoc.Section) {
	seen := map[[2]string]string{}
	for _, c := range j.CellColumns() {
		place := [2]string{c.Family, c.Qualifier}
		if other, taken := seen[place]; taken {
			s.Fail("columns_map", "columns %s and %s both become the cell %s:%s", other, c.Name, c.Family, c.Qualifier)
		}
		seen[place] = c.Name
		if c.Family == "" && !s.Has("family") {
			s.Doc.FailCode(errcode.JobKey, s.Node, "family is missing, and columns_map names none for column %s", c.Name)
			return
		}
	}
	if len(seen) == 0 && len(j.Columns) > 0 {
		s.Fail("columns_map", "skips every column; a row needs at least one cell")
	}
}

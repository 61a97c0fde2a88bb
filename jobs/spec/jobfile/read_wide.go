package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/jobs/spec/yamldoc"
	"bulkload/keys"
)

// Wide is a wide table: many records share a row, each with cells under its own qualifiers.
type Wide struct {
	Qualifier *keys.Expr // of a record; each cell appends its column's qualifier to it
}

// readWide reads how a record's cells are distinguished from those of the other records of its row.
func readWide(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	s.Known(yamldoc.Wide)
	s.Require("qualifier")
	readWideValue(j, s)
	text := s.Text("qualifier")
	if text == "" || len(j.Columns) == 0 {
		return
	}
	expr, err := keys.Parse(text, j.KeyColumns())
	if err != nil {
		s.Fail("qualifier", "%s", OfQualifier(err.Error()))
		return
	}
	j.Wide = &Wide{expr}
	checkWide(j, s)
}

// readWideValue makes one column or constant the only cell of a record. The cell's qualifier is then the record's
// alone.
func readWideValue(j *Job, s *yamldoc.Section) {
	if !s.Has("value") {
		return
	}
	name := s.Text("value")
	if name == "" {
		return
	}
	at, isColumn := j.Column(name)
	constant := slices.IndexFunc(j.Constants, func(c Constant) bool { return c.Name == name })
	if !isColumn && constant < 0 {
		s.Doc.NoColumn(s.At("value"), s.Name+"value", name)
		return
	}
	for i := range j.Columns {
		j.Columns[i].Skip = true
	}
	if isColumn {
		j.Columns[at].Skip, j.Columns[at].Qualifier = false, ""
		j.Constants = nil
		return
	}
	j.Constants = []Constant{j.Constants[constant]}
	j.Constants[0].Qualifier = ""
}

// checkWide checks that a record's cells are adjacent: with qualifiers of different widths, 1 and 12, the cells 1:a,
// 12:a and 1:b of two records would be interleaved.
func checkWide(j *Job, s *yamldoc.Section) {
	if j.Wide.Qualifier.Width().Fixed() {
		return
	}
	first := map[string]string{}
	for _, c := range j.CellColumns() {
		if other, several := first[c.Family]; several {
			s.Fail("qualifier", "%s is not of fixed width, and a record has several cells in family %s (columns %s and %s): "+
				"make it so, with pad(x, width, '0'), or choose one column with wide.value",
				j.Wide.Qualifier, c.Family, other, c.Name)
			return
		}
		first[c.Family] = c.Name
	}
}

// OfQualifier rewords an error about a row key as one about a qualifier.
func OfQualifier(text string) string {
	return strings.ReplaceAll(text, "row key", "qualifier")
}

// KeyColumns returns the columns as the key language sees them.
func (j *Job) KeyColumns() []keys.KeyColumn {
	columns := make([]keys.KeyColumn, len(j.Columns))
	for i, c := range j.Columns {
		columns[i] = keys.KeyColumn{Name: c.Name, Width: c.Width, Kind: c.Type.Kind, Unit: c.Type.Unit()}
		columns[i].Zone, _ = c.Type.Location() // readType has reported an error
	}
	return columns
}

// String returns the form for the job's hash.
func (w *Wide) String() string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("qualifier: %s", w.Qualifier)
}

package lookup

import (
	"encoding/json"
	"strconv"

	"bulkload/cell"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// Names tells by which names and types readers get the cells of a job's table.
type Names struct {
	job     *jobfile.Job
	columns []jobfile.Column // that become cells; none of a wide table
	places  map[string]int   // of columns, by family:qualifier
}

// NamesOf returns the names of a job's columns.
func NamesOf(j *jobfile.Job) *Names {
	n := &Names{job: j, places: map[string]int{}}
	if j.Wide == nil {
		n.columns = j.CellColumns()
	}
	for i, c := range n.columns {
		n.places[c.Family+":"+c.Qualifier] = i
	}
	return n
}

// Columns are the columns that a row may have, in the order of the job.
func (n *Names) Columns() []jobfile.Column { return n.columns }

// AppendRows appends rows as a JSON array of objects: first the job's columns, by their names and in their order, and
// then other cells as family:qualifier. Values of columns with a type of numbers are numbers, and those of type boolean
// are true or false, unless their text is none. All other values are texts, or {"base64": …} if they are not UTF-8.
func (n *Names) AppendRows(dst []byte, rows []Row) []byte {
	shown := shownBy(n.job)
	dst = append(dst, '[')
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.appendRow(dst, &rows[i], shown)
	}
	return append(dst, ']')
}

func (n *Names) appendRow(dst []byte, row *Row, shown *shownCells) []byte {
	named := make([]*cell.Cell, len(n.columns))
	var others []*cell.Cell
	for i := range row.Cells {
		c := &row.Cells[i]
		if at, found := n.places[string(c.Family)+":"+string(c.Qualifier)]; found {
			named[at] = c
		} else {
			others = append(others, c)
		}
	}
	dst = append(dst, '{')
	begin := len(dst)
	add := func(name string, kind values.TypeKind, c *cell.Cell) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, name), ':')
		dst = appendValue(dst, kind, shown.gotCell(c))
	}
	for i, c := range named {
		if c != nil {
			add(n.columns[i].Name, n.columns[i].Type.Kind, c)
		}
	}
	for _, c := range others {
		add(cell.Printable(c.Family)+":"+cell.Printable(c.Qualifier), values.KindUnknown, c)
	}
	return append(dst, '}')
}

// AppendCells appends rows as a JSON array of objects with their keys and all that their cells have.
func (n *Names) AppendCells(dst []byte, rows []Row) []byte {
	shown := shownBy(n.job)
	got := make([]GotRow, len(rows))
	for i := range rows {
		got[i] = shown.gotRow(&rows[i])
	}
	text, _ := json.Marshal(got) // can't fail: all are texts and numbers
	return append(dst, text...)
}

func appendValue(dst []byte, kind values.TypeKind, c GotCell) []byte {
	switch {
	case c.Base64 != "" && c.Type == "":
		return append(strconv.AppendQuote(append(dst, `{"base64":`...), c.Base64), '}')
	case kind.Number() && json.Valid([]byte(c.Value)) && (c.Value[0] == '-' || c.Value[0] >= '0' && c.Value[0] <= '9'),
		kind == values.KindBoolean && (c.Value == "true" || c.Value == "false"):
		return append(dst, c.Value...)
	}
	return appendText(dst, c.Value)
}

func appendText(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // can't fail
	return append(dst, quoted...)
}

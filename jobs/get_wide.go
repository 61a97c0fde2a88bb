package jobs

import (
	"bytes"
	"slices"

	"bulkload/cell"
	"bulkload/values"
)

// wideQuery says which cells a query of a wide table asks for; the zero value is for all cells of all rows with a prefix.
type wideQuery struct {
	begin []byte          // of the qualifiers
	exact map[string]bool // family and qualifier, where the values determine them; nil: begin is all that is known
}

func newWideQuery(j *Job, fields []values.Value) (q wideQuery, err error) {
	begin, err := j.Wide.Qualifier.Prefix(j.Query)
	if err != nil {
		return q, nil // the values say nothing of the qualifiers
	}
	if q.begin, err = begin.Append(nil, fields); err != nil {
		return q, usagef("build the qualifier: %s", ofQualifier(err.Error()))
	}
	if begin.String() == j.Wide.Qualifier.String() {
		q.exact = map[string]bool{}
		for _, c := range j.cellColumns() {
			q.exact[c.Family+":"+string(q.begin)+c.Qualifier] = true
		}
	}
	return q, nil
}

// rowQuery lists the query columns that ask for rows: those that only a wide table's qualifier uses ask for cells of them.
func (j *Job) rowQuery() []string {
	if j.Wide == nil {
		return j.Query
	}
	return slices.DeleteFunc(slices.Clone(j.Query), func(name string) bool {
		at, _ := j.column(name) // reading the job file has checked that it is there
		return slices.Contains(j.Wide.Qualifier.Columns(), at) && !slices.Contains(j.RowKey.Columns(), at)
	})
}

func (q *wideQuery) has(c *cell.Cell) bool {
	if q.exact != nil {
		return q.exact[string(c.Family)+":"+string(c.Qualifier)]
	}
	return bytes.HasPrefix(c.Qualifier, q.begin)
}

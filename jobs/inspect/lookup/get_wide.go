package lookup

import (
	"bytes"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// wideQuery says which cells a query of a wide table selects. The zero value selects all cells of the rows.
type wideQuery struct {
	begin []byte          // of the qualifiers
	exact map[string]bool // family and qualifier, if the values determine them; nil: only begin is known
}

func newWideQuery(j *jobfile.Job, fields []values.Value) (q wideQuery, err error) {
	begin, err := j.Wide.Qualifier.Prefix(j.Query)
	if err != nil {
		return q, nil // the values don't restrict the qualifiers
	}
	if q.begin, err = begin.AppendQualifier(nil, fields); err != nil {
		return q, errcode.Command.Errorf("build the qualifier: %s", jobfile.OfQualifier(err.Error()))
	}
	if begin.String() == j.Wide.Qualifier.String() {
		q.exact = map[string]bool{}
		for _, c := range j.CellColumns() {
			q.exact[c.Family+":"+string(q.begin)+c.Qualifier] = true
		}
	}
	return q, nil
}

func (q *wideQuery) selects(c *cell.Cell) bool {
	if q.exact != nil {
		return q.exact[string(c.Family)+":"+string(c.Qualifier)]
	}
	return bytes.HasPrefix(c.Qualifier, q.begin)
}

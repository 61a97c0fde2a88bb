package jobfile

import (
	"bulkload/keys"
)

func readRowKey(j *Job, s *section) {
	if !s.has("rowkey") || len(j.Columns) == 0 {
		return
	}
	text := s.text("rowkey")
	if text == "" {
		return
	}
	expr, err := keys.Parse(text, j.KeyColumns())
	if err != nil {
		s.fail("rowkey", "%v", err)
		return
	}
	j.RowKey = expr
	for _, q := range s.list("query") {
		if _, ok := j.Column(q.text); !ok {
			s.doc.noColumn(q.node, "query", q.text)
		}
		j.Query = append(j.Query, q.text)
	}
	if known := len(s.doc.problems) == 0; known && len(j.Query) > 0 && !s.doc.anyQuery {
		if _, err := expr.Query(j.Query); err != nil {
			s.fail("query", "%v", err)
		}
	}
}

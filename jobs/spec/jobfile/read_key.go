package jobfile

import (
	"bulkload/jobs/spec/yamldoc"
	"bulkload/keys"
)

func readRowKey(j *Job, s *yamldoc.Section) {
	if !s.Has("rowkey") || len(j.Columns) == 0 {
		return
	}
	text := s.Text("rowkey")
	if text == "" {
		return
	}
	expr, err := keys.Parse(text, j.KeyColumns())
	if err != nil {
		s.Fail("rowkey", "%v", err)
		return
	}
	j.RowKey = expr
	for _, q := range s.List("query") {
		if _, ok := j.Column(q.Text); !ok {
			s.Doc.NoColumn(q.Node, "query", q.Text)
		}
		j.Query = append(j.Query, q.Text)
	}
	if known := s.Doc.Sound(); known && len(j.Query) > 0 && !j.anyQuery {
		if _, err := expr.Query(j.Query); err != nil {
			s.Fail("query", "%v", err)
		}
	}
}

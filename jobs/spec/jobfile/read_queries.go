package jobfile

import (
	"fmt"

	"bulkload/jobs/spec/yamldoc"

	"go.yaml.in/yaml/v3"
)

// readQueries reads the queries for plan to weigh: [{columns: […], per_day: N}, …].
func readQueries(j *Job, s *yamldoc.Section) {
	if !s.Has("queries") {
		return
	}
	list := yamldoc.Resolve(s.Values["queries"])
	if list.Kind != yaml.SequenceNode {
		s.Fail("queries", "is %s; it must be a list: [{columns: [a, b], per_day: 1000}, …]", yamldoc.KindName(list))
		return
	}
	for i, n := range list.Content {
		q := s.Doc.Section(fmt.Sprintf("queries[%d].", i), n)
		q.Known(yamldoc.Queries)
		q.Require("columns", "per_day")
		query := Query{PerDay: q.Number("per_day", 1, 1)}
		for _, c := range q.List("columns") {
			if _, ok := j.Column(c.Text); !ok {
				s.Doc.NoColumn(c.Node, fmt.Sprintf("queries[%d].columns", i), c.Text)
			}
			query.Columns = append(query.Columns, c.Text)
		}
		j.Queries = append(j.Queries, query)
	}
}

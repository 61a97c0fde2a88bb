package jobfile

import (
	"fmt"

	"bulkload/jobs/jobkeys"

	"go.yaml.in/yaml/v3"
)

// readQueries reads the queries for plan to weigh: [{columns: […], per_day: N}, …].
func readQueries(j *Job, s *section) {
	if !s.has("queries") {
		return
	}
	list := resolve(s.values["queries"])
	if list.Kind != yaml.SequenceNode {
		s.fail("queries", "is %s; it must be a list: [{columns: [a, b], per_day: 1000}, …]", kindName(list))
		return
	}
	for i, n := range list.Content {
		q := s.doc.section(fmt.Sprintf("queries[%d].", i), n)
		q.known(jobkeys.Queries)
		q.require("columns", "per_day")
		query := Query{PerDay: q.number("per_day", 1, 1)}
		for _, c := range q.list("columns") {
			if _, ok := j.Column(c.text); !ok {
				s.doc.noColumn(c.node, fmt.Sprintf("queries[%d].columns", i), c.text)
			}
			query.Columns = append(query.Columns, c.text)
		}
		j.Queries = append(j.Queries, query)
	}
}

// dated reports whether a key's text has the logical date.
func (s *section) dated(key string) bool {
	n, ok := s.values[key]
	return ok && resolve(n).Kind == yaml.ScalarNode && namesDate(resolve(n).Value)
}

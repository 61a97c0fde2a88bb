package jobfile

import (
	"bulkload/internal/errcode"
	"bulkload/jobs/filter"
)

// readFilter reads which records are wanted.
func readFilter(j *Job, s *section) {
	if !s.has("filter") {
		return
	}
	columns := make([]filter.Column, len(j.Columns))
	for i, c := range j.Columns {
		columns[i] = filter.Column{Name: c.Name, Type: c.Type}
	}
	text := s.undated("filter")
	if text == "" {
		return
	}
	expr, err := filter.Parse(text, columns)
	if err != nil {
		s.doc.failCode(errcode.JobFilter, s.at("filter"), "%v", err)
		return
	}
	j.Filter = expr
}

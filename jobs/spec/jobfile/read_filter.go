package jobfile

import (
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/filter"
	"bulkload/jobs/spec/yamldoc"
)

func readFilter(j *Job, s *yamldoc.Section) {
	if !s.Has("filter") {
		return
	}
	columns := make([]filter.InputColumn, len(j.Columns))
	for i, c := range j.Columns {
		columns[i] = filter.InputColumn{Name: c.Name, Type: c.Type}
	}
	text := s.Undated("filter")
	if text == "" {
		return
	}
	expr, err := filter.Parse(text, columns)
	if err != nil {
		s.Doc.FailCode(errcode.JobFilter, s.At("filter"), "%v", err)
		return
	}
	j.Filter = expr
}

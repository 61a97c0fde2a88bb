package plan

import (
	"path/filepath"

	"bulkload/jobs/stats"
)

// page is the report in the page's form.
func (r *Report) page() *stats.Page {
	p := &stats.Page{Title: "Plan of " + filepath.Base(r.Run.Job), Date: r.Run.Date}
	tables := r.Outputs
	if tables == nil {
		tables = []*Report{r}
	}
	for _, t := range tables {
		shown := stats.Table{Name: t.Run.Table, Report: &t.Report}
		if t.Compared != nil {
			shown.Compared = &t.Compared.Report
		}
		p.Tables = append(p.Tables, shown)
	}
	return p
}

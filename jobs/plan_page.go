package jobs

import (
	"path/filepath"

	"bulkload/jobs/planning"
)

// page is the report as a page shows it.
func (r *PlanReport) page() *planning.Page {
	p := &planning.Page{Title: "Plan of " + filepath.Base(r.Run.Job), Date: r.Run.Date}
	tables := r.Outputs
	if tables == nil {
		tables = []*PlanReport{r}
	}
	for _, t := range tables {
		shown := planning.Table{Name: t.Run.Table, Report: &t.Report}
		if t.Compared != nil {
			shown.Compared = &t.Compared.Report
		}
		p.Tables = append(p.Tables, shown)
	}
	return p
}

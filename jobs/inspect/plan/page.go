package plan

import (
	"path/filepath"

	"bulkload/jobs/stats"
)

// page converts the report to the page's form.
func (r *PlanReport) page() *stats.PlanPage {
	p := &stats.PlanPage{Title: "Plan of " + filepath.Base(r.Run.Job), Date: r.Run.Date}
	tables := r.Outputs
	if tables == nil {
		tables = []*PlanReport{r}
	}
	for _, t := range tables {
		shown := stats.PlannedTable{Name: t.Run.Table, Report: t.InputReport}
		if t.Compared != nil {
			shown.Compared = t.Compared.InputReport
		}
		p.Tables = append(p.Tables, shown)
	}
	return p
}

package jobs

import "bulkload/jobs/planning"

func (r *PlanReport) page() *planning.Page { return nil }

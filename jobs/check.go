package jobs

import (
	"context"
	"fmt"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// CheckReport is what the checks of several runs found. None of the runs was started.
type CheckReport struct {
	failure.Outcome
	Runs []*CheckedRun `json:"runs"`
}

// CheckedRun is what the checks of one run found.
type CheckedRun struct {
	Run    jobfile.RunInfo        `json:"run"`
	Checks preflight.CheckResults `json:"checks"`
}

// Check makes all checks of the runs and nothing else. Of the input, it reads only files that have changed since their
// date was run, and it leaves no file behind. Unlike a run, it continues after a failure as far as it can. Its error
// has the worst kind among the failures.
func Check(ctx context.Context, all []*jobfile.Job, o options.Options) (*CheckReport, error) {
	report := &CheckReport{Outcome: failure.NewOutcome(), Runs: []*CheckedRun{}}
	o, err := o.WithDefaults()
	if err != nil {
		return report, err
	}
	var failed preflight.CheckResults
	checks := 0
	for _, j := range all {
		found, err := run.Check(ctx, j, o)
		report.Runs = append(report.Runs, &CheckedRun{Run: j.Info(), Checks: found})
		if err != nil {
			return report, err
		}
		checks += len(found)
		failed = append(failed, found.Failed()...)
	}
	if len(failed) == 0 {
		report.Status = failure.StatusDone
		return report, nil
	}
	name, worst := failed.Worst()
	return report, fmt.Errorf("%d of %d checks failed; the worst is %s: %w", len(failed), checks, name, worst)
}

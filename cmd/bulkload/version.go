package main

import (
	"context"
	"fmt"

	"bulkload/jobs"
)

type versionCommand struct{}

// versionReport is the answer of version.
type versionReport struct {
	jobs.Outcome
	jobs.Build
}

func (versionCommand) do(_ context.Context, s *session) (report, error) {
	r := &versionReport{Outcome: jobs.Outcome{Schema: jobs.SummarySchema, Status: jobs.StatusDone}, Build: jobs.ThisBuild()}
	commit := ""
	if r.Commit != "" {
		commit = ", commit " + r.Commit
		if r.Modified {
			commit += " with changes"
		}
	}
	_, err := fmt.Fprintf(s.answers(), "bulkload %s%s, %s, %s\n", r.Version, commit, r.Go, r.Platform)
	return r, err
}

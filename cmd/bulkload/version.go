package main

import (
	"context"
	"fmt"

	"bulkload/internal/program"
	"bulkload/jobs/base/failure"
)

type versionCommand struct{}

// versionReport is the answer of version.
type versionReport struct {
	failure.Outcome
	program.Build
}

func (versionCommand) do(_ context.Context, s *session) (report, error) {
	r := &versionReport{Outcome: failure.Outcome{Schema: failure.OutcomeSchema, Status: failure.StatusDone},
		Build: program.ThisBuild()}
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

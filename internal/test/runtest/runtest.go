// Package runtest does whole runs for tests, in this process, by tasks, and in processes that are killed, and compares
// their results.
package runtest

import (
	"context"
	"testing"

	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// Must does a run that is expected to succeed.
func Must(t testing.TB, j *jobfile.Job, o options.Options) *summary.Summary {
	t.Helper()
	s, err := run.Job(context.Background(), nil, j, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Counting counts how often a point is reached, for a run on one core or with few such points.
func Counting(n *int, at options.Point) func(options.Point) {
	reached := make(chan struct{}, 1)
	return func(p options.Point) {
		if p == at {
			reached <- struct{}{}
			*n++
			<-reached
		}
	}
}

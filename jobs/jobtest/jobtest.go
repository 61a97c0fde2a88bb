// Package jobtest reads jobs for tests of the packages below jobs.
package jobtest

import (
	"strings"
	"testing"

	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/jobs/target"
)

// Open reads a job file's text, and opens its source and its target. No cluster is asked.
func Open(t *testing.T, text string) (*jobfile.Job, *source.Source, *target.Target) {
	t.Helper()
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(options.Options{}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(j, s)
	if err != nil {
		t.Fatal(err)
	}
	into, err := target.New(j, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, src, into
}

// Package jobtest reads jobs, and opens them, for tests of the packages below jobs.
package jobtest

import (
	"strings"
	"testing"

	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// Open reads a job file's text, and opens its source and its target. It does not ask a cluster.
func Open(t *testing.T, text string) (*jobfile.Job, *source.Source, *targets.Target) {
	t.Helper()
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, src := sourceOf(t, j)
	into, err := targets.New(j, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, src, into
}

// Source opens the source of a job until the test ends.
func Source(t *testing.T, j *jobfile.Job) *source.Source {
	t.Helper()
	_, src := sourceOf(t, j)
	t.Cleanup(func() { _ = src.Close() }) // it was only read
	return src
}

func sourceOf(t *testing.T, j *jobfile.Job) (*site.Site, *source.Source) {
	t.Helper()
	s, err := site.Open(options.Options{}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(j, s)
	if err != nil {
		t.Fatal(err)
	}
	return s, src
}

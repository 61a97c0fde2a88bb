// Package sortingtest sorts a job's input for tests of the stages after the sort.
package sortingtest

import (
	"testing"

	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// Sort returns the rows of a job with one output. They are closed when the test ends.
func Sort(t *testing.T, j *jobfile.Job, src *source.Source, into *targets.Target) *sorting.Rows {
	t.Helper()
	o, err := options.Options{WorkDir: t.TempDir()}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	splits, err := source.Splits(t.Context(), &j.Input, src)
	if err != nil {
		t.Fatal(err)
	}
	stage := sorting.SortStage{Input: &j.Input, Source: src, Splits: splits, Rejects: new(entry.CountedRejects), Outputs: []sorting.SortOutput{{Job: j, Target: into}}}
	rows, err := stage.Sort(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sorting.CloseRows(rows); err != nil {
			t.Error(err)
		}
	})
	return rows[0]
}

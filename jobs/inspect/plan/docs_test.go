package plan_test

import (
	"context"
	"path/filepath"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/run/summary"
)

// TestSizing: the formulas by which docs/operations.md sizes a machine are right for an example. Its page may put them
// into any words.
func TestSizing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it sorts 100,000 rows twice")
	}
	const (
		enough, spill      = 2.4, 1.1  // times the bytes of the sort: the memory without spilling, the disk with it
		perColumn, perCell = 1, 20     // bytes besides the values of a row, and those of a KeyValue
		least, most        = 0.05, 0.6 // times the KeyValues: the HFiles
	)
	const rows, columns = 100_000, 18
	dir := jobdir.Check(t, jobdir.CheckJob, rows)
	r, err := plan.Run(context.Background(), jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{WorkDir: dir}, plan.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key, values, names := r.KeyBytes.Mean, float64(r.Shares.Value)/rows, float64(r.Shares.Family+r.Shares.Qualifier)/float64(r.Cells)
	size := rows * (key + values + perColumn*columns)
	within := func(what string, got, from, to float64) {
		t.Helper()
		t.Logf("%s: %.0f, by the formula %.0f to %.0f", what, got, from, to)
		if got < from || got > to {
			t.Errorf("%s: %.0f, by the formula %.0f to %.0f", what, got, from, to)
		}
	}

	var fits *summary.Summary
	for range 5 { // on a busy machine one core may read more than the formula has for it
		fits = runtest.Must(t, jobtest.Check(t, dir, filepath.Join(t.TempDir(), "out")), options.Options{WorkDir: dir, Memory: int64(enough * size)})
		if fits.Sort.Spilled == 0 {
			break
		}
	}
	within("bytes of the sort", float64(fits.Sort.Bytes), 0.95*size, 1.05*size)
	within("spilled with enough memory", float64(fits.Sort.Spilled), 0, 0)
	var raw, files float64
	for _, f := range fits.Files {
		raw += float64(f.Raw)
		files += float64(f.Bytes)
	}
	keyValues := float64(r.Cells)*(perCell+key+names) + values*rows
	within("KeyValues", raw, 0.99*keyValues, 1.01*keyValues)
	within("HFiles", files, least*keyValues, most*keyValues)

	small := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(t.TempDir(), "out")), options.Options{WorkDir: dir, Memory: options.MinMemory})
	within("spilled with little memory", float64(small.Sort.Spilled), 0.5*size, spill*size)
}

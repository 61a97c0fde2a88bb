package jobs

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
)

// TestPlanOfParquet: a sample of a file's row groups, compared with a run.
func TestPlanOfParquet(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a job")
	}
	job := strings.Replace(strings.Replace(jobdir.CheckJob, "  record_delimiter: '\\x10'\n", "", 1), "input:\n", "input:\n  format: parquet\n", 1)
	dir := jobdir.Of(t, job, nil)
	jobdir.CheckParquet(t, filepath.Join(dir, "in/2026-11-20/part-0"), 16, 4000)
	r := mustPlan(t, jobtest.Check(t, dir, "out"), plan.Options{Sample: 6400})
	s := runtest.Must(t, jobtest.Check(t, dir, "out"), options.Options{WorkDir: dir})
	var size int64
	for _, f := range s.Files {
		size += f.Bytes
	}
	off := float64(r.HFiles.Bytes)/float64(size) - 1
	t.Logf("%s: estimated %d, written %d bytes: %+.2f%%", r.How, r.HFiles.Bytes, size, 100*off)
	if !r.Sample || r.RowsRead != 6400 || math.Abs(float64(r.Rows)/64_000-1) > 0.05 || math.Abs(off) > 0.1 {
		t.Errorf("%d of %d rows read, off by %+.1f%%", r.RowsRead, r.Rows, 100*off)
	}
}

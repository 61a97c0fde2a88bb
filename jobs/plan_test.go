package jobs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// TestRunWithPlannedRegions: a run whose splits follow from the input gives the same files whatever the cores, and verifies.
func TestRunWithPlannedRegions(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "md5(user, 4) + id"), jobdir.Numbers(20_000))
	j := jobtest.Check(t, dir, filepath.Join(dir, "a"))
	here, err := site.Open(options.Options{}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := targets.Of(context.Background(), j, here, jobtest.Source(t, j), nil, nil, options.Options{Say: func(string) {}})
	if err != nil || len(planned.Splits) != 0 {
		t.Fatalf("20,000 small rows are cut: %+v, %v", planned, err)
	}
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); s.Books.Written != 20_000 || len(s.Regions) != 1 {
		t.Errorf("%d rows in %d regions", s.Books.Written, len(s.Regions))
	}
	dir = jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 7) + id"), jobdir.Numbers(20_000))
	j = jobtest.Check(t, dir, filepath.Join(dir, "a"))
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); len(s.Regions) != 7 || s.Books.Written != 20_000 {
		t.Errorf("%d rows in %d regions, want one a salt", s.Books.Written, len(s.Regions))
	}
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); s.Status != failure.StatusNothing {
		t.Errorf("again: %s", s.Status)
	}
	if v, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || v.Rows != 20_000 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	_, err = jobfile.Read(jobdir.Write(t, strings.Replace(fmt.Sprintf(jobdir.NumbersJob, "id"), "output: out/${date}", "output: hdfs:///out\nload: true", 1)), jobfile.ReadOptions{Date: jobdir.Date})
	if err == nil || !strings.Contains(err.Error(), "set regions.from to table, not plan") {
		t.Errorf("planned regions and a load: %v", err)
	}
}

package plan_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/spec/jobfile"
)

// TestHistoryInOneRun: a glob over the folders of many dates, with each row's own time, gives each region one file.
// Plan advises it for a range, and points out a glob whose rows get one timestamp.
func TestHistoryInOneRun(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	for i := range 5 {
		to := filepath.Join(dir, "in", jobdir.Date.AddDate(0, 0, -i-1).Format(time.DateOnly))
		if err := os.CopyFS(to, os.DirFS(filepath.Join(dir, "in/2026-11-20"))); err != nil {
			t.Fatal(err)
		}
	}
	read := func(text string) *jobfile.Job {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return jobtest.Check(t, dir, filepath.Join(dir, "out"))
	}
	found := func(j *jobfile.Job, dates int) []string {
		var codes []string
		for _, f := range plan.MustPlan(t, j, plan.PlanOptions{Dates: dates}).Checks {
			if strings.HasPrefix(f.Code, "history-") {
				codes = append(codes, f.Code)
			}
		}
		return codes
	}
	if got := found(read(jobdir.CheckJob), 31); !slices.Equal(got, []string{"history-dates"}) {
		t.Errorf("31 dates: %v", got)
	}
	glob := strings.Replace(jobdir.CheckJob, "in/${date}", "in/2026-11-*", 1)
	if got := found(read(glob), 0); !slices.Equal(got, []string{"history-timestamp"}) {
		t.Errorf("a glob: %v", got)
	}
	j := read(glob + "timestamp: column:created_at\ncolumns_map: {created_at: {type: timestamp, zone: Asia/Shanghai}}\n")
	if got := found(j, 0); got != nil {
		t.Errorf("a glob with times of its rows: %v", got)
	}
	s := runtest.Must(t, j, options.Options{})
	if s.Counts.Read != 6*400 || s.Counts.Written != 400 || s.Counts.Differing != 0 || len(s.Files) != 10 {
		t.Errorf("counts %v, %d files", s.Counts, len(s.Files))
	}
	if _, err := verify.Job(t.Context(), j, options.Options{}, false); err != nil {
		t.Error(err)
	}
}

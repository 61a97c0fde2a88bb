package jobs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/jobs/base/options"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

func writeJob(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var date20 = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// Run runs a job in this process.
func Run(ctx context.Context, j *jobfile.Job, o options.Options) (*summary.Summary, error) {
	return RunBy(ctx, nil, j, o)
}

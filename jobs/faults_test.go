package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// TestForceBeginsAnew: --force helps where the run of the same input can't continue, however often it was tried without.
func TestForceBeginsAnew(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	runtest.Crash(t, dir, options.Recorded, 4)
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(out, m.Files()[0].Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{}); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "--force") {
		t.Errorf("without --force: %v", err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Force: true})
	runtest.SameFiles(t, "begun anew", base, out)
}

// TestMaxSizeOfTheSiteIsRecorded: where hbase.hregion.max.filesize has changed, the files of an unfinished run are written
// again.
func TestMaxSizeOfTheSiteIsRecorded(t *testing.T) {
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, ", max_size: 10GiB", "", 1), 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	small := options.Options{Properties: map[string]string{"hbase.hregion.max.filesize": "100000"}}
	runtest.Must(t, jobtest.Check(t, dir, base), small)
	runtest.Crash(t, dir, options.Recorded, 4)
	runtest.Must(t, jobtest.Check(t, dir, out), small)
	runtest.SameFiles(t, "with another size", base, out)
}

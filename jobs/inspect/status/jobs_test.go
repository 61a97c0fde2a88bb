package status_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/program"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/status"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// statusOf is the status of a job.
func statusOf(t *testing.T, j *jobfile.Job, history bool, o options.Options) []*status.Run {
	t.Helper()
	r, err := status.Collect(context.Background(), []status.Wanted{{Job: j, History: history}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Runs
}

func wantStatus(t *testing.T, what string, r *status.Run, state, waits string) {
	t.Helper()
	if r.State != state || !strings.Contains(r.Waits, waits) || waits == "" && r.Waits != "" {
		t.Errorf("%s: %+v, want %s that waits for %q", what, *r, state, waits)
	}
}

// TestStatusOfFiles: a job that loads nothing.
func TestStatusOfFiles(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 50)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	wantStatus(t, "before", statusOf(t, j, false, options.Options{})[0], status.None, "the input is there")
	if _, err := os.Stat(out); err == nil {
		t.Error("the output was made")
	}
	s := runtest.Must(t, j, options.Options{})
	r := statusOf(t, j, false, options.Options{})[0]
	wantStatus(t, "written", r, manifest.Written, "load: false")
	if r.Rows != s.Counts.Written || r.Rows == 0 || r.ID != s.Run.ID || *r.Digest != s.Digest || r.Loaded != 0 || r.Finished.IsZero() {
		t.Errorf("%+v", *r)
	}
	lock, err := lock.Acquire(t.Context(), storage.Local, out, lock.Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if r := statusOf(t, j, false, options.Options{})[0]; !strings.Contains(r.Running, "user tina") {
		t.Errorf("locked: %+v", *r)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	name := filepath.Join(out, manifest.Name)
	if err := os.WriteFile(name, []byte(strings.Replace(string(testfs.Read(t, name)), "written", "loading", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := statusOf(t, j, false, options.Options{})[0]; r.State != status.Damaged || r.Error == "" {
		t.Errorf("a changed manifest: %+v", *r)
	}
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "without an input", statusOf(t, j, false, options.Options{})[0], status.None, "does not exist")
}

// TestStatusOfLoads: what the ledger says of loads, with and without their output.
func TestStatusOfLoads(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 60, 96)
	l.Night(t, "2026-11-21", 60, 97)
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	wantStatus(t, "written", statusOf(t, l.Job(t, livetest.Night20), false, l.Options())[0], manifest.Written, "not loaded")
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	runtest.Must(t, l.Job(t, "2026-11-21"), l.Options())
	check := func(what string, r *status.Run) {
		t.Helper()
		wantStatus(t, what, r, manifest.Loaded, "")
		if r.Rows != 60 || r.Loaded != r.Files || r.Files == 0 || *r.Digest != s.Digest || r.Date != livetest.Night20 || r.ID != s.Run.ID || r.When.IsZero() ||
			r.User == "" || r.Host == "" || r.Version != program.ThisBuild().Version || len(r.Program) != 64 {
			t.Errorf("%s: %+v", what, *r)
		}
	}
	check("loaded", statusOf(t, l.Job(t, livetest.Night20), false, l.Options())[0])
	l.WithoutOutput(t, livetest.Night20)
	check("its output gone", statusOf(t, l.Job(t, livetest.Night20), false, l.Options())[0])

	undated, err := jobfile.Read(filepath.Join(l.Folder, "check.yaml"), jobfile.ReadOptions{DateOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	all := statusOf(t, undated, true, l.Options())
	if len(all) != 2 || all[1].Date != "2026-11-21" {
		t.Fatalf("%d dates", len(all))
	}
	check("of all dates", all[0])

	at, err := site.Open(l.Options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	book, err := at.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	e, err := book.Read(manifest.New(l.Job(t, livetest.Night20)).LedgerKey(""))
	if err != nil || e == nil {
		t.Fatal(err)
	}
	e.State = manifest.Loading
	if err := book.Write(e, ""); err != nil {
		t.Fatal(err)
	}
	if r := statusOf(t, undated, true, l.Options())[0]; r.State != manifest.Loading || !strings.Contains(r.Waits, "run it again") || r.Loaded != 0 {
		t.Errorf("an interrupted load: %+v", *r)
	}
}

package status

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// newJob is a job that loads nothing, in a folder with the given files.
func newJob(t *testing.T, files map[string]string) *jobfile.Job {
	t.Helper()
	files["job.yaml"] = "table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: in, columns: [id, a]}\nrowkey: id\n" +
		"regions: {from: splits, splits: ['5']}\nhfile: {}\noutput: out\nload: false\n"
	j, err := jobfile.Read(filepath.Join(testfs.Tree(t, files), "job.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// saveManifest writes a manifest of the job into its output.
func saveManifest(t *testing.T, j *jobfile.Job, change func(*manifest.Manifest)) {
	t.Helper()
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Written, Run: j.Info(), JobHash: j.Hash(), MadeFor: manifest.MadeFor{Splits: []string{"5"}}}
	m.Run.ID, m.Counts.Written = "0123456789abcdef", 7
	change(m)
	text, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(j.Dir, "out")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifest.Name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOf: the status of a run is that of its output's manifest; without one, it says whether the input exists.
func TestOf(t *testing.T) {
	t.Parallel()
	keep := func(*manifest.Manifest) {}
	for name, c := range map[string]struct {
		files       map[string]string
		change      func(*manifest.Manifest)
		state, text string
		rows        int64
	}{
		"no input":    {map[string]string{}, nil, None, "does not exist; check input.path", 0},
		"input":       {map[string]string{"in/part": "1\x012\n"}, nil, None, "the input is there: run it", 0},
		"written":     {map[string]string{}, keep, manifest.Written, "load: false", 7},
		"writing":     {map[string]string{}, func(m *manifest.Manifest) { m.State = manifest.Writing }, manifest.Writing, "it failed or was stopped", 7},
		"another run": {map[string]string{}, func(m *manifest.Manifest) { m.JobHash = strings.Repeat("0", 64) }, None, "the output has another run", 0},
		"damaged":     {map[string]string{"out/" + manifest.Name: "{"}, nil, Damaged, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, c.files)
			if c.change != nil {
				saveManifest(t, j, c.change)
			}
			report, err := Collect(t.Context(), []Wanted{{Job: j}}, options.Options{})
			if err != nil || len(report.Runs) != 1 || report.Status != failure.StatusDone {
				t.Fatalf("%+v, %v", report, err)
			}
			r := report.Runs[0]
			if r.State != c.state || !strings.Contains(r.Waits, c.text) || r.Rows != c.rows || (r.Error != "") != (c.state == Damaged) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestLedgerAndManifest: an unfinished run in the output counts more than what the ledger has; without an output, the
// ledger says all.
func TestLedgerAndManifest(t *testing.T) {
	t.Parallel()
	e := &ledger.Entry{State: ledger.Loaded, Run: "loaded", Output: "file:/out", User: "u", Files: make([]ledger.LoadedFile, 3), Counts: json.RawMessage(`{"rows_written": 9}`)}
	for _, c := range []struct {
		run  Run
		want string
	}{
		{Run{State: None}, "loaded loaded 9 3/3 u "},
		{Run{State: manifest.Writing, ID: "new"}, "writing new 0 0/0 u it failed or was stopped: run it again to continue, or to see why it can't"},
		{Run{State: manifest.Written, ID: "new"}, "written new 0 0/0 u its files are written but not loaded: run it, or load the output"},
		{Run{State: manifest.Writing, ID: "new", Running: "process 1"}, "writing new 0 0/0 u it is under way"},
	} {
		r := c.run
		r.addLoad(e)
		r.explain()
		if got := fmt.Sprintf("%s %s %d %d/%d %s %s", r.State, r.ID, r.Rows, r.Loaded, r.Files, r.User, r.Waits); got != c.want {
			t.Errorf("%+v: %q, want %q", c.run, got, c.want)
		}
	}
	if n := rowsOf(&ledger.Entry{Counts: json.RawMessage("{")}); n != 0 {
		t.Errorf("counts that can't be read are %d rows", n)
	}
}

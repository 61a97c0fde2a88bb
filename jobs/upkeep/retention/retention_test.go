package retention

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

const day = 24 * time.Hour

// nights are outputs in a folder, and a ledger of loads beside it.
type nights struct {
	dir     string
	ledger  *ledger.Ledger
	options options.Options
	now     time.Time
}

func newNights(t *testing.T) *nights {
	t.Helper()
	dir := t.TempDir()
	book := ledger.Open(storage.Local, filepath.Join(dir, "ledger"))
	return &nights{dir: filepath.Join(dir, "out"), ledger: book, now: time.Now(), options: options.Options{WorkDir: filepath.Join(dir, "work"),
		Properties: map[string]string{"bulkload.ledger.dir": filepath.Join(dir, "ledger")}}}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add makes an output. loaded is its age in the ledger, 0: it is not there; rejects is the age of its rejects,
// likewise.
func (n *nights) add(t *testing.T, name, state string, loaded, rejects time.Duration) {
	t.Helper()
	dir := filepath.Join(n.dir, name)
	check(t, os.MkdirAll(filepath.Join(dir, "f"), 0o755))
	m := &manifest.Manifest{Schema: manifest.Schema, State: state, JobHash: "hash of " + strings.ReplaceAll(name, "/", "-"), MadeFor: manifest.MadeFor{Families: map[string]string{"f": ""}},
		Run: jobfile.RunInfo{Job: "check.yaml", Table: "shop:" + name, Date: "2026-11-20", ID: "run " + name}, Counts: counts.RowCounts{Written: 5}}
	check(t, m.Save(storage.Local, dir, n.dir))
	check(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600))
	if loaded > 0 {
		check(t, n.ledger.Write(&ledger.Entry{State: ledger.Loaded, Table: m.Run.Table, Date: m.Run.Date, JobHash: m.JobHash, Run: m.Run.ID,
			Counts: json.RawMessage("{}"), Inputs: json.RawMessage("[]"), Time: n.now.Add(-loaded)}, ""))
	}
	if rejects > 0 {
		at := filepath.Join(dir, manifest.RejectsDir, "rejects.dat")
		check(t, os.MkdirAll(filepath.Dir(at), 0o700))
		check(t, os.WriteFile(at, []byte("a name"), 0o600))
		check(t, os.Chtimes(at, n.now, n.now.Add(-rejects)))
	}
}

func (n *nights) has(name string) bool {
	_, err := os.Lstat(filepath.Join(n.dir, name))
	return err == nil
}

// TestClean: what was loaded long ago goes, with what is in it; what is under way, not loaded, unknown to the ledger or
// young stays; rejects go by their own rule.
func TestClean(t *testing.T) {
	for _, c := range []struct {
		name                 string
		state                string
		loaded, rejects      time.Duration
		outputRule, rejected time.Duration
		action, reason       string
	}{
		{"old", manifest.Loaded, 31 * day, 0, 30 * day, 0, Deleted, ""},
		{"old-rejects", manifest.Loaded, 31 * day, 31 * day, 30 * day, 0, Deleted, ""},
		{"old-young-rejects", manifest.Loaded, 31 * day, 3 * day, 30 * day, 7 * day, Retained, "rejects are kept"},
		{"young", manifest.Loaded, 29 * day, 0, 30 * day, 7 * day, Retained, "it was loaded on "},
		{"young-rejects", manifest.Loaded, 29 * day, 29 * day, 30 * day, 7 * day, RejectsDeleted, "it was loaded on "},
		{"only-rejects", manifest.Loaded, 31 * day, 8 * day, 0, 7 * day, RejectsDeleted, "--older-than"},
		{"forgotten", manifest.Loaded, 0, 0, 30 * day, 0, Retained, "ledger does not remember"},
		{"written", manifest.Written, 31 * day, 31 * day, 30 * day, 0, Retained, "not loaded"},
		{"written-rejects", manifest.Written, 0, 8 * day, 30 * day, 7 * day, RejectsDeleted, "not loaded"},
		{"loading", manifest.Loading, 31 * day, 0, 30 * day, 7 * day, Retained, "under way"},
		{"writing", manifest.Writing, 31 * day, 0, 30 * day, 7 * day, Retained, "under way"},
		{"failed", manifest.Writing, 0, 8 * day, 30 * day, 7 * day, RejectsDeleted, "under way"},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: " dry"}[dry], func(t *testing.T) {
				n := newNights(t)
				n.add(t, c.name, c.state, c.loaded, c.rejects)
				r, err := Clean(t.Context(), n.dir, Rules{Outputs: c.outputRule, Rejects: c.rejected, DryRun: dry, Now: n.now}, n.options)
				if err != nil || len(r.Outputs) != 1 {
					t.Fatalf("%v: %+v", err, r)
				}
				out := r.Outputs[0]
				if out.Action != c.action || !strings.Contains(out.Reason, c.reason) || (c.reason == "") != (out.Reason == "") {
					t.Errorf("%s: %s", out.Action, out.Reason)
				}
				if gone := !n.has(c.name); gone != (c.action == Deleted && !dry) {
					t.Errorf("the output is gone: %v", gone)
				}
				if kept := n.has(c.name + "/.rejects"); kept != (c.rejects > 0 && (c.action == Retained || dry)) {
					t.Errorf("the rejects are there: %v", kept)
				}
				if c.action != Retained && c.rejects > 0 && r.Freed != int64(len("a name")) {
					t.Errorf("%d bytes are freed", r.Freed)
				}
				if n.has(c.name + "/_lock") {
					t.Error("the lock is left")
				}
			})
		}
	}
}

// TestCleanOriginals: files that a load has cut go when the ledger says that the load of their directory ended long
// ago, and not while the directory has files that were not loaded, or a cut is under way.
func TestCleanOriginals(t *testing.T) {
	n := newNights(t)
	t.Parallel()
	dir := filepath.Join(n.dir, "other")
	original := filepath.Join(dir, ".cut", "f", "one")
	check(t, os.MkdirAll(filepath.Dir(original), 0o755))
	check(t, os.Mkdir(filepath.Join(dir, "f"), 0o755))
	check(t, os.WriteFile(original, []byte("cells"), 0o600))
	cutAt := func(age time.Duration) {
		t.Helper()
		check(t, os.Chtimes(filepath.Dir(original), n.now, n.now.Add(-age)))
	}
	cutAt(36 * day)
	load := func(table, state string, age time.Duration) {
		t.Helper()
		check(t, n.ledger.Write(&ledger.Entry{State: state, Table: table, JobHash: ledger.DirectoryKey(storage.Local.URI(dir)),
			Counts: json.RawMessage("{}"), Inputs: json.RawMessage("[]"), Time: n.now.Add(-age)}, ""))
	}
	clean := func(action, reason string) {
		t.Helper()
		r, err := Clean(t.Context(), n.dir, Rules{Outputs: 30 * day, Now: n.now}, n.options)
		if err != nil || len(r.Outputs) != 1 || r.Outputs[0].Action != action || !strings.Contains(r.Outputs[0].Reason, reason) || r.Outputs[0].State != Cut {
			t.Errorf("want %s, %s: %v: %+v", action, reason, err, r.Outputs)
		}
	}
	clean(Retained, "does not remember its load")
	load("shop:a", ledger.Loaded, 40*day)
	load("b", ledger.Loading, 35*day)
	clean(Retained, "its load into table b is under way")
	load("b", ledger.Loaded, 29*day)
	clean(Retained, "it was loaded on")
	load("b", ledger.Loaded, 35*day)
	for name, reason := range map[string]string{"f/two": "were not loaded", ".cut/_cuts.json": "a cut of its files is under way"} {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		clean(Retained, reason)
		check(t, os.Remove(filepath.Join(dir, name)))
	}
	cutAt(day)
	clean(Retained, "after the last load that this ledger has")
	cutAt(36 * day)
	listed, err := List(n.dir, n.options)
	if err != nil || len(listed.Outputs) != 1 || listed.Outputs[0].Files != 1 || listed.Outputs[0].Bytes != 5 {
		t.Errorf("list: %v: %+v", err, listed.Outputs)
	}
	clean(Deleted, "")
	if n.has("other/.cut") {
		t.Error("the originals are still there")
	}
}

// TestCleanRefuses: without a rule, and in a folder without an output of ours, nothing is deleted.
func TestCleanRefuses(t *testing.T) {
	n := newNights(t)
	check(t, os.MkdirAll(filepath.Join(n.dir, "photos", "f"), 0o755))
	if _, err := Clean(t.Context(), n.dir, Rules{Outputs: day}, n.options); failure.KindOf(err) != failure.Refused {
		t.Errorf("no output: %v", err)
	}
	if _, err := Clean(t.Context(), n.dir, Rules{}, n.options); failure.KindOf(err) != failure.Usage {
		t.Errorf("no rule: %v", err)
	}
	if _, err := List(filepath.Join(n.dir, "missing"), n.options); failure.KindOf(err) != failure.Refused {
		t.Errorf("no folder: %v", err)
	}
	n.add(t, "old", manifest.Loaded, 31*day, 0)
	check(t, os.WriteFile(filepath.Join(n.dir, "old", "f", "notes.txt"), nil, 0o600))
	if r, err := Clean(t.Context(), n.dir, Rules{Outputs: day}, n.options); err != nil || r.Outputs[0].Action != Deleted {
		t.Fatalf("%v: %+v", err, r)
	}
	if !n.has("photos") || !n.has("old/f/notes.txt") || n.has("old/_manifest.json") {
		t.Error("more or less was deleted than what is ours")
	}
}

// TestCleanLocked: an output that another process works in is left alone, and so is one whose manifest was changed.
func TestCleanLocked(t *testing.T) {
	n := newNights(t)
	n.add(t, "locked", manifest.Loaded, 31*day, 0)
	n.add(t, "changed", manifest.Loaded, 31*day, 0)
	n.add(t, "a/deeper/one", manifest.Loaded, 31*day, 0)
	name := filepath.Join(n.dir, "changed", manifest.Name)
	text, err := os.ReadFile(name)
	check(t, err)
	check(t, os.WriteFile(name, []byte(strings.Replace(string(text), "shop:", "show:", 1)), 0o600))
	lock, err := lock.Acquire(t.Context(), storage.Local, filepath.Join(n.dir, "locked"), lock.Request{User: "tina", Lost: func(error) {}})
	check(t, err)
	r, err := Clean(t.Context(), n.dir, Rules{Outputs: day, Now: n.now}, n.options)
	check(t, err)
	check(t, lock.Release())
	got := map[string]string{}
	for _, out := range r.Outputs {
		got[filepath.Base(out.URI)] = out.Action + " " + out.Reason
	}
	if !strings.Contains(got["locked"], "kept ") || !strings.Contains(got["locked"], "is running") ||
		!strings.Contains(got["changed"], "was changed after") || got["one"] != "deleted " || !n.has("locked/_manifest.json") || !n.has("changed/_manifest.json") {
		t.Errorf("%q", got)
	}
	if r, err = List(n.dir, n.options); err != nil || len(r.Outputs) != 2 || r.Outputs[1].Table != "shop:locked" || r.Outputs[1].Rows != 5 || r.Outputs[0].Error == "" {
		t.Errorf("list: %v: %+v", err, r)
	}
}

// TestCleanWorkFolder: what failed runs have left there goes by the rule for rejects.
func TestCleanWorkFolder(t *testing.T) {
	n := newNights(t)
	n.add(t, "night", manifest.Loaded, day, 0)
	for name, age := range map[string]time.Duration{checkpoint.Prefix + "old": 8 * day, checkpoint.Prefix + "young": 6 * day, "another": 9 * day} {
		dir := filepath.Join(n.options.WorkDir, name)
		check(t, os.MkdirAll(dir, 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "rejects-001"), []byte("a name"), 0o600))
		check(t, os.Chtimes(dir, n.now, n.now.Add(-age)))
	}
	old := filepath.Join(n.options.WorkDir, checkpoint.Prefix+"old")
	for _, dry := range []bool{true, false} {
		r, err := Clean(t.Context(), n.dir, Rules{Rejects: 7 * day, DryRun: dry}, n.options)
		check(t, err)
		left, err := os.ReadDir(n.options.WorkDir)
		check(t, err)
		if len(r.Work) != 1 || r.Work[0] != old || len(left) != map[bool]int{true: 3, false: 2}[dry] {
			t.Errorf("dry %v: %q, %d are left", dry, r.Work, len(left))
		}
	}
}

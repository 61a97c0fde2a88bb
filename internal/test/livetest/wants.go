package livetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
)

// Findings makes the checks of a night. It returns them by name, only the worst of several with the same name, and the
// error of the worst of all.
func (l *Live) Findings(t *testing.T, date string, o options.Options) (map[string]preflight.CheckResult, error) {
	t.Helper()
	o, err := o.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	found, err := run.Check(t.Context(), l.Job(t, date), o)
	if failed := found.Failed(); err == nil && len(failed) > 0 {
		_, err = failed.Worst()
	}
	all := map[string]preflight.CheckResult{}
	for _, f := range found {
		if old, ok := all[f.Name]; !ok || old.State != preflight.Failed {
			all[f.Name] = f
		}
	}
	return all, err
}

// WantFinding compares a check's state, and looks for texts in its message.
func WantFinding(t *testing.T, all map[string]preflight.CheckResult, name string, state preflight.State, texts ...string) {
	t.Helper()
	f := all[name]
	if f.State != state {
		t.Errorf("%s is %q, want %q: %s", name, f.State, state, f.Text())
	}
	for _, text := range texts {
		if !strings.Contains(f.Text()+f.Code, text) {
			t.Errorf("%s does not say %q: %s [%s]", name, text, f.Text(), f.Code)
		}
	}
}

// Expected are the cells that Java computes for a night, one per line.
func (l *Live) Expected(t *testing.T, date string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "expected")
	l.Ask(t, "expect", filepath.Join(l.Folder, "in", date, "part-m-00000"), strings.Join(sample.CheckColumns, ","), "check_id", "id", "10", "f",
		fmt.Sprint(l.Job(t, date).Timestamp), "-o", out)
	return testfs.Lines(t, out)
}

// WantTable compares every cell of every version in the table, read by HBase's own client.
func (l *Live) WantTable(t *testing.T, what string, want ...[]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scanned")
	l.Ask(t, "scan", l.Table, "-o", out)
	got, all := testfs.Lines(t, out), slices.Concat(want...)
	slices.Sort(all)
	if len(got) != len(all) {
		t.Errorf("%s: the table has %d cells, want %d", what, len(got), len(all))
	}
	for i := range min(len(got), len(all)) {
		if got[i] != all[i] {
			t.Fatalf("%s: cell %d is\n%s\nwant\n%s", what, i, got[i], all[i])
		}
	}
}

// WantRowsOfAKey gets one query key's rows from the table.
func (l *Live) WantRowsOfAKey(t *testing.T, date string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(l.Folder, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(content), "\x01")[1]
	want := strings.Count(string(content), "\x01"+key+"\x01")
	r, err := lookup.Get(context.Background(), l.Job(t, date), l.Options(), []string{key}, "")
	if err != nil || len(r.Rows) != want || want == 0 {
		t.Errorf("get %s: %d rows, want %d (%v)", key, len(r.Rows), want, err)
	}
	for _, row := range r.Rows {
		if i := slices.IndexFunc(row.Cells, func(c lookup.GotCell) bool { return c.Qualifier == "check_id" }); i < 0 || row.Cells[i].Value != key {
			t.Errorf("get %s: row %s is another key's", key, row.Row)
		}
	}
}

// WantStoreFiles counts the files that were loaded into the table, without halves of regions that have since been
// split.
func (l *Live) WantStoreFiles(t *testing.T, want int) {
	t.Helper()
	n := 0
	for _, line := range strings.Fields(l.Ask(t, "files", l.Table)) {
		if !strings.Contains(line[strings.LastIndexByte(line, '/'):], ".") {
			n++
		}
	}
	if n != want {
		t.Errorf("the table has %d store files, want %d", n, want)
	}
}

// WantDigest compares the table with what Java computes for a night.
func (l *Live) WantDigest(t *testing.T, what, date string) {
	t.Helper()
	want := l.Ask(t, "expect", filepath.Join(l.Folder, "in", date, "part-m-00000"), strings.Join(sample.CheckColumns, ","), "check_id", "id", "10", "f",
		fmt.Sprint(l.Job(t, date).Timestamp), "-digest")
	if got := l.Ask(t, "scan", l.Table, "-digest"); got != want {
		t.Errorf("%s: the table has %s, want %s", what, strings.TrimSpace(got), strings.TrimSpace(want))
	}
}

// WantCode runs a night's job, which must end with a code.
func (l *Live) WantCode(t *testing.T, what, date string, want errcode.Code) {
	t.Helper()
	s, err := run.Job(context.Background(), nil, l.Job(t, date), l.Options())
	if failure.CodeOf(err) != want || failure.KindOf(err) != failure.Refused {
		t.Errorf("%s: night %s is %s, %v; want %v", what, date, s.Status, err, want)
	}
}

// WantNothing runs a night's job, which must have nothing to do.
func (l *Live) WantNothing(t *testing.T, what, date string) {
	t.Helper()
	if s, err := run.Job(context.Background(), nil, l.Job(t, date), l.Options()); err != nil || s.Status != failure.StatusNothing {
		t.Errorf("%s: night %s is %s, %v", what, date, s.Status, err)
	}
}

package jobs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

// TestEmptyNightGivesWay: a night whose export was empty is loaded as soon as it is not, also where its output was deleted
// in the meantime; a night that was exported anew is loaded anew when that is asked for.
func TestEmptyNightGivesWay(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const second = "2026-11-21"
	reload := func(what, night string, change options.OnChange, status string, rows int64) {
		t.Helper()
		o := l.Options()
		o.OnChange = change
		if s := runtest.Must(t, l.Job(t, night), o); s.Status != status || s.Books.Written != rows {
			t.Errorf("%s: %s, books %v", what, s.Status, s.Books)
		}
	}
	l.Night(t, livetest.Night20, 0, 71)
	reload("empty", livetest.Night20, "", failure.StatusEmpty, 0)
	l.Night(t, livetest.Night20, 500, 71)
	reload("exported late", livetest.Night20, "", failure.StatusDone, 500)
	l.Night(t, second, 0, 72)
	reload("empty", second, "", failure.StatusEmpty, 0)
	l.WithoutOutput(t, second)
	l.Night(t, second, 500, 72)
	reload("exported late, its output gone", second, "", failure.StatusDone, 500)

	for i, what := range []string{"exported anew", "exported anew, its output gone"} {
		l.Night(t, livetest.Night20, 600+i, 71)
		if i > 0 {
			l.WithoutOutput(t, livetest.Night20)
		}
		if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "--on-change reload") {
			t.Errorf("%s: %v", what, err)
		}
		reload(what, livetest.Night20, options.Reload, failure.StatusDone, int64(600+i))
	}
	reload("unchanged", livetest.Night20, options.Reload, failure.StatusNothing, 601)
	l.WantTable(t, "two nights", l.Expected(t, livetest.Night20), l.Expected(t, second))
}

// TestStaleCells: a night is reloaded from an export that lacks a row and has a null in another. Both stay in the table, and
// are listed without a look at the other nights.
func TestStaleCells(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	job := filepath.Join(l.Folder, "check.yaml")
	if err := os.WriteFile(job, bytes.Replace(testfs.Read(t, job), []byte("max_rejects: 0"), []byte("null: '\\N'"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Night(t, livetest.Night20, 60, 81)
	l.Night(t, "2026-11-21", 60, 82)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	runtest.Must(t, l.Job(t, "2026-11-21"), l.Options())
	name := filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000")
	records := strings.SplitAfter(string(testfs.Read(t, name)), "\x10")[1:]
	fields := strings.Split(records[0], "\x01")
	fields[11] = "\\N" // city
	records[0] = strings.Join(fields, "\x01")
	if err := os.WriteFile(name, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	o, said := l.Options(), []string(nil)
	o.OnChange = options.Reload
	o.Say = func(text string) { said = append(said, text) }
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	if want := job + " --date 2026-11-20 --live --stale FILE counts and lists them"; !strings.Contains(strings.Join(said, "\n"), want) {
		t.Errorf("the reload does not say %q: %q", want, said)
	}

	said = nil
	file := filepath.Join(l.Folder, "stale")
	r, err := verify.ListStale(context.Background(), l.Job(t, livetest.Night20), o, file)
	if err != nil || r.Stale.Rows != 1 || r.Stale.Cells != 18+1 || r.Rows != 59 || r.Missing+r.Different > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(strings.Join(said, "\n"), "reading the cells with timestamp 1795132800000 from the 10 regions of table "+l.Table) {
		t.Errorf("said %q", said)
	}
	lines := testfs.Lines(t, file)
	cells := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "cell\t") })
	if len(lines) != 19 || len(cells) != 1 || !strings.Contains(cells[0], "\tf:city\t1795132800000") || !strings.Contains(cells[0], fields[0]+"\t") {
		t.Errorf("%d lines, %q", len(lines), cells)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	// To the sums of what was loaded the stale cells are too many; the source shows that nothing is wrong with its own.
	for _, live := range []bool{true, false} {
		said = nil
		if r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), o, live); err != nil || r.Status != failure.StatusDone || r.Rows != 59 || r.Extra < 1 ||
			strings.Contains(strings.Join(said, "\n"), "So table and source are compared") == live {
			t.Errorf("live %v: %+v, %v, said %q", live, r, err, said)
		}
	}
}

package verify_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/spec/jobfile"
)

// TestStaleCells: a night is reloaded from an export that lacks a row and has a null in another. Both stay in the
// table, and are listed without a look at the other nights.
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

// TestVerifyAfterALoad: without the source and without the output, the table's cells are compared with what was loaded;
// a row that is gone is found. Where another night has later versions, the source has to show which cells are gone.
func TestVerifyAfterALoad(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 300, 98)
	l.Night(t, "2026-11-21", 300, 99)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	runtest.Must(t, l.Job(t, "2026-11-21"), l.Options())
	l.WithoutOutput(t, livetest.Night20)
	in := filepath.Join(l.Folder, "in")
	if err := os.Rename(in, in+"-archived"); err != nil {
		t.Fatal(err)
	}
	o := l.Options()
	var said runtest.Notes
	o.Say = said.Say
	r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), o, false)
	if err != nil || r.Digest != s.Digest || r.Rows != s.Counts.Written || r.Cells != s.Counts.CellsWritten || r.Against != "table "+l.Table {
		t.Errorf("%+v, %v", r, err)
	}
	if !said.Has("of 300 rows with timestamp") || !said.Has("10 range scans (at most ") ||
		!said.Has("the source is not read") || said.Has("other loads") {
		t.Errorf("said %q", said.Said)
	}
	l.Ask(t, "delete", l.Table, s.Files[3].FirstRow)
	r, err = verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), false)
	if failure.CodeOf(err) != errcode.VerifySource || !strings.Contains(err.Error(), s.Run.ID) || r.Rows != s.Counts.Written-1 || r.Status != failure.StatusFailed {
		t.Errorf("a row is gone, and so is the source: %+v, %v", r, err)
	}
	if err := os.Rename(in+"-archived", in); err != nil {
		t.Fatal(err)
	}
	r, err = verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), false)
	if failure.KindOf(err) != failure.Differs || r.Rows != s.Counts.Written || r.Missing != 18 || r.Superseded != 0 {
		t.Errorf("a row is gone: %+v, %v", r, err)
	}
	l.Night(t, livetest.Night20, 299, 98)
	r, err = verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), false)
	if failure.CodeOf(err) != errcode.VerifySource || r.Missing != 0 {
		t.Errorf("a row is gone, and the source has changed: %+v, %v", r, err)
	}
}

// TestVerifySupersededCells: cells of a night that a later one has replaced are counted apart and are no difference,
// before and after a compaction drops them, whether their values are the same or not. What is gone without a newer
// version is a difference, and is listed.
func TestVerifySupersededCells(t *testing.T) {
	// rows of the first night; of these, rows that the second night lacks, and others whose values it changes
	const rows, old, changed = 300, 20, 5
	const cells = 18 // of a row
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "VERSIONS=1")
	l.Night(t, livetest.Night20, rows, 90)
	l.Night(t, livetest.Night21, 40, 91)
	part := func(date string) string { return filepath.Join(l.Folder, "in", date, "part-m-00000") }
	records := strings.SplitAfter(string(testfs.Read(t, part(livetest.Night20))), "\x10")[old:rows]
	for i := range changed {
		fields := strings.Split(records[i], "\x01")
		fields[11] += " corrected"
		records[i] = strings.Join(fields, "\x01")
	}
	if err := os.WriteFile(part(livetest.Night21), append(testfs.Read(t, part(livetest.Night21)), strings.Join(records, "")...), 0o600); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	runtest.Must(t, l.Job(t, livetest.Night21), l.Options())
	deleteRow := func(record int) {
		t.Helper()
		id, _, _ := strings.Cut(strings.SplitAfter(string(testfs.Read(t, part(livetest.Night20))), "\x10")[record], "\x01")
		for _, line := range l.Expected(t, livetest.Night20) {
			if key, err := hex.DecodeString(line[:strings.IndexByte(line, '\t')]); err == nil && strings.HasSuffix(string(key), id) {
				l.Ask(t, "delete", l.Table, string(key))
				return
			}
		}
		t.Fatalf("no row of %s", id)
	}
	check := func(what, date string, equal, superseded, missing int64, ways ...bool) {
		t.Helper()
		for _, live := range ways {
			r, err := verify.Job(context.Background(), l.Job(t, date), l.Options(), live)
			if (missing == 0) != (err == nil) || missing > 0 && failure.KindOf(err) != failure.Differs || (r.Status == failure.StatusDone) != (err == nil) ||
				r.Cells != equal || r.Superseded != superseded || r.Missing != missing || r.Different != 0 {
				t.Errorf("%s, live %v: %+v, %v", what, live, r, err)
			}
			for _, d := range r.Differences {
				if d.What != "missing" {
					t.Errorf("%s, live %v: listed is %v", what, live, d)
				}
			}
		}
	}
	check("before a compaction", livetest.Night20, old*cells, (rows-old)*cells, 0, true)
	check("before a compaction, by the sums", livetest.Night20, rows*cells, 0, 0, false)
	l.Ask(t, "compact", l.Table)
	check("after a compaction", livetest.Night20, old*cells, (rows-old)*cells, 0, true, false)
	check("the later night", livetest.Night21, (40+rows-old)*cells, 0, 0, true, false)
	file := filepath.Join(l.Folder, "stale")
	if r, err := verify.ListStale(context.Background(), l.Job(t, livetest.Night20), l.Options(), file); err != nil || r.Superseded != (rows-old)*cells || r.Cells != old*cells || r.Stale.Cells != 0 || r.Rows != rows {
		t.Errorf("the stale cells: %+v, %v", r, err)
	}

	deleteRow(3)
	check("a row of the first night is deleted", livetest.Night20, (old-1)*cells, (rows-old)*cells, cells, true, false)
	check("the later night did not have it", livetest.Night21, (40+rows-old)*cells, 0, 0, true, false)
	deleteRow(old + changed + 1)
	check("a row of both nights is deleted, too", livetest.Night20, (old-1)*cells, (rows-old-1)*cells, 2*cells, true, false)
	if r, err := verify.ListStale(context.Background(), l.Job(t, livetest.Night20), l.Options(), file); failure.KindOf(err) != failure.Differs || r.Missing != 2*cells || r.Superseded != (rows-old-1)*cells {
		t.Errorf("the stale cells where two rows are deleted: %+v, %v", r, err)
	}
	l.Ask(t, "compact", l.Table)
	check("and the delete markers are compacted away", livetest.Night20, (old-1)*cells, (rows-old-1)*cells, 2*cells, true, false)

	l.Ask(t, "truncate", l.Table, "-preserve")
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night21), o)
	check("the table was truncated, and only the later night loaded again", livetest.Night20, 0, (rows-old)*cells, old*cells, true, false)
	l.Ask(t, "alter", l.Table, "f", "TTL=5")
	for _, live := range []bool{true, false} {
		if r, err := verify.Job(context.Background(), l.Job(t, livetest.Night21), l.Options(), live); failure.KindOf(err) != failure.Differs || r.Superseded != 0 {
			t.Errorf("expired, live %v: %+v, %v", live, r, err)
		}
	}
}

// TestKilledVerificationGoesOn: what a killed verification has read and saved is not read again, unless the table was
// disabled since.
func TestKilledVerificationGoesOn(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 300, 97)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	check := func(what string, goesOn bool, most int) (scans int) {
		t.Helper()
		var said runtest.Notes
		o := l.Options()
		o.Say = said.Say
		o.Log = slog.New(slog.NewJSONHandler(runtest.LinesWith{Text: `"method":"Scan"`, Count: &scans}, &slog.HandlerOptions{Level: options.LevelCall}))
		r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), o, false)
		if err != nil || r.Digest != s.Digest || r.Rows != 300 || said.Has("going on with the verification") != goesOn || scans > most {
			t.Errorf("%s: %+v, %v, %d scans, said %q", what, r, err, scans, said.Said)
		}
		return scans
	}
	all := check("not killed", false, 1000)
	l.Crash(t, livetest.Night20, options.RangesSaved, 7)
	check("killed", true, all-6)
	check("after its end", false, all)
	l.Crash(t, livetest.Night20, options.RangesSaved, 2)
	l.Ask(t, "disable", l.Table)
	l.Ask(t, "enable", l.Table)
	check("disabled since", false, 1000)
}

// TestKilledVerificationOfAChangedTable: where rows go or come between a killed verification and its continuation, the
// verdict is that of a new one; of deleted rows, which nobody records, it says since when they are not known.
func TestKilledVerificationOfAChangedTable(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 300, 92)
	o := l.Options()
	o.NoLoad = true
	s := runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.Ask(t, "fs", "-cp", l.Out, l.Out+"_copy")
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	var said runtest.Notes
	again := func() (*verify.Verification, error) {
		said.Said = nil
		o := l.Options()
		o.Say = said.Say
		return verify.Job(context.Background(), l.Job(t, livetest.Night20), o, false)
	}
	killed := func() { l.Crash(t, livetest.Night20, options.RangesSaved, 9) } // of ten ranges
	first := s.Files[0]

	killed()
	l.Ask(t, "truncate-region", l.Table, first.FirstRow)
	if r, err := again(); failure.KindOf(err) != failure.Differs || r.Rows != 300-first.Rows {
		t.Errorf("a region was truncated: %+v, %v", r, err)
	}

	killed()
	l.Ask(t, "load", l.Out+"_copy/"+livetest.Night20, l.Table)
	if r, err := again(); err != nil || r.Rows != 300 || r.Digest != s.Digest || r.Resumed != nil || !said.Has("reading again the") {
		t.Errorf("another tool has loaded the rows again: %+v, %v, said %q", r, err, said.Said)
	}

	l.Ask(t, "truncate-region", l.Table, first.FirstRow)
	killed()
	o = l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	if r, err := again(); err != nil || r.Rows != 300 || r.Resumed != nil || said.Has("going on with") {
		t.Errorf("loaded again: %+v, %v, said %q", r, err, said.Said)
	}

	killed()
	before := time.Now()
	l.Ask(t, "delete", l.Table, first.FirstRow)
	if r, err := again(); err != nil || r.Rows != 300 || r.Resumed == nil || r.Resumed.Rows < 200 || !r.Resumed.Since.Before(before) {
		t.Errorf("a row was deleted since: %+v, %v", r, err)
	}
	if r, err := again(); failure.KindOf(err) != failure.Differs || r.Rows != 299 || r.Resumed != nil {
		t.Errorf("a new verification after the deletion: %+v, %v", r, err)
	}
}

// TestVerifyNamesOtherLoads: loads of cells with the same timestamp are named, those of other timestamps are not; and
// of a wide table only the job's families count.
func TestVerifyNamesOtherLoads(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f,g", "1,2,3,4,5,6,7,8,9")
	l.Night(t, livetest.Night20, 100, 96)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Night(t, livetest.Night21, 100, 95)
	runtest.Must(t, l.Job(t, livetest.Night21), l.Options())
	l.Rewrite(t, "rowkey: salt(check_id, 10) + md5(check_id) + id\nquery: [check_id]", "rowkey: salt(check_id, 10) + md5(check_id)\nwide: {qualifier: id}\nquery: [check_id]")
	l.Rewrite(t, "family: f", "family: g\ncells: [hit_flag]")
	l.Rewrite(t, l.Out, l.Out+"-wide")
	wide := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), false)
	if err != nil || r.Digest != wide.Digest || len(r.Sharers) != 1 || !strings.Contains(r.Sharers[0], s.Run.ID) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLiveReadsNoEarlierNights: of a table that has far more rows of an earlier night, spread over the same regions, a
// comparison meets only those of its own. The whole table is read only on request. Missing rows are found either way.
func TestLiveReadsNoEarlierNights(t *testing.T) {
	const rows, earlier = 200, 20_000
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=NONE")
	l.Night(t, livetest.Night20, earlier, 94)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Night(t, livetest.Night21, rows, 93)
	s := runtest.Must(t, l.Job(t, livetest.Night21), l.Options())
	type verification func(context.Context, *jobfile.Job, options.Options) (*verify.Verification, error)
	check := func(what string, missing, extra int64, read verification) {
		t.Helper()
		r, err := read(context.Background(), l.Job(t, livetest.Night21), l.Options())
		if (err == nil) != (missing == 0) || r.Missing != missing || r.Rows != rows ||
			r.Cells != s.Counts.CellsWritten-missing || r.ExtraRows != extra {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	live := func(ctx context.Context, j *jobfile.Job, o options.Options) (*verify.Verification, error) {
		return verify.Job(ctx, j, o, true)
	}
	check("the source's rows", 0, 0, live)
	check("the whole table", 0, earlier, verify.WholeTable)
	l.Ask(t, "compact", l.Table)
	check("the source's rows in a compacted table", 0, 0, live)
	l.Ask(t, "delete", l.Table, s.Files[0].FirstRow)
	missing := s.Counts.CellsWritten / rows
	check("a row is gone", missing, 0, live)
	check("a row is gone, and the whole table is read", missing, earlier, verify.WholeTable)
}

// TestVerifyWithoutARow: if no record of the source is one that a run would load, nothing is compared, and nothing is
// proved. That is said, and is no "done". Beyond max_rejects it is a failure, as for a run.
func TestVerifyWithoutARow(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 20, 94)
	part := filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000")
	if err := os.WriteFile(part, []byte("no record\x10nor this\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Rewrite(t, "max_rejects: 0", "max_rejects: 2")
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Counts.Written != 0 || s.Counts.Rejected != 2 {
		t.Fatalf("%v", s.Counts)
	}
	for _, live := range []bool{true, false} {
		r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), live)
		if err != nil || r.Status != failure.StatusNothing || r.Rejected != 2 || !strings.Contains(r.Reason, "no row to compare: 2 records read, of which 2 are rejected") {
			t.Errorf("live %v: %+v, %v", live, r, err)
		}
	}
	l.Rewrite(t, "max_rejects: 2", "max_rejects: 1")
	r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), true)
	if failure.CodeOf(err) != errcode.RejectsMany || r.Status != failure.StatusFailed || r.Rejected != 2 {
		t.Errorf("more than max_rejects: %+v, %v", r, err)
	}
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), true); err != nil || r.Status != failure.StatusEmpty || r.Reason == "" {
		t.Errorf("without a record: %+v, %v", r, err)
	}
}

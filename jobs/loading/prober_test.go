package loading

import (
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/jobs/failure"
	"bulkload/load"
)

// TestLostHow: a cause is named only if the table's identity agrees with it.
func TestLostHow(t *testing.T) {
	t.Parallel()
	table := &load.Table{Name: "ns:t"}
	for identity, want := range map[string]string{
		"":               "Most likely the table was truncated",
		"another":        "The table was changed after the load",
		table.Identity(): "The table was neither created again nor truncated as a whole",
	} {
		got := adviceFor(load.Missing, lostHow(table, identity))
		if !strings.HasPrefix(got, want) || !strings.Contains(got, "--force writes and loads them again") {
			t.Errorf("identity %q: %s", identity, got)
		}
	}
	if got := adviceFor(load.Expired, lostSomehow); strings.Contains(got, "truncated") {
		t.Errorf("expired cells: %s", got)
	}
}

// TestWhatIsProbedOfAnUnchangedTable: one file in each region that has files; whole regions may have been truncated.
func TestWhatIsProbedOfAnUnchangedTable(t *testing.T) {
	t.Parallel()
	var files []load.HFile
	for _, row := range []string{"a", "a0", "c", "b", "c0", "a"} {
		files = append(files, load.HFile{URI: row, FirstRow: []byte(row)})
	}
	var got []string
	for _, f := range oneOfEachRegion(files, tableOf("b", "c", "d")) {
		got = append(got, f.URI)
	}
	if strings.Join(got, " ") != "a c b" {
		t.Errorf("%q are probed", got)
	}
}

// TestUnreadableFiles: only files whose cells are returned, or replaced by newer ones, are no loss.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	for serving, readable := range map[load.Serving]bool{load.Served: true, load.Superseded: true, load.Deleted: false, load.Expired: false, load.Missing: false} {
		findings := []load.Finding{{Serving: load.Served}, {HFile: load.HFile{URI: "hdfs:///f/1"}, Serving: serving}}
		err := refuseUnreadable("t", findings, lostSomehow)
		if (err == nil) != readable || err != nil && (failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "1 of 2 files") || !strings.Contains(err.Error(), "hdfs:///f/1")) {
			t.Errorf("%v: %v", serving, err)
		}
	}
}

// TestCellsOfBeforeTheLoadProveNothing: equal cells that a table had before the load don't prove that it has a file, if the
// table was changed.
func TestCellsOfBeforeTheLoadProveNothing(t *testing.T) {
	t.Parallel()
	files := []load.HFile{{URI: "1"}, {URI: "2", ServedBefore: true}}
	if err := refuseServedBefore("t", files); failure.CodeOf(err) != errcode.LoadUnsure {
		t.Errorf("%v", err)
	}
	if err := refuseServedBefore("t", files[:1]); err != nil {
		t.Error(err)
	}
}

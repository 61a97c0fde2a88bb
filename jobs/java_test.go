package jobs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// TestJavaReadsWhatTheRuleSays: HBase's own reader finds the files of the shipped example sound, and in them exactly the
// cells that Java computes from the same text.
func TestJavaReadsWhatTheRuleSays(t *testing.T) {
	oracle := testcluster.Java(t)
	ask := func(args ...string) {
		t.Helper()
		if out, err := oracle.Run(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	j, err := jobfile.Read("examples/check.yaml", jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = filepath.Join(dir, "out")
	s := runtest.Must(t, j, options.Options{})

	ask("check", "file://"+j.Output, "-all")
	got, want := filepath.Join(dir, "got"), filepath.Join(dir, "want")
	ask("cells", "file://"+j.Output, "-o", got)
	ask("expect", jobdir.Joined(t, dir, "examples/testdata/check/2026-11-20/part-*"), strings.Join(sample.CheckColumns, ","),
		"check_id", "id", "10", "f", fmt.Sprint(j.Timestamp), "-o", want)
	gotCells, wantCells := cellsOf(t, got), cellsOf(t, want)
	if int64(len(wantCells)) != s.Books.CellsWritten {
		t.Errorf("Java computes %d cells, the books say %d", len(wantCells), s.Books.CellsWritten)
	}
	if len(gotCells) != len(wantCells) {
		t.Errorf("%d cells in the files, want %d", len(gotCells), len(wantCells))
	}
	for line := range wantCells {
		if !gotCells[line] {
			t.Fatalf("no cell %s", line)
		}
	}
}

func cellsOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	cells := map[string]bool{}
	for _, line := range testfs.Lines(t, name) {
		cells[line] = true
	}
	return cells
}

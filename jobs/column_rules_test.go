package jobs

import (
	"context"
	"path/filepath"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/spec/jobfile"
)

// TestPaymentsAsJava: the example with every rule gives the cells that Java makes of the same text with HBase's Bytes, as
// HBase's own reader finds them.
func TestPaymentsAsJava(t *testing.T) {
	oracle := testcluster.Java(t)
	ask := func(args ...string) {
		t.Helper()
		if out, err := oracle.Run(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	j := readPayments(t, filepath.Join(dir, "out"))
	s := runtest.Must(t, j, options.Options{})
	ask("check", "file://"+j.Output, "-all")
	got, want := filepath.Join(dir, "got"), filepath.Join(dir, "want")
	ask("cells", "file://"+j.Output, "-o", got)
	ask("payments", jobdir.Joined(t, dir, "examples/testdata/payments/2026-11-20/part-*"), "2026-11-20", "-o", want)
	gotCells, wantCells := cellsOf(t, got), cellsOf(t, want)
	if int64(len(wantCells)) != s.Books.CellsWritten || len(gotCells) != len(wantCells) {
		t.Errorf("Java computes %d cells, the files have %d, the books say %d", len(wantCells), len(gotCells), s.Books.CellsWritten)
	}
	for line := range wantCells {
		if !gotCells[line] {
			t.Errorf("no cell %s", line)
		}
	}
}

func readPayments(t testing.TB, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read("examples/payments.yaml", jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

// TestPayments is the example as it is shipped.
func TestPayments(t *testing.T) {
	j := readPayments(t, t.TempDir())
	s := runtest.Must(t, j, options.Options{})
	if b := s.Books; b.Read != 306 || b.Rejected != 3 || b.Duplicates != 1 || b.Filtered < 100 || b.Written < 100 {
		t.Errorf("books %v", b)
	}
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Books.CellsWritten {
		t.Errorf("verify: %+v, %v", r, err)
	}
	r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"100200301"}, j.Output)
	if err != nil || len(r.Rows) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range r.Rows[0].Cells {
		if c.Qualifier == "memo" && c.Value != "again" && r.Rows[0].Cells[0].Value == "1000000009001" {
			t.Errorf("the earlier record has won: %+v", r.Rows[0])
		}
	}
}

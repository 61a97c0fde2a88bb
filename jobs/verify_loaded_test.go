package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/jobs/failure"
	"bulkload/jobs/verify"
)

// TestVerifyAfterALoad: without the source and without the output, the table's cells are compared with what was loaded; a row
// that is gone, and one of another job with the same timestamp, are found.
func TestVerifyAfterALoad(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 300, 98)
	l.night(t, "2026-11-21", 300, 99)
	s := mustRun(t, l.job(t, night20), l.options())
	mustRun(t, l.job(t, "2026-11-21"), l.options())
	l.withoutOutput(t, night20)
	if err := os.RemoveAll(filepath.Join(l.dir, "in")); err != nil {
		t.Fatal(err)
	}
	o := l.options()
	var said notes
	o.Say = said.say
	r, err := verify.Job(context.Background(), l.job(t, night20), o, false)
	if err != nil || r.Digest != s.Digest || r.Rows != s.Books.Written || r.Cells != s.Books.CellsWritten || r.Against != "table "+l.table {
		t.Errorf("%+v, %v", r, err)
	}
	if !said.has("in 10 ranges of rows") {
		t.Errorf("said %q", said.said)
	}
	l.oracle(t, "delete", l.table, s.Files[3].FirstRow)
	r, err = verify.Job(context.Background(), l.job(t, night20), l.options(), false)
	if failure.KindOf(err) != failure.Differs || !strings.Contains(err.Error(), s.Run.ID) || r.Rows != s.Books.Written-1 {
		t.Errorf("a row is gone: %+v, %v", r, err)
	}
}

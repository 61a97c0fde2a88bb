package verify_test

import (
	"context"
	"path/filepath"
	"testing"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/verify"
)

// TestVerifyWhereDeletedCellsAreKept: a family that keeps deleted cells shows them to a scan by timestamp, but not to
// readers.
func TestVerifyWhereDeletedCellsAreKept(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "KEEP_DELETED_CELLS=TRUE")
	l.Night(t, livetest.Night20, 100, 89)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	for _, live := range []bool{true, false} {
		if r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), live); err != nil || r.Rows != 100 {
			t.Errorf("live %v: %+v, %v", live, r, err)
		}
	}
	l.Ask(t, "delete", l.Table, s.Files[0].FirstRow)
	for _, live := range []bool{true, false} {
		r, err := verify.Job(context.Background(), l.Job(t, livetest.Night20), l.Options(), live)
		if failure.KindOf(err) != failure.Differs {
			t.Errorf("a row was deleted, live %v: %+v, %v", live, r, err)
		}
	}
	file := filepath.Join(l.Folder, "stale")
	r, err := verify.ListStale(context.Background(), l.Job(t, livetest.Night20), l.Options(), file)
	if failure.KindOf(err) != failure.Differs || r.Missing == 0 || r.Stale.Cells != 0 {
		t.Errorf("the stale cells where a row was deleted: %+v, %v", r, err)
	}
}

package jobs

import (
	"context"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

// TestEveryCallOfALoadFails lets the n-th call of storage fail over a whole run with its load, for the first n, the last, and
// twelve of those between them. The run ends well, or with an error that names the fault, of a kind that is documented; then
// the same command ends well, and in the end the table has the rows of all nights, and no others.
func TestEveryCallOfALoadFails(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9")
	calls := nightWithFault(t, l, "2026-01-01", 0)
	if calls < 50 {
		t.Fatalf("a run with its load has %d calls of storage", calls)
	}
	nights := []string{"2026-01-01"}
	for i, n := range runtest.FaultsOf(t, calls, 14) {
		night := time.Date(2026, 1, 2+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		nightWithFault(t, l, night, n)
		nights = append(nights, night)
	}
	var cells int64
	for _, night := range nights {
		r, err := verify.Job(t.Context(), l.Job(t, night), l.Options(), true)
		if err != nil || r.Rows != nightRows {
			t.Errorf("night %s: %+v, %v", night, r, err)
			continue
		}
		cells += r.Cells
	}
	if got := int64(strings.Count(l.Ask(t, "scan", l.Table), "\n")); got != cells {
		t.Errorf("the table has %d cells, and the nights %d", got, cells)
	}
}

// nightRows are the rows of a night.
const nightRows = 40

// nightWithFault runs a night of its own while the n-th call of storage fails, as faulted does.
func nightWithFault(t *testing.T, l *livetest.Live, date string, n int64) (calls int64) {
	t.Helper()
	l.Night(t, date, nightRows, uint64(n))
	return l.Faulted(t, n, func(o options.Options) error {
		_, err := run.Job(context.Background(), nil, l.Job(t, date), o)
		return err
	})
}

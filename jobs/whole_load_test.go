package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

// TestEveryCallOfALoadFails lets the n-th call of storage fail over a whole run with its load, for the first n, the last, and
// twelve of those between them. The run ends well, or with an error that names the fault, of a kind that is documented; then
// the same command ends well, and in the end the table has the rows of all nights, and no others.
func TestEveryCallOfALoadFails(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9")
	calls := l.nightWithFault(t, "2026-01-01", 0)
	if calls < 50 {
		t.Fatalf("a run with its load has %d calls of storage", calls)
	}
	nights := []string{"2026-01-01"}
	for i, n := range faultsOf(t, calls, 14) {
		night := time.Date(2026, 1, 2+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		l.nightWithFault(t, night, n)
		nights = append(nights, night)
	}
	var cells int64
	for _, night := range nights {
		r, err := verify.Job(t.Context(), l.job(t, night), l.options(), true)
		if err != nil || r.Rows != nightRows {
			t.Errorf("night %s: %+v, %v", night, r, err)
			continue
		}
		cells += r.Cells
	}
	if got := int64(strings.Count(l.oracle(t, "scan", l.table), "\n")); got != cells {
		t.Errorf("the table has %d cells, and the nights %d", got, cells)
	}
}

// nightRows are the rows of a night.
const nightRows = 40

// faultsOf are the calls that are to fail: the first, the last, and others, drawn at random; in make exhaustive each of them.
func faultsOf(t *testing.T, calls int64, some int) []int64 {
	t.Helper()
	var all []int64
	for n := int64(1); n <= calls; n++ {
		all = append(all, n)
	}
	if testcluster.In("exhaustive") || int(calls) <= some {
		return all
	}
	between := all[1 : calls-1]
	testrand.New(t).Shuffle(len(between), func(i, j int) { between[i], between[j] = between[j], between[i] })
	picked := append([]int64{1, calls}, between[:some-2]...)
	slices.Sort(picked)
	return picked
}

// nightWithFault runs a night of its own while the n-th call of storage fails, as faulted does.
func (l *live) nightWithFault(t *testing.T, date string, n int64) (calls int64) {
	t.Helper()
	l.night(t, date, nightRows, uint64(n))
	return l.faulted(t, n, func(o options.Options) error {
		_, err := Run(context.Background(), l.job(t, date), o)
		return err
	})
}

// faulted loads while the n-th call of storage fails (0: none does), and again without a fault where that
// ended with an error. It returns how many calls the first load had.
func (l *live) faulted(t *testing.T, n int64, load func(options.Options) error) (calls int64) {
	t.Helper()
	f := new(testfs.Fault)
	f.Left.Store(n)
	o := l.options()
	o.Storage = func(fsys storage.FS) storage.FS { return &testfs.Failing{FS: fsys, Fault: f} }
	err := load(o)
	calls = n - f.Left.Load()
	what := fmt.Sprintf("call %d of %d, %v", n, calls, f.Failed())
	if n > 0 {
		t.Logf("%s: %v", what, err)
	}
	if err == nil {
		if n > 0 {
			wantHarmless(t, f, n)
		}
		return calls
	}
	if kind := failure.KindOf(err); !errors.Is(err, syscall.EIO) || kind != failure.Failed && kind != failure.Later {
		t.Errorf("%s: kind %d: %v", what, kind, err)
	}
	if err := load(l.options()); err != nil {
		t.Errorf("%s: the same command again: %v", what, err)
	}
	return calls
}

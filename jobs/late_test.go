package jobs

import (
	"context"
	"strings"
	"testing"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
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

package retention_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/upkeep/retention"
)

// TestLogAndClean: a live run logs its stages, files and calls, and its progress goes from 0 to 1; and what clean
// deletes after the load is not loaded again.
func TestLogAndClean(t *testing.T) {
	l := livetest.NewNight(t, nil)
	var log bytes.Buffer
	var mu sync.Mutex
	var whole float64
	var phases []string
	o := l.Options()
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: options.LevelCall}))
	o.Watch = func(p options.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			if phases = append(phases, p.Phase); p.Whole < whole-1e-9 {
				t.Errorf("%s begins at %g after %g", p.Phase, p.Whole, whole)
			}
		}
		whole = max(whole, p.Whole)
	}
	first := runtest.Must(t, l.Job(t, livetest.Night20), o)
	if strings.Join(phases, " ") != "sort write probe load probe" || whole != 1 {
		t.Errorf("phases %v, up to %g", phases, whole)
	}
	for _, want := range []string{`msg="load begins" job=`, `msg="file loaded" .*table=` + l.Table + ` run=` + first.Run.ID + ` region=0 file=f/`, "msg=site .*hbase.zookeeper.quorum=",
		"msg=call .*method=BulkLoadHFile took=", `msg=call .*method="create /`, `msg=call .*method="connect to MasterService"`} {
		if !regexp.MustCompile(want).MatchString(log.String()) {
			t.Errorf("no %s in\n%s", want, &log)
		}
	}

	uri := l.Out + "/" + livetest.Night20
	listed, err := retention.List(l.Out, l.Options())
	if err != nil || len(listed.Outputs) != 1 || listed.Outputs[0].State != "loaded" || listed.Outputs[0].Bytes != 0 {
		t.Fatalf("list: %v: %+v", err, listed)
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{29 * 24 * time.Hour, retention.Retained}, {31 * 24 * time.Hour, retention.Deleted}} {
		r, err := retention.Clean(t.Context(), uri, retention.Rules{Outputs: 30 * 24 * time.Hour, Now: time.Now().Add(c.after)}, l.Options())
		if err != nil || len(r.Outputs) != 1 || r.Outputs[0].Action != c.want {
			t.Fatalf("after %v: %v: %+v", c.after, err, r)
		}
	}
	if _, err := retention.List(uri, l.Options()); failure.KindOf(err) != failure.Refused {
		t.Errorf("the output is still there: %v", err)
	}
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusNothing || s.Digest != first.Digest {
		t.Errorf("cleaned: %s, %v", s.Status, s.Digest)
	}
	l.WantStoreFiles(t, len(first.Files))
}

package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// These tests hang, wake and kill region servers while a load is under way, on a cluster of their own.

// table30 makes a table of 30 regions, of which each server has about half.
func table30(t *testing.T, l *livetest.Live) {
	t.Helper()
	var splits []string
	for i := 1; i < 30; i++ {
		splits = append(splits, fmt.Sprintf("%d%c", i/3, "057"[i%3]))
	}
	splits[0] = "05"
	for i := range splits {
		splits[i] = strings.TrimSuffix(splits[i], "0")
	}
	l.Ask(t, "create", l.Table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
}

// untilDone runs the job again until it is done, as a scheduler does. It never is done with rows missing.
func untilDone(t *testing.T, l *livetest.Live, what, date string, o options.Options) (tries int) {
	t.Helper()
	for tries = 1; ; tries++ {
		_, err := run.Job(context.Background(), nil, l.Job(t, date), o)
		if err == nil {
			break
		}
		t.Logf("%s, try %d: kind %d: %v", what, tries, failure.KindOf(err), err)
		if failure.KindOf(err) != failure.Later && failure.KindOf(err) != failure.Interrupted || tries == 5 {
			t.Fatalf("%s: not done after %d tries", what, tries)
		}
		o.Failpoint = nil
		// On a slow machine the other server's session may have ended, too: without any server no try can be done.
		if err := l.Revive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.WantDigest(t, what, date)
	return tries
}

// TestServerHangsDuringLoad: a region server hangs past its ZooKeeper session, wakes up and moves files into regions that
// are open elsewhere. The run ends well only with every row served.
func TestServerHangsDuringLoad(t *testing.T) {
	l := livetest.NewFragile(t)
	const date = "2026-11-20"
	first := 0
	n := livetest.Moments(t, 2)
	for i := range n {
		l.Table = fmt.Sprintf("hang%02d", i)
		l.Retarget(t)
		table30(t, l)
		l.Night(t, date, 6000, uint64(100+i))
		server := fmt.Sprintf("rs%d", 1+i%2)
		at := int64(1 + i*28/n)
		var taken atomic.Int64
		woken := make(chan error, 1)
		o := l.Options()
		o.Say = func(text string) { t.Log(text) }
		o.Failpoint = func(p options.Point) {
			if p == options.FilesLoaded && taken.Add(1) == at {
				if err := l.Pause(server); err != nil {
					t.Error(err)
				}
				time.AfterFunc((livetest.SessionMillis+3000)*time.Millisecond, func() { woken <- l.Resume(server) })
			}
		}
		tries := untilDone(t, l, fmt.Sprintf("%s hangs after %d requests", server, at), date, o)
		if tries == 1 {
			first++
		}
		if err := <-woken; err != nil {
			t.Error(err)
		}
		l.WantNothing(t, "again", date)
		revive(t, l)
	}
	t.Logf("%d of %d loads were right at the first run", first, n)
}

// TestServerDiesDuringLoad: the server is killed at a step of the load.
func TestServerDiesDuringLoad(t *testing.T) {
	l := livetest.NewFragile(t)
	const date = "2026-11-20"
	n := livetest.Moments(t, 2)
	for i := range n {
		l.Table = fmt.Sprintf("die%02d", i)
		l.Retarget(t)
		table30(t, l)
		l.Night(t, date, 6000, uint64(200+i))
		server := fmt.Sprintf("rs%d", 1+i%2)
		at := int64(i * 28 / n)
		var taken atomic.Int64
		o := l.Options()
		o.Failpoint = func(p options.Point) {
			if p == options.Staging && at == 0 || p == options.FilesLoaded && taken.Add(1) == at {
				if err := l.Kill(server); err != nil {
					t.Error(err)
				}
			}
		}
		untilDone(t, l, fmt.Sprintf("%s dies after %d requests", server, at), date, o)
		l.WantNothing(t, "again", date)
		revive(t, l)
	}
}

// revive starts servers again that were killed or have ended themselves. It waits for one that may be about to.
func revive(t *testing.T, l *livetest.Live) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); l.Alive() == nil && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
	if err := l.Revive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFileUnknownToItsRegion: a file that HBase has taken and the open region does not know is not loaded. With another
// server the region is moved there and serves it; else the file is written and loaded again, and when the region is opened
// again one day, readers see no difference.
func TestFileUnknownToItsRegion(t *testing.T) {
	t.Run("1 server", func(t *testing.T) {
		l := livetest.NewOwn(t, 1)
		l.Table = "unknown"
		l.Retarget(t)
		wantUnknownFileLoaded(t, l, true)
	})
	t.Run("2 servers", func(t *testing.T) {
		l := livetest.NewFragile(t)
		l.Table = "unknown"
		l.Retarget(t)
		wantUnknownFileLoaded(t, l, false)
	})
}

// wantUnknownFileLoaded orphans a file and runs the job, which writes the file again where no other server can open its region.
func wantUnknownFileLoaded(t *testing.T, l *livetest.Live, writtenAgain bool) {
	t.Helper()
	const date = "2026-11-20"
	l.Table10(t)
	l.Night(t, date, 1000, 30)
	l.Orphan(t, date, 4)
	var said []string
	o := l.Options()
	o.Say = func(text string) { said = append(said, text) }
	s, err := run.Job(context.Background(), nil, l.Job(t, date), o)
	rewritten := strings.Contains(strings.Join(said, "\n"), "writing and loading their rows again")
	if err != nil || s.Status != failure.StatusDone || rewritten != writtenAgain {
		t.Errorf("%+v, %v; said %q", s.Load, err, said)
	}
	l.WantDigest(t, "loaded", date)
	l.WantNothing(t, "again", date)
	l.Ask(t, "disable", l.Table)
	l.Ask(t, "enable", l.Table)
	l.WantDigest(t, "regions opened again", date)
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
)

// These tests hang, wake and kill region servers while a load is under way, on a cluster of their own.

// sessionMillis is after how long the cluster takes a server that hangs for dead.
const sessionMillis = 6000

// moments is how many moments of a load a test tries; BULKLOAD_MOMENTS=20 tries more than a test run has time for.
func moments(t *testing.T, least int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BULKLOAD_MOMENTS"))
	if err != nil {
		return least
	}
	return n
}

// newFragile is newLive with a cluster of its own, with two region servers: such tests run beside others, too.
func newFragile(t *testing.T) *live {
	t.Helper()
	return newOwn(t, 2)
}

// newOwn starts a cluster for one test, with so many region servers.
func newOwn(t *testing.T, servers int) *live {
	t.Helper()
	testcluster.Use(t) // where no cluster is wanted, none is started
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: servers, Session: sessionMillis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return liveOn(t, c)
}

// table30 makes a table of 30 regions, of which each server has about half.
func (l *live) table30(t *testing.T) {
	t.Helper()
	var splits []string
	for i := 1; i < 30; i++ {
		splits = append(splits, fmt.Sprintf("%d%c", i/3, "057"[i%3]))
	}
	splits[0] = "05"
	for i := range splits {
		splits[i] = strings.TrimSuffix(splits[i], "0")
	}
	l.oracle(t, "create", l.table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
}

// digests compares the table with what Java computes for a night.
func (l *live) wantDigest(t *testing.T, what, date string) {
	t.Helper()
	want := l.oracle(t, "expect", filepath.Join(l.dir, "in", date, "part-m-00000"), strings.Join(sample.CheckColumns, ","), "check_id", "id", "10", "f",
		fmt.Sprint(l.job(t, date).Timestamp), "-digest")
	if got := l.oracle(t, "scan", l.table, "-digest"); got != want {
		t.Errorf("%s: the table has %s, want %s", what, strings.TrimSpace(got), strings.TrimSpace(want))
	}
}

// untilDone runs the job again until it is done, as a scheduler does. It never is done with rows missing.
func (l *live) untilDone(t *testing.T, what, date string, o options.Options) (tries int) {
	t.Helper()
	for tries = 1; ; tries++ {
		_, err := Run(context.Background(), l.job(t, date), o)
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
	l.wantDigest(t, what, date)
	return tries
}

// TestServerHangsDuringLoad: a region server hangs past its ZooKeeper session, wakes up and moves files into regions that
// are open elsewhere. The run ends well only with every row served.
func TestServerHangsDuringLoad(t *testing.T) {
	l := newFragile(t)
	const date = "2026-11-20"
	first := 0
	n := moments(t, 2)
	for i := range n {
		l.table = fmt.Sprintf("hang%02d", i)
		l.retarget(t)
		l.table30(t)
		l.night(t, date, 6000, uint64(100+i))
		server := fmt.Sprintf("rs%d", 1+i%2)
		at := int64(1 + i*28/n)
		var taken atomic.Int64
		woken := make(chan error, 1)
		o := l.options()
		o.Say = func(text string) { t.Log(text) }
		o.Failpoint = func(p options.Point) {
			if p == options.FilesLoaded && taken.Add(1) == at {
				if err := l.Pause(server); err != nil {
					t.Error(err)
				}
				time.AfterFunc((sessionMillis+3000)*time.Millisecond, func() { woken <- l.Resume(server) })
			}
		}
		tries := l.untilDone(t, fmt.Sprintf("%s hangs after %d requests", server, at), date, o)
		if tries == 1 {
			first++
		}
		if err := <-woken; err != nil {
			t.Error(err)
		}
		l.wantAgain(t, date)
		l.revive(t)
	}
	t.Logf("%d of %d loads were right at the first run", first, n)
}

// TestServerDiesDuringLoad: the server is killed at a step of the load.
func TestServerDiesDuringLoad(t *testing.T) {
	l := newFragile(t)
	const date = "2026-11-20"
	n := moments(t, 2)
	for i := range n {
		l.table = fmt.Sprintf("die%02d", i)
		l.retarget(t)
		l.table30(t)
		l.night(t, date, 6000, uint64(200+i))
		server := fmt.Sprintf("rs%d", 1+i%2)
		at := int64(i * 28 / n)
		var taken atomic.Int64
		o := l.options()
		o.Failpoint = func(p options.Point) {
			if p == options.Staging && at == 0 || p == options.FilesLoaded && taken.Add(1) == at {
				if err := l.Kill(server); err != nil {
					t.Error(err)
				}
			}
		}
		l.untilDone(t, fmt.Sprintf("%s dies after %d requests", server, at), date, o)
		l.wantAgain(t, date)
		l.revive(t)
	}
}

// wantAgain runs a job that is done: nothing is to do.
func (l *live) wantAgain(t *testing.T, date string) {
	t.Helper()
	if s, err := Run(context.Background(), l.job(t, date), l.options()); err != nil || s.Status != failure.StatusNothing {
		t.Errorf("run again: %s, %v", s.Status, err)
	}
}

// revive starts servers again that were killed or have ended themselves. It waits for one that may be about to.
func (l *live) revive(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); l.Alive() == nil && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
	if err := l.Revive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// orphan leaves a file as a server does that hangs past its session and wakes up in the middle of a load: it is in the
// folder of a region that is open elsewhere and does not know it. The manifest says that a load is under way.
func (l *live) orphan(t *testing.T, date string, n int) {
	t.Helper()
	w := l.written(t, date)
	f := w.out.Manifest.Files()[n]
	region := ""
	for _, line := range strings.Split(strings.TrimSuffix(l.oracle(t, "regions", l.table), "\n"), "\n") {
		if part := strings.Split(line, "\t"); part[0] <= f.FirstRow {
			region = part[3]
		}
	}
	staging := path.Join(path.Dir(w.out.Path), "staging")
	w.out.Manifest.State, w.out.Manifest.Staging = manifest.Loading, w.out.FS.URI(staging)
	to := path.Join("/hbase/data/default", l.table, region, "f", strings.ReplaceAll(path.Base(f.Path), "0", "a")+"_SeqId_4_") // HBase's cache knows blocks by the names of files
	if err := errors.Join(w.out.Save(), w.out.FS.Rename(path.Join(w.out.Path, f.Path), to), w.out.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFileUnknownToItsRegion: a file that HBase has taken and the open region does not know is not loaded. With another
// server the region is moved there and serves it; else the file is written and loaded again, and when the region is opened
// again one day, readers see no difference.
func TestFileUnknownToItsRegion(t *testing.T) {
	t.Run("1 server", func(t *testing.T) {
		l := newOwn(t, 1)
		l.table = "unknown"
		l.retarget(t)
		l.wantUnknownFileLoaded(t, true)
	})
	t.Run("2 servers", func(t *testing.T) {
		l := newFragile(t)
		l.table = "unknown"
		l.retarget(t)
		l.wantUnknownFileLoaded(t, false)
	})
}

// wantUnknownFileLoaded orphans a file and runs the job, which writes the file again where no other server can open its region.
func (l *live) wantUnknownFileLoaded(t *testing.T, writtenAgain bool) {
	t.Helper()
	const date = "2026-11-20"
	l.table10(t)
	l.night(t, date, 1000, 30)
	l.orphan(t, date, 4)
	var said []string
	o := l.options()
	o.Say = func(text string) { said = append(said, text) }
	s, err := Run(context.Background(), l.job(t, date), o)
	rewritten := strings.Contains(strings.Join(said, "\n"), "writing and loading their rows again")
	if err != nil || s.Status != failure.StatusDone || rewritten != writtenAgain {
		t.Errorf("%+v, %v; said %q", s.Load, err, said)
	}
	l.wantDigest(t, "loaded", date)
	l.wantAgain(t, date)
	l.oracle(t, "disable", l.table)
	l.oracle(t, "enable", l.table)
	l.wantDigest(t, "regions opened again", date)
}

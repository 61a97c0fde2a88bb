package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// These tests hang, wake and kill servers while a load is under way, most of them on a cluster of their own.

// TestServerHangsDuringLoad: a region server hangs past its ZooKeeper session, wakes up and moves files into regions
// that are open elsewhere. The run ends well only with every row served.
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

// hdfsFaults is a cluster of HDFS alone, a job that writes two regions to it, and what its files must be.
type hdfsFaults struct {
	*testcluster.Cluster
	dir  string
	want *summary.Summary
}

// TestHDFSFailsWhileWriting has its own HDFS, with two DataNodes and files of two replicas: so the loss of a DataNode
// ends every file that is being written. The NameNode would name it for new files for ten minutes, until it regards it
// as dead.
func TestHDFSFailsWhileWriting(t *testing.T) {
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), DataNodes: 2, HDFSOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	job := strings.NewReplacer("'1', '2', '3', '4', '5', '6', '7', '8', '9'", "'5'", "salt(check_id, 10) + ", "").Replace(jobdir.CheckJob)
	l := &hdfsFaults{Cluster: c, dir: jobdir.Check(t, job, 2000)}
	l.want = runtest.Must(t, l.job(t, l.dir+"/local"), options.Options{})
	t.Run("quota", l.quota)
	t.Run("safe mode", l.safeMode)
	t.Run("a DataNode dies", l.dies)
	t.Run("long safe mode", l.longSafeMode)
	t.Run("a DataNode hangs for good", l.hangs)
	t.Run("both DataNodes go and come back", l.bothGone)
}

func (l *hdfsFaults) job(t *testing.T, output string) *jobfile.Job {
	t.Helper()
	return jobtest.Check(t, l.dir, output)
}

// options do something where a point is reached for the first time.
func (l *hdfsFaults) options(at options.Point, do func()) options.Options {
	var reached atomic.Int64
	return options.Options{Conf: l.ConfDir(), Properties: map[string]string{"dfs.client.socket-timeout": "2000"},
		Failpoint: func(p options.Point) {
			if p == at && reached.Add(1) == 1 {
				do()
			}
		}}
}

func (l *hdfsFaults) admin(t *testing.T, args ...string) {
	t.Helper()
	if err := l.RunJava(context.WithoutCancel(t.Context()), "org.apache.hadoop.hdfs.tools.DFSAdmin", args...); err != nil {
		t.Error(err)
	}
}

// wantRight wants a run's files to be those of a run that nothing disturbed.
func (l *hdfsFaults) wantRight(t *testing.T, s *summary.Summary) {
	t.Helper()
	if s.Status != failure.StatusDone || !reflect.DeepEqual(s.Files, l.want.Files) || s.Counts != l.want.Counts {
		t.Errorf("%s: %v and %d files, want %v and %d", s.Status, s.Counts, len(s.Files), l.want.Counts, len(l.want.Files))
	}
}

// quota: an exceeded quota is refused as that, and the same command continues when it is raised.
func (l *hdfsFaults) quota(t *testing.T) {
	const output = "/faults/quota"
	o := l.options(options.Begun, func() { l.admin(t, "-setSpaceQuota", "1m", output) })
	_, err := run.Job(context.Background(), nil, l.job(t, "hdfs://"+output), o)
	if failure.CodeOf(err) != errcode.HDFSQuota || failure.KindOf(err) != failure.Refused {
		t.Errorf("over the quota: %v", err)
	}
	l.admin(t, "-clrSpaceQuota", output)
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs://"+output), l.options("", nil)))
}

// safeMode: the run waits for the end of a short safe mode. Only a JVM that is started can end it: on a busy machine
// the run would give up before.
func (l *hdfsFaults) safeMode(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	left := make(chan struct{})
	o := l.options(options.Begun, func() {
		l.admin(t, "-safemode", "enter")
		go func() {
			defer close(left)
			time.Sleep(2 * time.Second)
			l.admin(t, "-safemode", "leave")
		}()
	})
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/safe"), o))
	<-left
}

// longSafeMode: the run is unavailable in a safe mode that lasts, and the same command continues after its end.
func (l *hdfsFaults) longSafeMode(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	const output = "hdfs:///faults/longsafe"
	o := l.options(options.Begun, func() { l.admin(t, "-safemode", "enter") })
	_, err := run.Job(context.Background(), nil, l.job(t, output), o)
	l.admin(t, "-safemode", "leave")
	if failure.CodeOf(err) != errcode.HDFSDown || failure.KindOf(err) != failure.Later {
		t.Errorf("in safe mode: %s, kind %d: %v", failure.CodeOf(err), failure.KindOf(err), err)
	}
	l.wantRight(t, runtest.Must(t, l.job(t, output), l.options("", nil)))
}

// dies: the slices that were being written to the DataNode are written again, and the run continues.
func (l *hdfsFaults) dies(t *testing.T) {
	var said runtest.Notes
	o := l.options(options.Begun, func() { l.do(t, l.Kill("dn1")) })
	o.Say = said.Say
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/dies"), o))
	if again := said.Count("again: "); again < 1 || again > 2 { // of two slices
		t.Errorf("%d slices were written again, of two: %q", again, said.Said)
	}
	// The NameNode still names it for the small files of another run: its lock, its manifest, its _SUCCESS.
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/dead"), l.options("", nil)))
	l.start(t, "dn1")
}

// hangs: the same for a DataNode that accepts connections and never answers.
func (l *hdfsFaults) hangs(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	defer func() { l.do(t, l.Resume("dn1")) }()
	o := l.options(options.Begun, func() { l.do(t, l.Pause("dn1")) })
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/hangs"), o))
	// It still hangs when this run writes its first file, the lock.
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/hung"), l.options("", nil)))
}

// bothGone: the run waits for some minutes for DataNodes.
func (l *hdfsFaults) bothGone(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	back := make(chan struct{})
	o := l.options(options.Begun, func() {
		l.do(t, errors.Join(l.Kill("dn1"), l.Kill("dn2")))
		go func() {
			defer close(back)
			time.Sleep(3 * time.Second)
			l.start(t, "dn1")
			l.start(t, "dn2")
		}()
	})
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/both"), o))
	<-back
}

func (l *hdfsFaults) start(t *testing.T, role string) {
	t.Helper()
	l.do(t, l.StartRole(context.WithoutCancel(t.Context()), role))
}

// do reports a failure, from any goroutine.
func (l *hdfsFaults) do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

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
// server the region is moved there and serves it; else the file is written and loaded again, and when the region is
// opened again one day, readers see no difference.
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

// wantUnknownFileLoaded orphans a file and runs the job, which writes the file again where no other server can open its
// region.
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

// TestTableIsDisabledDuringLoad: that is said at once, and not after a server's death could have passed; when the table
// is enabled the same command continues.
func TestTableIsDisabledDuringLoad(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 1000, 60)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a load waits longer for regions that are moving
	defer cancel()
	o := l.Options()
	var taken atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded && taken.Add(1) == 3 {
			l.Ask(t, "disable", l.Table)
		}
	}
	_, err := run.Job(ctx, nil, l.Job(t, livetest.Night20), o)
	if failure.CodeOf(err) != errcode.TableDisabled || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "enable '"+l.Table+"'") {
		t.Errorf("a disabled table: %v", err)
	}
	l.Ask(t, "enable", l.Table)
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusDone {
		t.Errorf("enabled again: %s", s.Status)
	}
	l.WantTable(t, "enabled again", l.Expected(t, livetest.Night20))
	l.WantNothing(t, "again", livetest.Night20)
}

// TestZooKeeperStopsDuringLoad: a load waits for ZooKeeper, for more than a minute.
func TestZooKeeperStopsDuringLoad(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	testcluster.Use(t)
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	l := livetest.On(t, c)
	l.Table = "keeper"
	l.Retarget(t)
	table30(t, l)
	l.Night(t, livetest.Night20, 3000, 61)
	back := make(chan error, 1)
	o := l.Options()
	var taken atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded && taken.Add(1) == 5 {
			if err := l.Kill("zk"); err != nil {
				t.Error(err)
			}
			time.AfterFunc(time.Minute, func() { back <- l.StartRole(context.WithoutCancel(t.Context()), "zk") })
		}
	}
	untilDone(t, l, "ZooKeeper was gone for a minute", livetest.Night20, o)
	if err := <-back; err != nil {
		t.Error(err)
	}
	l.WantNothing(t, "again", livetest.Night20)
}

// TestKilledLoadIntoManyRegions: a load into 200 regions saves its manifest after every fourth request. When it is
// killed, the next one asks the table for the files of the requests that the manifest lacks, and loads only the others:
// each once.
func TestKilledLoadIntoManyRegions(t *testing.T) {
	l := livetest.New(t)
	var splits []string
	for i := 1; i < 200; i++ {
		splits = append(splits, strings.TrimSuffix(fmt.Sprintf("%d%02x", i/20, i%20*256/20), "00"))
	}
	l.Ask(t, "create", l.Table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	l.Night(t, livetest.Night20, 6000, 65)
	o := l.Options()
	o.NoLoad = true
	files := len(runtest.Must(t, l.Job(t, livetest.Night20), o).Files)
	if files < 190 { // some regions get no row
		t.Fatalf("%d files", files)
	}
	const killedAt, underWay = 150, 4 // 4: hbase.loadincremental.threads.max
	l.Crash(t, livetest.Night20, options.FilesLoaded, killedAt)
	if left := len(l.Manifest(t).NotLoaded()); left < files-killedAt-underWay || left > files-killedAt+files/64+underWay {
		t.Errorf("the manifest says that %d of %d files are not loaded, after %d requests", left, files, killedAt)
	}
	var requests atomic.Int64
	o = l.Options()
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded {
			requests.Add(1)
		}
	}
	s := runtest.Must(t, l.Job(t, livetest.Night20), o)
	if n := int(requests.Load()); s.Status != failure.StatusDone || n < files-killedAt-underWay || n > files-killedAt {
		t.Errorf("%s, %d requests for %d files after %d", s.Status, n, files, killedAt)
	}
	l.WantStoreFiles(t, files)
	l.WantDigest(t, "killed", livetest.Night20)
	l.WantNothing(t, "again", livetest.Night20)
}

// TestLoadIntoAThousandRegions: all files are loaded and served.
func TestLoadIntoAThousandRegions(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	l := livetest.New(t)
	var splits []string
	for i := 1; i < 1000; i++ {
		splits = append(splits, strings.TrimSuffix(fmt.Sprintf("%d%02x", i/100, i%100*256/100), "00"))
	}
	l.Ask(t, "create", l.Table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	l.Night(t, livetest.Night20, 30_000, 62)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if s.Load.Regions < 900 || s.Load.Files != len(s.Files) || len(s.Regions) != 1000 { // some regions get no row
		t.Errorf("%+v of %d regions", s.Load, len(s.Regions))
	}
	l.WantDigest(t, "a thousand regions", livetest.Night20)
	l.WantNothing(t, "again", livetest.Night20)
}

// TestEveryCallOfALoadFails lets the n-th call of storage fail over a whole run with its load, for the first n, the
// last, and twelve of those between them. The run ends well, or with an error that names the fault, of a kind that is
// documented; then the same command ends well, and in the end the table has the rows of all nights, and no others.
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

package jobs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// TestTableIsDisabledDuringLoad: that is said at once, and not after a server's death could have passed; when the table is
// enabled the same command continues.
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

// TestKilledLoadIntoManyRegions: a load into 200 regions saves its manifest after every fourth request. When it is killed, the next one
// asks the table for the files of the requests that the manifest lacks, and loads only the others: each once.
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

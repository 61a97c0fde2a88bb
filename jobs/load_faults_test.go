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
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
)

// TestTableIsDisabledDuringLoad: that is said at once, and not after a server's death could have passed; when the table is
// enabled the same command continues.
func TestTableIsDisabledDuringLoad(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 1000, 60)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a load waits longer for regions that are moving
	defer cancel()
	o := l.options()
	var taken atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded && taken.Add(1) == 3 {
			l.oracle(t, "disable", l.table)
		}
	}
	_, err := Run(ctx, l.job(t, night20), o)
	if failure.CodeOf(err) != errcode.TableDisabled || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "enable '"+l.table+"'") {
		t.Errorf("a disabled table: %v", err)
	}
	l.oracle(t, "enable", l.table)
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != failure.StatusDone {
		t.Errorf("enabled again: %s", s.Status)
	}
	l.wantTable(t, "enabled again", l.expected(t, night20))
	l.wantAgain(t, night20)
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
	l := liveOn(t, c)
	l.table = "keeper"
	l.retarget(t)
	l.table30(t)
	l.night(t, night20, 3000, 61)
	back := make(chan error, 1)
	o := l.options()
	var taken atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded && taken.Add(1) == 5 {
			if err := l.Kill("zk"); err != nil {
				t.Error(err)
			}
			time.AfterFunc(time.Minute, func() { back <- l.StartRole(context.WithoutCancel(t.Context()), "zk") })
		}
	}
	l.untilDone(t, "ZooKeeper was gone for a minute", night20, o)
	if err := <-back; err != nil {
		t.Error(err)
	}
	l.wantAgain(t, night20)
}

// TestKilledLoadIntoManyRegions: a load into 200 regions saves its manifest after every fourth request. When it is killed, the next one
// asks the table for the files of the requests that the manifest lacks, and loads only the others: each once.
func TestKilledLoadIntoManyRegions(t *testing.T) {
	l := newLive(t)
	var splits []string
	for i := 1; i < 200; i++ {
		splits = append(splits, strings.TrimSuffix(fmt.Sprintf("%d%02x", i/20, i%20*256/20), "00"))
	}
	l.oracle(t, "create", l.table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	l.night(t, night20, 6000, 65)
	o := l.options()
	o.NoLoad = true
	files := len(mustRun(t, l.job(t, night20), o).Files)
	if files < 190 { // some regions get no row
		t.Fatalf("%d files", files)
	}
	const killedAt, underWay = 150, 4 // 4: hbase.loadincremental.threads.max
	l.crash(t, night20, options.FilesLoaded, killedAt)
	if left := len(l.manifest(t).NotLoaded()); left < files-killedAt-underWay || left > files-killedAt+files/64+underWay {
		t.Errorf("the manifest says that %d of %d files are not loaded, after %d requests", left, files, killedAt)
	}
	var requests atomic.Int64
	o = l.options()
	o.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded {
			requests.Add(1)
		}
	}
	s := mustRun(t, l.job(t, night20), o)
	if n := int(requests.Load()); s.Status != failure.StatusDone || n < files-killedAt-underWay || n > files-killedAt {
		t.Errorf("%s, %d requests for %d files after %d", s.Status, n, files, killedAt)
	}
	l.wantStoreFiles(t, files)
	l.wantDigest(t, "killed", night20)
	l.wantAgain(t, night20)
}

// TestLoadIntoAThousandRegions: all files are loaded and served.
func TestLoadIntoAThousandRegions(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	l := newLive(t)
	var splits []string
	for i := 1; i < 1000; i++ {
		splits = append(splits, strings.TrimSuffix(fmt.Sprintf("%d%02x", i/100, i%100*256/100), "00"))
	}
	l.oracle(t, "create", l.table, "f", strings.Join(splits, ","), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	l.night(t, night20, 30_000, 62)
	s := mustRun(t, l.job(t, night20), l.options())
	if s.Load.Regions < 900 || s.Load.Files != len(s.Files) || len(s.Regions) != 1000 { // some regions get no row
		t.Errorf("%+v of %d regions", s.Load, len(s.Regions))
	}
	l.wantDigest(t, "a thousand regions", night20)
	l.wantAgain(t, night20)
}

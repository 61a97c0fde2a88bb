package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/testcluster"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/outcome"
)

// onlyInChaos skips a test that takes minutes, unless make chaos runs it.
func onlyInChaos(t *testing.T) {
	t.Helper()
	if os.Getenv("BULKLOAD_MOMENTS") == "" {
		t.Skip("takes minutes: make chaos runs it")
	}
}

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
	o.Failpoint = func(p failpoint.Point) {
		if p == failpoint.FilesLoaded && taken.Add(1) == 3 {
			l.oracle(t, "disable", l.table)
		}
	}
	_, err := Run(ctx, l.job(t, night20), o)
	if failure.CodeOf(err) != errcode.TableDisabled || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "enable '"+l.table+"'") {
		t.Errorf("a disabled table: %v", err)
	}
	l.oracle(t, "enable", l.table)
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != outcome.Done {
		t.Errorf("enabled again: %s", s.Status)
	}
	l.wantTable(t, "enabled again", l.expected(t, night20))
	l.wantAgain(t, night20)
}

// TestZooKeeperStopsDuringLoad: a load waits for ZooKeeper, for more than a minute.
func TestZooKeeperStopsDuringLoad(t *testing.T) {
	onlyInChaos(t)
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
	o.Failpoint = func(p failpoint.Point) {
		if p == failpoint.FilesLoaded && taken.Add(1) == 5 {
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

// TestLoadIntoAThousandRegions: all files are loaded and served.
func TestLoadIntoAThousandRegions(t *testing.T) {
	onlyInChaos(t)
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

package load

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/test/testcluster"
)

// TestNameNodeIsAwayAsALoadBegins: the region server's own client of HDFS does not reach the NameNode when it is asked
// for a staging folder. It is asked again until the NameNode is back; if that does not happen in time, the load may
// succeed later.
func TestNameNodeIsAwayAsALoadBegins(t *testing.T) {
	testcluster.Use(t) // where no cluster is wanted, none is started
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	l := connect(t, c, testUser)
	table := l.newTable()
	f := l.write("1", "f", "a")
	described, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	w := newLoadRun(l.Cluster, l.fs)
	if w.table, err = parseName(table); err != nil {
		t.Fatal(err)
	}
	w.regions = described.Regions
	if err := c.Kill("nn"); err != nil {
		t.Fatal(err)
	}
	conn, err := l.servers.region(t.Context(), w.regions[0].Server)
	if err == nil {
		_, err = conn.PrepareBulkLoad(t.Context(), hbase.StagedLoad, w.table, w.regions[0].Name)
	}
	var remote *hbase.RemoteError
	if !errors.As(err, &remote) || remote.DoNotRetry { // else the test shows nothing
		t.Fatalf("the server says %v", err)
	}
	if err := classify(t.Context(), w.requestStaging(t.Context(), described, 5*time.Second)); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) {
		t.Errorf("while it is away: %v", err)
	}
	back := make(chan error, 1)
	time.AfterFunc(time.Second, func() { back <- c.StartRole(context.WithoutCancel(t.Context()), "nn") })
	if err := w.requestStaging(t.Context(), described, 2*time.Minute); err != nil || w.token == "" {
		t.Errorf("when it is back: %q, %v", w.token, err)
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	if _, loaded, err := l.load(table, f); err != nil {
		t.Errorf("after that: %v, %v", loaded, err)
	}
}

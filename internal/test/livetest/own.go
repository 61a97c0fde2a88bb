package livetest

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// SessionMillis is how long a server may hang before the cluster considers it dead.
const SessionMillis = 6000

// Moments is how many moments of a load a test tries. BULKLOAD_MOMENTS=20 tries more than a test run has time for.
func Moments(t *testing.T, least int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BULKLOAD_MOMENTS"))
	if err != nil {
		return least
	}
	return n
}

// NewFragile is New with its own cluster of two region servers, so that such tests also run beside others.
func NewFragile(t *testing.T) *Live {
	t.Helper()
	return NewOwn(t, 2)
}

// NewOwn starts a cluster for one test, with that many region servers.
func NewOwn(t *testing.T, servers int) *Live {
	t.Helper()
	testcluster.Use(t) // skips the test before a cluster is started if none is wanted
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: servers, Session: SessionMillis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return On(t, c)
}

// Orphan leaves a file as a server does that hangs past its session and wakes up in the middle of a load: the file is
// in the folder of a region that is open elsewhere and does not know it. The manifest says that a load is in progress.
func (l *Live) Orphan(t *testing.T, date string, n int) {
	t.Helper()
	w := l.Written(t, date)
	f := w.Dir.Manifest.Files()[n]
	region := ""
	for _, line := range strings.Split(strings.TrimSuffix(l.Ask(t, "regions", l.Table), "\n"), "\n") {
		if part := strings.Split(line, "\t"); part[0] <= f.FirstRow {
			region = part[3]
		}
	}
	staging := path.Join(path.Dir(w.Dir.Path), "staging")
	w.Dir.Manifest.Staging = w.Dir.FS.URI(staging)
	w.SaveLoading(t, l.Table)
	// HBase's cache knows blocks by the names of files
	to := path.Join("/hbase/data/default", l.Table, region, "f", strings.ReplaceAll(path.Base(f.Path), "0", "a")+"_SeqId_4_")
	if err := errors.Join(w.Dir.FS.Rename(path.Join(w.Dir.Path, f.Path), to), w.Dir.Close()); err != nil {
		t.Fatal(err)
	}
}

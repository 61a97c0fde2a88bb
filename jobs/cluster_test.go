package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestNightsIntoHBase loads 100,000 rows into a real table and compares every cell with what Java computes for them;
// then a second night beside them, then the first again.
func TestNightsIntoHBase(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	ctx := context.Background()
	const first, second = "2026-11-20", "2026-11-21"
	l.Night(t, first, 100_000, 1)
	l.Night(t, second, 20_000, 2)

	s := runtest.Must(t, l.Job(t, first), l.Options())
	if s.Status != failure.StatusDone || s.Books.Written != 100_000 || s.Load.Files != len(s.Files) || s.Load.Regions != 10 {
		t.Errorf("first night: %s, books %v, load %+v", s.Status, s.Books, s.Load)
	}
	wantFirst := l.Expected(t, first)
	l.WantTable(t, "first night", wantFirst)

	if s := runtest.Must(t, l.Job(t, first), l.Options()); s.Status != failure.StatusNothing {
		t.Errorf("the first night again, without --force: %s", s.Status)
	}

	runtest.Must(t, l.Job(t, second), l.Options())
	wantSecond := l.Expected(t, second)
	l.WantTable(t, "second night beside the first", wantFirst, wantSecond)

	again := l.Options()
	again.Force = true
	if s := runtest.Must(t, l.Job(t, first), again); s.Status != failure.StatusDone || s.Load.Files != len(s.Files) || s.Load.Files == 0 {
		t.Errorf("a reload: %s, load %+v", s.Status, s.Load)
	}
	l.WantTable(t, "first night reloaded", wantFirst, wantSecond)

	for _, date := range []string{first, second} {
		r, err := verify.Job(ctx, l.Job(t, date), l.Options(), true)
		if err != nil || r.Cells != int64(len(map[string][]string{first: wantFirst, second: wantSecond}[date])) || r.ExtraRows == 0 {
			t.Errorf("verify %s against the table: %+v, %v", date, r, err)
		}
	}
	l.WantRowsOfAKey(t, first)
}

// TestDownClusterIsSaidWithinAMinute: a port where nobody listens.
func TestDownClusterIsSaidWithinAMinute(t *testing.T) {
	l := livetest.New(t)
	l.Night(t, "2026-11-20", 100, 6)
	o := l.Options()
	o.Properties = map[string]string{"hbase.zookeeper.quorum": "127.0.0.1", "hbase.zookeeper.property.clientPort": "1"}
	began := time.Now()
	_, err := run.Job(context.Background(), nil, l.Job(t, "2026-11-20"), o)
	if failure.KindOf(err) != failure.Later || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestRowTimestampsIntoHBase: a job with a timestamp a record, of two families, is loaded, also where the process died
// before it could write down what HBase had taken; HBase's client then reads what Java makes of the same text.
func TestRowTimestampsIntoHBase(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "d,x", "4,8,c", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	j := readPayments(t, l.Out)
	j.Table, j.Regions, j.Load, j.HFile.Given = l.Table, jobfile.Regions{From: "table"}, true, nil
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, j, o)

	w := l.Open(t, j)
	files, err := w.Dir.Manifest.Unloaded(w.Dir.FS, w.Dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	w.Dir.Manifest.State = manifest.Loading
	if err := w.Dir.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Loader.Cluster.LoadFrom(context.Background(), w.Dir.FS, l.Table, files[:3], load.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	if s := runtest.Must(t, j, l.Options()); s.Status != failure.StatusDone || s.Load.Files != len(files)-3 {
		t.Errorf("after the crash: %s, load %+v", s.Status, s.Load)
	}
	want := filepath.Join(t.TempDir(), "want")
	l.Ask(t, "payments", jobdir.Joined(t, t.TempDir(), "examples/testdata/payments/2026-11-20/part-*"), "2026-11-20", "-o", want)
	l.WantTable(t, "payments", testfs.Lines(t, want))
	if r, err := verify.Job(context.Background(), j, l.Options(), true); err != nil || r.Missing+r.Different > 0 {
		t.Errorf("verify --live: %+v, %v", r, err)
	}
}

// TestLoadUnderAStrictUmask: HBase takes files that only their owner can read: it moves them as that user.
func TestLoadUnderAStrictUmask(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9")
	l.Night(t, "2026-11-20", 2000, 3)
	o := l.Options()
	o.Properties = map[string]string{"fs.permissions.umask-mode": "077"}
	o.NoLoad = true
	j := l.Job(t, "2026-11-20")
	runtest.Must(t, j, o)
	s, err := site.Open(o, jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	fsys, dir, err := s.Resolve(j.Output, j.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	infos, err := storage.List(fsys, path.Join(dir, "f"))
	if err != nil || len(infos) != 10 {
		t.Fatal(infos, err)
	}
	for _, info := range infos {
		if info.Mode.Perm() != 0o600 {
			t.Errorf("%s has %v", info.Name, info.Mode.Perm())
		}
	}
	o.NoLoad = false
	if s := runtest.Must(t, j, o); s.Load.Files != 10 {
		t.Errorf("load %+v", s.Load)
	}
	if r, err := verify.Job(t.Context(), j, o, true); err != nil || r.Rows != 2000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRateCountsTheCluster: a run's rate covers what goes to and from HDFS: the files are written and read back. The input on
// the local disk is free. verify --live counts the cells that it reads, and shows how many rows it has compared.
func TestRateCountsTheCluster(t *testing.T) {
	l := livetest.New(t)
	l.Night(t, "2026-11-20", 3000, 7)
	j := l.Job(t, "2026-11-20")
	if _, err := plan.Run(t.Context(), j, l.Options(), plan.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	o := l.Options()
	o.Rate = throttle.New(t.Context(), 1<<40)
	summary, err := run.Job(t.Context(), nil, j, o)
	if err != nil {
		t.Fatal(err)
	}
	files := int64(0)
	for _, f := range summary.Files {
		files += f.Bytes
	}
	// Such small files are read more than once when they are opened, and the manifest is saved for each of them.
	if moved := o.Rate.Moved(); moved < 2*files || moved > 6*files {
		t.Errorf("%d bytes counted, for files of %d that are written and read", moved, files)
	}
	o.Rate = throttle.New(t.Context(), 1<<40)
	var mu sync.Mutex
	var steps []options.Progress
	o.Watch = func(p options.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Phase == "compare" {
			steps = append(steps, p)
		}
	}
	r, err := verify.Job(t.Context(), j, o, true)
	if err != nil || r.Missing+r.Different > 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "digest") {
		t.Errorf("a comparison with a table has a digest, though it adds none up: %s, %v", text, err)
	}
	slices.SortFunc(steps, func(a, b options.Progress) int { return cmp.Compare(a.Done, b.Done) })
	// The table has ten regions, and most of them more than 256 rows.
	if last := steps[len(steps)-1]; len(steps) < 15 || steps[0].Done != 0 || last.Done != 3000 || last.Total != 3000 || last.Unit != "rows" {
		t.Errorf("%d steps of the comparison, the last %+v", len(steps), last)
	}
	if moved, least := o.Rate.Moved(), 50*int64(summary.Books.CellsWritten); moved < least {
		t.Errorf("%d bytes counted for %d cells", moved, summary.Books.CellsWritten)
	}
}

package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/upkeep/draft"
	"bulkload/load"
)

// live is the example job against a real HBase, with a table of its own.
type live struct {
	*testcluster.Cluster
	dir   string
	table string
	out   string // in HDFS

	who        jobfile.Kerberos  // who logs in, on a cluster with Kerberos
	properties map[string]string // beside those of the site files
}

// newLive copies jobs/examples/check-hbase.yaml and gives it a table, an input and an output of its own. So the tests with
// a cluster run in parallel: they mostly wait for its servers.
func newLive(t *testing.T) *live {
	t.Helper()
	c := testcluster.Use(t)
	t.Parallel()
	l := liveOn(t, c)
	l.table = c.UniqueTable(t)
	l.retarget(t)
	return l
}

// liveOn is the example job on a cluster, without a table yet.
func liveOn(t *testing.T, c *testcluster.Cluster) *live {
	t.Helper()
	return &live{Cluster: c, dir: t.TempDir()}
}

// retarget writes the job file for the present table.
func (l *live) retarget(t *testing.T) {
	t.Helper()
	l.out = "hdfs:///user/test/" + strings.ReplaceAll(l.table, ":", "_")
	job, err := os.ReadFile("examples/check-hbase.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("tinawang:check", l.table, "testdata/check", "in", "hdfs:///user/tina/hfile/check", l.out).Replace(string(job))
	if err := os.WriteFile(filepath.Join(l.dir, "check.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *live) oracle(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.Oracle(t).Run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// night makes one night's input.
func (l *live) night(t *testing.T, date string, rows int, seed uint64) {
	t.Helper()
	in := filepath.Join(l.dir, "in", date)
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sample.Check(&b, sample.Options{Rows: rows, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "part-m-00000"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *live) job(t *testing.T, date string) *jobfile.Job {
	t.Helper()
	day, err := jobfile.ParseText(date)
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(l.dir, "check.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	j.HBase.Kerberos = l.who
	return j
}

func (l *live) options() options.Options {
	return options.Options{Conf: l.ConfDir(), Properties: maps.Clone(l.properties)}
}

// expected are the cells that Java computes for a night, a line each.
func (l *live) expected(t *testing.T, date string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "expected")
	l.oracle(t, "expect", filepath.Join(l.dir, "in", date, "part-m-00000"), strings.Join(sample.CheckColumns, ","), "check_id", "id", "10", "f",
		fmt.Sprint(l.job(t, date).Timestamp), "-o", out)
	return readLines(t, out)
}

// wantTable compares every cell of every version in the table, read by HBase's own client.
func (l *live) wantTable(t *testing.T, what string, want ...[]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scanned")
	l.oracle(t, "scan", l.table, "-o", out)
	got, all := readLines(t, out), slices.Concat(want...)
	slices.Sort(all)
	if len(got) != len(all) {
		t.Errorf("%s: the table has %d cells, want %d", what, len(got), len(all))
	}
	for i := range min(len(got), len(all)) {
		if got[i] != all[i] {
			t.Fatalf("%s: cell %d is\n%s\nwant\n%s", what, i, got[i], all[i])
		}
	}
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestNightsIntoHBase loads 100,000 rows into a real table and compares every cell with what Java computes for them;
// then a second night beside them, then the first again.
func TestNightsIntoHBase(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	ctx := context.Background()
	const first, second = "2026-11-20", "2026-11-21"
	l.night(t, first, 100_000, 1)
	l.night(t, second, 20_000, 2)

	s := mustRun(t, l.job(t, first), l.options())
	if s.Status != failure.StatusDone || s.Books.Written != 100_000 || s.Load.Files != len(s.Files) || s.Load.Regions != 10 {
		t.Errorf("first night: %s, books %v, load %+v", s.Status, s.Books, s.Load)
	}
	wantFirst := l.expected(t, first)
	l.wantTable(t, "first night", wantFirst)

	if s := mustRun(t, l.job(t, first), l.options()); s.Status != failure.StatusNothing {
		t.Errorf("the first night again, without --force: %s", s.Status)
	}

	mustRun(t, l.job(t, second), l.options())
	wantSecond := l.expected(t, second)
	l.wantTable(t, "second night beside the first", wantFirst, wantSecond)

	again := l.options()
	again.Force = true
	if s := mustRun(t, l.job(t, first), again); s.Status != failure.StatusDone || s.Load.Files != len(s.Files) || s.Load.Files == 0 {
		t.Errorf("a reload: %s, load %+v", s.Status, s.Load)
	}
	l.wantTable(t, "first night reloaded", wantFirst, wantSecond)

	for _, date := range []string{first, second} {
		r, err := verify.Job(ctx, l.job(t, date), l.options(), true)
		if err != nil || r.Cells != int64(len(map[string][]string{first: wantFirst, second: wantSecond}[date])) || r.ExtraRows == 0 {
			t.Errorf("verify %s against the table: %+v, %v", date, r, err)
		}
	}
	l.wantRowsOfAKey(t, first)
}

// wantRowsOfAKey gets one query key's rows from the table.
func (l *live) wantRowsOfAKey(t *testing.T, date string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(l.dir, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(content), "\x01")[1]
	want := strings.Count(string(content), "\x01"+key+"\x01")
	r, err := lookup.Get(context.Background(), l.job(t, date), l.options(), []string{key}, "")
	if err != nil || len(r.Rows) != want || want == 0 {
		t.Errorf("get %s: %d rows, want %d (%v)", key, len(r.Rows), want, err)
	}
	for _, row := range r.Rows {
		if i := slices.IndexFunc(row.Cells, func(c lookup.GotCell) bool { return c.Qualifier == "check_id" }); i < 0 || row.Cells[i].Value != key {
			t.Errorf("get %s: row %s is another key's", key, row.Row)
		}
	}
}

// TestGetOfSaltsInHBase: a reader who doesn't know the salt finds all rows, by a scan for each.
func TestGetOfSaltsInHBase(t *testing.T) {
	l := newLive(t)
	path := filepath.Join(l.dir, "check.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	salted := strings.Replace(string(text), "salt(check_id, 10) + md5(check_id) + id", "random_salt(20) + check_id + '-' + id", 1)
	if err := os.WriteFile(path, []byte(salted), 0o600); err != nil {
		t.Fatal(err)
	}
	var splits []string
	for i := 1; i < 20; i++ {
		splits = append(splits, fmt.Sprintf("%02d", i))
	}
	l.oracle(t, "create", l.table, "f", strings.Join(splits, ","))
	const date = "2026-11-20"
	l.night(t, date, 2000, 1)
	mustRun(t, l.job(t, date), l.options())
	l.wantRowsOfAKey(t, date)
	if r, err := lookup.Get(context.Background(), l.job(t, date), l.options(), []string{"nobody's"}, ""); err != nil || r.Scans != 20 || len(r.Rows) != 0 {
		t.Errorf("get of a key that is not there: %+v, %v", r, err)
	}
}

// convert writes the job file that replaces the Spark job for the present table.
func (l *live) convert(t *testing.T) {
	t.Helper()
	namespace, table, named := strings.Cut(l.table, ":")
	if !named {
		namespace, table = "default", l.table
	}
	properties := filepath.Join(l.dir, "check.properties")
	text := fmt.Sprintf("namespace=%s\ntableName=%s\ncf=f\npreRegions=10\nuniqCol=id\nqueryKey=check_id\ncols=%s\ninputPathPrefix=file://%s\nhfilePathPrefix=%s\n",
		namespace, table, strings.Join(sample.CheckColumns, ","), filepath.Join(l.dir, "in"), strings.TrimPrefix(l.out, "hdfs://"))
	if err := os.WriteFile(properties, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	job, err := draft.ConvertFile(properties)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "check.yaml"), job, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantDraft drafts a job file from the table itself, which gives its rows the keys that they have, and has its columns.
func (l *live) wantDraft(t *testing.T) {
	t.Helper()
	text, err := draft.ForTable(context.Background(), l.table, l.options())
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Parse("draft.yaml", bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var names []string
	for _, c := range j.Columns {
		names = append(names, c.Name)
	}
	wanted := slices.Sorted(slices.Values(sample.CheckColumns))
	if j.RowKey.String() != "salt(check_id, 10) + md5(check_id) + id" || j.Table != l.table || !slices.Equal(names, wanted) || j.Columns[0].Family != "f" {
		t.Errorf("%s of %s, %v", j.RowKey, j.Table, names)
	}
	for _, want := range []string{"from 200 rows at the beginning of 8 regions", "which has 10 regions", "# Family f: SNAPPY, FAST_DIFF, bloom ROW, blocks of 64.0 KiB", "f:amount: 200 rows, "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the draft does not say %q:\n%s", want, text[:min(len(text), 3000)])
		}
	}
	if _, err := draft.ForTable(context.Background(), l.table+"_none", l.options()); failure.KindOf(err) != failure.Refused {
		t.Errorf("of a table that does not exist: %v", err)
	}
}

// TestPlanCreatesTheTable: plan suggests splits and settings for a table that is not there, and makes it. The job is one that convert
// made: the table has the cells that Java computes by the rule of the Spark job.
func TestPlanCreatesTheTable(t *testing.T) {
	l := newLive(t)
	l.convert(t)
	l.night(t, "2026-11-20", 2000, 3)
	ctx := context.Background()
	j := l.job(t, "2026-11-20")
	if _, err := Run(ctx, j, l.options()); err == nil || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), l.table) {
		t.Errorf("a run without its table: %v", err)
	}
	planned, err := plan.Run(ctx, j, l.options(), plan.Options{Create: true})
	if err != nil || !planned.Created || len(planned.Splits) != 9 || planned.Rows != 2000 {
		t.Fatalf("plan with create: %+v, %v", planned, err)
	}
	if n := strings.Count(l.oracle(t, "regions", l.table), "\n"); n != 10 {
		t.Errorf("the table has %d regions", n)
	}
	again, err := plan.Run(ctx, j, l.options(), plan.Options{Create: true})
	if err != nil || again.Created || !again.Existed || len(again.Regions) != 10 {
		t.Errorf("creating it again: %+v, %v", again, err)
	}
	other := *j
	other.Regions = jobfile.Regions{From: "splits", Splits: [][]byte{[]byte("55")}}
	if _, err := plan.Run(ctx, &other, l.options(), plan.Options{Create: true}); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "exists already, with 10 regions") {
		t.Errorf("with other regions: %v", err)
	}
	if s := mustRun(t, j, l.options()); s.Load.Files != 10 {
		t.Errorf("load %+v", s.Load)
	}
	l.wantTable(t, "created by plan", l.expected(t, "2026-11-20"))
	l.wantDraft(t)

	other.Regions, other.Table = j.Regions, strings.ReplaceAll(l.table, ":", "_")+"_new:t"
	t.Cleanup(func() { l.oracle(t, "drop", other.Table, "-if-exists") })
	namespace, _, _ := strings.Cut(other.Table, ":")
	if r, err := plan.Run(ctx, &other, l.options(), plan.Options{Create: true}); err != nil || !r.Created || r.CreatedNamespace != namespace {
		t.Errorf("in a namespace that is not there: %+v, %v", r, err)
	}
}

// TestLiveRefusals: what the table says against a job is said before anything is written.
func TestLiveRefusals(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.night(t, "2026-11-20", 100, 4)
	refused := func(what, want string, change func(*jobfile.Job)) {
		j := l.job(t, "2026-11-20")
		change(j)
		_, err := Run(context.Background(), j, l.options())
		if err == nil || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		if words := testwords.Doubled(fmt.Sprint(err)); words != "" {
			t.Errorf("%s: the error says %q twice: %v", what, words, err)
		}
	}
	refused("a salt that begins no region", "does not suit the region boundaries", func(*jobfile.Job) {})
	refused("a table that is not there", "nowhere", func(j *jobfile.Job) { j.Table = "nowhere" })
	l.oracle(t, "split", l.table, "4")
	refused("a family that is not there", "has no family g; it has f", func(j *jobfile.Job) {
		for i := range j.Columns {
			j.Columns[i].Family = "g"
		}
	})
	refused("a contradiction", "hfile.compression is GZ, but table", func(j *jobfile.Job) {
		j.HFile.Given = map[string]bool{"compression": true}
		j.HFile.Settings.Compression = 1
	})
}

// TestFilesWithoutLoadThenLoadDir: --no-load leaves the files, load hands them over, and the job knows.
func TestFilesWithoutLoadThenLoadDir(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.night(t, "2026-11-20", 3000, 5)
	ctx := context.Background()
	o := l.options()
	o.NoLoad = true
	s := mustRun(t, l.job(t, "2026-11-20"), o)
	if s.Load.Requested || len(s.Files) != 10 {
		t.Errorf("without load: %d files, load %+v", len(s.Files), s.Load)
	}
	if _, err := verify.Job(ctx, l.job(t, "2026-11-20"), o, false); err != nil {
		t.Error(err)
	}
	r, err := loading.Directory(ctx, l.out+"/2026-11-20", l.table, l.options())
	if err != nil || r.Load.Files != 10 {
		t.Fatalf("load the directory: %+v, %v", r, err)
	}
	l.wantTable(t, "loaded by hand", l.expected(t, "2026-11-20"))
	if s := mustRun(t, l.job(t, "2026-11-20"), l.options()); s.Status != failure.StatusNothing {
		t.Errorf("the job after that: %s", s.Status)
	}
}

// TestLoadDirAcrossRegions: files of a job are cut for another table with other boundaries.
func TestLoadDirAcrossRegions(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	other := l.UniqueTable(t)
	l.oracle(t, "create", other, "f", "15,55", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.night(t, "2026-11-20", 1000, 6)
	o := l.options()
	o.NoLoad = true
	mustRun(t, l.job(t, "2026-11-20"), o)
	r, err := loading.Directory(context.Background(), l.out+"/2026-11-20", other, l.options())
	if err != nil || r.Load.Files != 12 {
		t.Errorf("%+v, %v, want the files of two regions cut", r, err)
	}
	mine := l.table
	l.table = other
	l.wantTable(t, "for another table", l.expected(t, "2026-11-20"))
	l.table = mine
}

// TestDownClusterIsSaidWithinAMinute: a port where nobody listens.
func TestDownClusterIsSaidWithinAMinute(t *testing.T) {
	l := newLive(t)
	l.night(t, "2026-11-20", 100, 6)
	o := l.options()
	o.Properties = map[string]string{"hbase.zookeeper.quorum": "127.0.0.1", "hbase.zookeeper.property.clientPort": "1"}
	began := time.Now()
	_, err := Run(context.Background(), l.job(t, "2026-11-20"), o)
	if failure.KindOf(err) != failure.Later || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestLoadThatDiedUnrecorded: HBase took the files and the process died before it could write that down. The same
// command finds the rows in the table and is done.
func TestLoadThatDiedUnrecorded(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.night(t, "2026-11-20", 1000, 7)
	ctx := context.Background()
	j, o := l.job(t, "2026-11-20"), l.options()
	o.NoLoad = true
	mustRun(t, j, o)

	w := l.work(t, j)
	files, err := w.out.Manifest.Unloaded(w.out.FS, w.out.Path)
	if err != nil {
		t.Fatal(err)
	}
	w.out.Manifest.State = manifest.Loading
	if err := w.out.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.loader.Cluster.LoadFrom(ctx, w.out.FS, l.table, files[:4], load.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, j, l.options()); failure.KindOf(err) != failure.Later || !strings.Contains(err.Error(), "is locked by process") {
		t.Errorf("a run beside another one: %v", err)
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}

	s := mustRun(t, j, l.options())
	if s.Status != failure.StatusDone || s.Load.Files != len(files)-4 {
		t.Errorf("after the crash: %s, load %+v", s.Status, s.Load)
	}
	l.wantTable(t, "after the crash", l.expected(t, "2026-11-20"))
}

// TestRowTimestampsIntoHBase: a job with a timestamp a record, of two families, is loaded, also where the process died
// before it could write down what HBase had taken; HBase's client then reads what Java makes of the same text.
func TestRowTimestampsIntoHBase(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "d,x", "4,8,c", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	j := readPayments(t, l.out)
	j.Table, j.Regions, j.Load, j.HFile.Given = l.table, jobfile.Regions{From: "table"}, true, nil
	o := l.options()
	o.NoLoad = true
	mustRun(t, j, o)

	w := l.work(t, j)
	files, err := w.out.Manifest.Unloaded(w.out.FS, w.out.Path)
	if err != nil {
		t.Fatal(err)
	}
	w.out.Manifest.State = manifest.Loading
	if err := w.out.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.loader.Cluster.LoadFrom(context.Background(), w.out.FS, l.table, files[:3], load.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	if s := mustRun(t, j, l.options()); s.Status != failure.StatusDone || s.Load.Files != len(files)-3 {
		t.Errorf("after the crash: %s, load %+v", s.Status, s.Load)
	}
	want := filepath.Join(t.TempDir(), "want")
	l.oracle(t, "payments", joined(t, t.TempDir(), "examples/testdata/payments/2026-11-20/part-*"), "2026-11-20", "-o", want)
	l.wantTable(t, "payments", readLines(t, want))
	if r, err := verify.Job(context.Background(), j, l.options(), true); err != nil || r.Missing+r.Different > 0 {
		t.Errorf("verify --live: %+v, %v", r, err)
	}
}

// TestLostFile: files that are gone and whose rows are not in the table are not taken for loaded: they are written again,
// be it one or all.
func TestLostFile(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all=%v", all), func(t *testing.T) {
			l := newLive(t)
			l.table10(t)
			l.night(t, "2026-11-20", 1000, 8)
			j, o := l.job(t, "2026-11-20"), l.options()
			o.NoLoad = true
			mustRun(t, j, o)
			w := l.work(t, j)
			w.out.Manifest.State = manifest.Loading
			if err := w.out.Save(); err != nil {
				t.Fatal(err)
			}
			lost := w.out.Manifest.Files()
			if !all {
				lost = lost[:1]
			}
			for _, f := range lost {
				if err := w.out.FS.Remove(path.Join(w.out.Path, f.Path)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.out.Close(); err != nil {
				t.Fatal(err)
			}
			if s := mustRun(t, j, l.options()); s.Status != failure.StatusDone || s.Load.Files != len(s.Files) {
				t.Errorf("%d lost: %s, load %+v", len(lost), s.Status, s.Load)
			}
			l.wantDigest(t, fmt.Sprintf("%d lost", len(lost)), "2026-11-20")
			l.wantAgain(t, "2026-11-20")
		})
	}
}

// openOutput is the locked output of a job, as a run has it.
type openOutput struct {
	out    *output.Dir
	loader *loading.Loader
}

// work opens a job's output as a run does. The test closes it.
func (l *live) work(t *testing.T, j *jobfile.Job) *openOutput {
	t.Helper()
	o, err := l.options().WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(o, j.HBase, true)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(j, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, src) })
	c, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, c) })
	log, err := s.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, log) })
	w := &openOutput{out: &output.Dir{Job: j, Options: o, Site: s, Source: src}}
	w.loader = &loading.Loader{Out: w.out, Cluster: c, Ledger: log}
	if err := w.out.Open(context.Background(), func(error) {}); err != nil {
		t.Fatal(err)
	}
	if w.out.Manifest, err = manifest.Read(w.out.FS, w.out.Path); err != nil {
		t.Fatal(err)
	}
	return w
}

func closeAll(t *testing.T, all ...io.Closer) {
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLoadUnderAStrictUmask: HBase takes files that only their owner can read: it moves them as that user.
func TestLoadUnderAStrictUmask(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9")
	l.night(t, "2026-11-20", 2000, 3)
	o := l.options()
	o.Properties = map[string]string{"fs.permissions.umask-mode": "077"}
	o.NoLoad = true
	j := l.job(t, "2026-11-20")
	mustRun(t, j, o)
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
	if s := mustRun(t, j, o); s.Load.Files != 10 {
		t.Errorf("load %+v", s.Load)
	}
	if r, err := verify.Job(t.Context(), j, o, true); err != nil || r.Rows != 2000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRateCountsTheCluster: a run's rate covers what goes to and from HDFS: the files are written and read back. The input on
// the local disk is free. verify --live counts the cells that it reads, and shows how many rows it has compared.
func TestRateCountsTheCluster(t *testing.T) {
	l := newLive(t)
	l.night(t, "2026-11-20", 3000, 7)
	j := l.job(t, "2026-11-20")
	if _, err := plan.Run(t.Context(), j, l.options(), plan.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	o := l.options()
	o.Rate = throttle.New(t.Context(), 1<<40)
	summary, err := Run(t.Context(), j, o)
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

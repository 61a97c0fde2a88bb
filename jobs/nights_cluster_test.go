package jobs

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
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
	if s.Status != failure.StatusDone || s.Counts.Written != 100_000 || s.Load.Files != len(s.Files) || s.Load.Regions != 10 {
		t.Errorf("first night: %s, counts %v, load %+v", s.Status, s.Counts, s.Load)
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
		cells := len(map[string][]string{first: wantFirst, second: wantSecond}[date])
		// Of an earlier night nothing is read.
		if err != nil || r.Cells != int64(cells) || (r.ExtraRows > 0) != (date == first) {
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
	j.Table, j.Regions, j.Load, j.HFile.Given = l.Table, jobfile.RegionSettings{From: "table"}, true, nil
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, j, o)

	w := l.Open(t, j)
	files, err := w.Dir.Manifest.Unloaded(w.Dir.FS, w.Dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	w.SaveLoading(t, l.Table)
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

// TestRateCountsTheCluster: a run's rate covers what goes to and from HDFS: the files are written and read back. The
// input on the local disk is free. verify --live counts the cells that it reads, and shows how many rows it has
// compared.
func TestRateCountsTheCluster(t *testing.T) {
	l := livetest.New(t)
	l.Night(t, "2026-11-20", 3000, 7)
	j := l.Job(t, "2026-11-20")
	if _, err := plan.Run(t.Context(), j, l.Options(), plan.PlanOptions{Create: true}); err != nil {
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
	if moved, least := o.Rate.Moved(), 50*int64(summary.Counts.CellsWritten); moved < least {
		t.Errorf("%d bytes counted for %d cells", moved, summary.Counts.CellsWritten)
	}
}

// wantDamaged wants exit code 6 and an error that names a file and a block of it.
func wantDamaged(t *testing.T, what string, err error, file, block string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != failure.Differs {
		t.Errorf("%s: %v, want a difference", what, err)
		return
	}
	if !testwords.Names(err, file, block, "DataNode 127.0.0.1:", "CRC32C") {
		t.Errorf("%s: %v; want the file %s, its block %s, the DataNode and the sum in it", what, err, file, block)
	}
}

// TestDamagedInput: a byte of an input changes on a DataNode's disk. No form of input lets it through.
func TestDamagedInput(t *testing.T) {
	l := livetest.New(t)
	night := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("examples/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	l.Night(t, "2026-11-20", 3000, 4711)
	text, err := os.ReadFile(filepath.Join(l.Folder, "in/2026-11-20/part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, job string
		content   []byte
	}{
		{"part-m-00000", "check", text},
		{"part-m-00000.gz", "check", zipped.Bytes()},
		{"check.csv", "check-csv", night("check-csv/2026-11-20/check.csv")},
		{"part-00000.zstd.parquet", "check-parquet", night("check-parquet/2026-11-20/part-00000.zstd.parquet")},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := jobfile.Read(filepath.Join("examples", c.job+".yaml"), jobfile.ReadOptions{Date: jobdir.Date})
			if err != nil {
				t.Fatal(err)
			}
			in := l.Out + "-in/" + c.name
			fsys, name := l.HDFS(t, in)
			if err := fsys.MkdirAll(path.Dir(name), 0); err != nil {
				t.Fatal(err)
			}
			if err := storage.CreateFile(fsys, name, c.content); err != nil {
				t.Fatal(err)
			}
			j.Input.Path, j.Input.RequireSuccess, j.Output = in, false, t.TempDir()
			runtest.Must(t, j, l.Options())
			block := l.Damage(t, in, int64(len(c.content)/2))
			_, err = verify.Job(context.Background(), j, l.Options(), false)
			wantDamaged(t, "verify", err, name, block)
			j.Output = t.TempDir()
			var notes []string
			o := l.Options()
			o.Say = func(s string) { notes = append(notes, s) }
			_, err = run.Job(context.Background(), nil, j, o)
			wantDamaged(t, "run", err, name, block)
			if made, err := filepath.Glob(filepath.Join(j.Output, "f", "*")); err != nil || len(made) > 0 {
				t.Errorf("HFiles were written: %q, %v", made, err)
			}
			if !strings.Contains(strings.Join(notes, "\n"), "the replica of block "+block) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// TestDamagedHFile: a byte of a finished HFile changes on a DataNode's disk. Nothing reads it as if it were right, and
// it is not loaded; --force writes it anew.
func TestDamagedHFile(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const date = "2026-11-20"
	l.Night(t, date, 1000, 4712)
	ctx, j, o := context.Background(), l.Job(t, date), l.Options()
	unloaded := o
	unloaded.NoLoad = true
	s := runtest.Must(t, j, unloaded)
	dir := l.Out + "/" + date
	uri := dir + "/" + s.Files[3].Path
	block := l.Damage(t, uri, 100) // of the first data block
	file := s.Files[3].Path

	_, err := verify.Job(ctx, j, unloaded, false)
	wantDamaged(t, "verify", err, file, block)
	_, err = verify.Dir(ctx, dir, o)
	wantDamaged(t, "verify DIR", err, file, block)
	_, err = lookup.Inspect(ctx, uri, o, false, func(*cell.Cell) error { return nil })
	wantDamaged(t, "inspect", err, file, block)
	_, err = lookup.Get(ctx, j, o, []string{keyOf(t, l, date, s.Files[3].FirstRow)}, dir)
	wantDamaged(t, "get --from", err, file, block)
	r, err := loading.Directory(ctx, dir, l.Table, o)
	wantDamaged(t, "load DIR", err, file, block)
	if r.Load.Files != 0 {
		t.Errorf("load DIR loaded %d files", r.Load.Files)
	}
	_, err = run.Job(ctx, nil, j, o)
	wantDamaged(t, "run", err, file, block)
	l.WantTable(t, "nothing is loaded", []string{""})

	again := o
	again.Force = true
	runtest.Must(t, j, again)
	l.WantTable(t, "written anew", l.Expected(t, date))
}

// keyOf returns the query key of a night's row: of the salt, 32 digits, and the record's id.
func keyOf(t *testing.T, l *livetest.Live, date, row string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(l.Folder, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range strings.Split(string(content), "\x10") {
		if fields := strings.Split(record, "\x01"); fields[0] == row[1+32:] {
			return fields[1]
		}
	}
	t.Fatalf("no record of row %s", row)
	return ""
}

// TestEmptyNightGivesWay: a night whose export was empty is loaded as soon as it is not, also where its output was
// deleted in the meantime; a night that was exported anew is loaded anew when that is asked for.
func TestEmptyNightGivesWay(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const second = "2026-11-21"
	reload := func(what, night string, change options.OnChange, status string, rows int64) {
		t.Helper()
		o := l.Options()
		o.OnChange = change
		if s := runtest.Must(t, l.Job(t, night), o); s.Status != status || s.Counts.Written != rows {
			t.Errorf("%s: %s, counts %v", what, s.Status, s.Counts)
		}
	}
	l.Night(t, livetest.Night20, 0, 71)
	reload("empty", livetest.Night20, "", failure.StatusEmpty, 0)
	l.Night(t, livetest.Night20, 500, 71)
	reload("exported late", livetest.Night20, "", failure.StatusDone, 500)
	l.Night(t, second, 0, 72)
	reload("empty", second, "", failure.StatusEmpty, 0)
	l.WithoutOutput(t, second)
	l.Night(t, second, 500, 72)
	reload("exported late, its output gone", second, "", failure.StatusDone, 500)

	for i, what := range []string{"exported anew", "exported anew, its output gone"} {
		l.Night(t, livetest.Night20, 600+i, 71)
		if i > 0 {
			l.WithoutOutput(t, livetest.Night20)
		}
		if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "--on-change reload") {
			t.Errorf("%s: %v", what, err)
		}
		reload(what, livetest.Night20, options.Reload, failure.StatusDone, int64(600+i))
	}
	reload("unchanged", livetest.Night20, options.Reload, failure.StatusNothing, 601)
	l.WantTable(t, "two nights", l.Expected(t, livetest.Night20), l.Expected(t, second))
}

// liveOutputsJob feeds a table, its index and a wide table of a real HBase.
const liveOutputsJob = `input: {path: 'in/${date}', columns: [order_id, seller, buyer, ts, amount, note], field_delimiter: '|', max_rejects: 100}
family: f
regions: {from: table}
load: true
outputs:
- table: TABLE0
  rowkey: md5(seller, 6) + pad(seller, 8, '0') + desc(ts) + order_id
  query: [seller]
  output: OUT/seller
- table: TABLE1
  rowkey: reverse(order_id, 12)
  query: [order_id]
  cells: [seller, buyer, ts]
  output: OUT/index
- table: TABLE2
  rowkey: pad(buyer, 8, '0')
  wide: {qualifier: desc(ts) + order_id, value: amount}
  query: [buyer, ts, order_id]
  output: OUT/wide
`

// TestSeveralTablesAreLoaded loads three tables from one reading, stopped when the first has its files: the same
// command loads the others, and HBase's own client finds in all of them what the source says.
func TestSeveralTablesAreLoaded(t *testing.T) {
	l, tables, j, dir := firstOfSeveral(t)
	if got := scanned(t, l, tables[1]); len(got) != 0 {
		t.Errorf("the index has %d cells before its turn", len(got))
	}
	s := runtest.Must(t, j, l.Options())
	for i, want := range []string{failure.StatusNothing, failure.StatusDone, failure.StatusDone} {
		if s.Outputs[i].Status != want {
			t.Errorf("%s: %s", s.Outputs[i].Run.Table, s.Outputs[i].Status)
		}
		if cells := len(scanned(t, l, tables[i])); int64(cells) != s.Outputs[i].Counts.CellsWritten || cells == 0 {
			t.Errorf("%s has %d cells, the counts say %v", tables[i], cells, s.Outputs[i].Counts)
		}
	}
	if r, err := verify.Job(context.Background(), j, l.Options(), true); err != nil || r.Extra != 0 || r.Outputs[2].Rows != s.Outputs[2].Counts.TableRows {
		t.Errorf("verify the tables: %+v, %v", r, err)
	}
	if again := runtest.Must(t, j, l.Options()); again.Status != failure.StatusNothing {
		t.Errorf("a run after that says %s", again.Status)
	}
	askFor(t, l, j, dir)
}

// firstOfSeveral makes three tables and a job that feeds them, and runs it until the first has its files.
func firstOfSeveral(t *testing.T) (l *livetest.Live, tables []string, j *jobfile.Job, dir string) {
	t.Helper()
	c := testcluster.Use(t)
	t.Parallel()
	l = &livetest.Live{Cluster: c}
	text := liveOutputsJob
	for i, splits := range []string{"4,8,c", "5", "00001000"} {
		table := c.UniqueTable(t)
		tables = append(tables, table)
		l.Ask(t, "create", table, "f", splits, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROWCOL")
		text = strings.ReplaceAll(text, fmt.Sprint("TABLE", i), table)
	}
	out := "hdfs:///user/test/outputs_" + strings.ReplaceAll(tables[0], ":", "_")
	dir = jobdir.Orders(t, strings.ReplaceAll(text, "OUT", out), 3000)
	j, err := jobfile.Read(filepath.Join(dir, "orders.yaml"), jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := l.Options()
	o.Failpoint = func(p options.Point) {
		if p == options.Loaded {
			cancel()
		}
	}
	if _, err := run.Job(ctx, nil, j, o); failure.KindOf(err) != failure.Interrupted {
		t.Fatalf("stopped after the first load: %v", err)
	}
	return l, tables, j, dir
}

// TestTableOfTheLedgerIsAskedAgain: the first of several tables was loaded before, as only the ledger knows, and is
// truncated while the others are loaded.
func TestTableOfTheLedgerIsAskedAgain(t *testing.T) {
	l, tables, j, _ := firstOfSeveral(t)
	fsys, folder := l.HDFS(t, j.Outputs[0].Output)
	if err := fsys.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	o, loads := l.Options(), 0
	o.Failpoint = func(p options.Point) {
		if p != options.Loaded {
			return
		}
		if loads++; loads == 1 {
			l.Ask(t, "truncate", tables[0])
		}
	}
	s, err := run.Job(context.Background(), nil, j, o)
	if failure.KindOf(err) != failure.Refused || failure.CodeOf(err) != errcode.LoadLost || loads != 2 {
		t.Errorf("%s: %v (%d loads)", s.Status, err, loads)
	}
}

func scanned(t *testing.T, l *livetest.Live, table string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scanned")
	l.Ask(t, "scan", table, "-o", file)
	return slices.DeleteFunc(testfs.Lines(t, file), func(line string) bool { return line == "" })
}

// askFor finds the first order in all three tables.
func askFor(t *testing.T, l *livetest.Live, j *jobfile.Job, dir string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "in/2026-11-20/part-0"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	order := strings.Split(line, "|")
	for i, c := range []struct{ query, want string }{
		{order[1], order[0]}, {order[0], order[2]}, {order[2] + " " + order[3] + " " + order[0], order[4]},
	} {
		r, err := lookup.Get(context.Background(), j.Outputs[i], l.Options(), strings.Fields(c.query), "")
		found := slices.ContainsFunc(r.Rows, func(row lookup.GotRow) bool {
			return slices.ContainsFunc(row.Cells, func(cell lookup.GotCell) bool { return cell.Value == c.want })
		})
		if err != nil || !found || i == 2 && (len(r.Rows) != 1 || len(r.Rows[0].Cells) != 1) {
			t.Errorf("%s in table %s: %+v, %v", c.query, j.Outputs[i].Table, r.Rows, err)
		}
	}
}

// TestRangeIsAskedAgain: what a range of dates has loaded is asked for at its end, since the table may have changed
// while the later dates were loaded; also if each date has replaced the output of the one before.
func TestRangeIsAskedAgain(t *testing.T) {
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprintf("one output %t", share), func(t *testing.T) {
			l := livetest.New(t)
			l.Table10(t)
			l.Night(t, livetest.Night19, 600, 63)
			l.Night(t, livetest.Night20, 400, 64)
			both := Series{l.Job(t, livetest.Night19), l.Job(t, livetest.Night20)}
			for _, j := range both {
				if share {
					j.Output = l.Out + "/both"
				}
			}
			var heard []string
			run := func(change func()) error {
				heard = nil
				o := SeveralOptions{Options: l.Options()}
				o.Force = share
				o.Ended = func(s *summary.Summary, err error, _ time.Duration) {
					if heard = append(heard, fmt.Sprintf("%s %t", s.Run.Date, err == nil)); len(heard) == len(both) {
						change()
					}
				}
				_, err := RunSeveral(context.Background(), []Series{both}, o)
				return err
			}
			if err := run(func() {
				l.Ask(t, "move", l.Table, "4")
				l.Ask(t, "split", l.Table, "48")
			}); err != nil || len(heard) != 2 {
				t.Errorf("a region was moved and split: %v, %v", heard, err)
			}
			err := run(func() { l.Ask(t, "truncate", l.Table, "-preserve") })
			if failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "for "+livetest.Night19) || !slices.Equal(heard, []string{livetest.Night19 + " true", livetest.Night20 + " true", livetest.Night19 + " false"}) {
				t.Errorf("truncated: %v, %v", heard, err)
			}
		})
	}
}

// TestRangeWithAnEmptyDate: a date without rows, whose output a later date of the range has replaced, is nothing to ask
// for.
func TestRangeWithAnEmptyDate(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night19, 0, 63)
	l.Night(t, livetest.Night20, 100, 64)
	both := Series{l.Job(t, livetest.Night19), l.Job(t, livetest.Night20)}
	for _, j := range both {
		j.Output = l.Out + "/both"
	}
	o := SeveralOptions{Options: l.Options()}
	o.Force = true
	if _, err := RunSeveral(context.Background(), []Series{both}, o); err != nil {
		t.Error(err)
	}
}

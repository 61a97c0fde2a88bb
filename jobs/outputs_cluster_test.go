package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

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

// TestSeveralTablesAreLoaded loads three tables from one reading, stopped when the first has its files: the same command
// loads the others, and HBase's own client finds in all of them what the source says.
func TestSeveralTablesAreLoaded(t *testing.T) {
	c := testcluster.Use(t)
	t.Parallel()
	l := &livetest.Live{Cluster: c}
	text := liveOutputsJob
	var tables []string
	for i, splits := range []string{"4,8,c", "5", "00001000"} {
		table := c.UniqueTable(t)
		tables = append(tables, table)
		l.Ask(t, "create", table, "f", splits, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROWCOL")
		text = strings.ReplaceAll(text, fmt.Sprint("TABLE", i), table)
	}
	out := "hdfs:///user/test/outputs_" + strings.ReplaceAll(tables[0], ":", "_")
	dir := jobdir.Orders(t, strings.ReplaceAll(text, "OUT", out), 3000)
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
	if got := scanned(t, l, tables[1]); len(got) != 0 {
		t.Errorf("the index has %d cells before its turn", len(got))
	}
	s := runtest.Must(t, j, l.Options())
	for i, want := range []string{failure.StatusNothing, failure.StatusDone, failure.StatusDone} {
		if s.Outputs[i].Status != want {
			t.Errorf("%s: %s", s.Outputs[i].Run.Table, s.Outputs[i].Status)
		}
		if cells := len(scanned(t, l, tables[i])); int64(cells) != s.Outputs[i].Books.CellsWritten || cells == 0 {
			t.Errorf("%s has %d cells, the books say %v", tables[i], cells, s.Outputs[i].Books)
		}
	}
	if r, err := verify.Job(context.Background(), j, l.Options(), true); err != nil || r.Extra != 0 || r.Outputs[2].Rows != s.Outputs[2].Books.TableRows {
		t.Errorf("verify the tables: %+v, %v", r, err)
	}
	if again := runtest.Must(t, j, l.Options()); again.Status != failure.StatusNothing {
		t.Errorf("a run after that says %s", again.Status)
	}
	askFor(t, l, j, dir)
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

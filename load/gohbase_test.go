package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/test/testcluster"

	"github.com/sirupsen/logrus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

// gohbase's client is the second opinion for our reading.

func (l *lab) gohbase() gohbase.Client {
	l.Helper()
	logrus.SetOutput(io.Discard)
	keeper := l.servers.finder.(*zooKeeper)
	client := gohbase.NewClient(keeper.String(), gohbase.ZookeeperRoot(keeper.parent), gohbase.EffectiveUser(testUser))
	l.Cleanup(client.Close)
	return client
}

// gohbaseScan visits all cells of a table.
func gohbaseScan(ctx context.Context, client gohbase.Client, table string, visit func(*hrpc.Cell)) error {
	request, err := hrpc.NewScanStr(ctx, table, hrpc.MaxResultSize(2<<20), hrpc.NumberOfRows(1<<31-1), hrpc.CacheBlocks(false))
	if err != nil {
		return err
	}
	rows := client.Scan(request)
	for {
		row, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range row.Cells {
			visit(c)
		}
	}
}

// TestScanAsGohbase: on a table with deleted rows, overwritten cells, two families and several regions, gohbase's
// client reads the same cells in the same order.
func TestScanAsGohbase(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, _ := wide(l)
	again := l.writeCells("again", "f", fmt.Sprintf("%x\tf\t%x\t9\tPut\t%x\n", "r05", "q07", "newer"), "r05", "r05")
	other := l.writeCells("other", "g", fmt.Sprintf("%x\tg\t%x\t3\tPut\t%x\n", "r05", "a", "of g"), "r05", "r05")
	if _, _, err := l.load(table, again, other); err != nil {
		t.Fatal(err)
	}
	l.oracle("delete", table, "r12")
	var theirs, ours []string
	err := gohbaseScan(t.Context(), l.gohbase(), table, func(c *hrpc.Cell) {
		theirs = append(theirs, fmt.Sprintf("%s %s %s %d %d %s", c.Row, c.Family, c.Qualifier, *c.Timestamp, *c.CellType, c.Value))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = l.ScanRange(t.Context(), table, nil, nil, func(c *cell.Cell) error {
		ours = append(ours, fmt.Sprintf("%s %s %s %d %d %s", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(theirs) != 29*50+1 {
		t.Errorf("gohbase reads %d cells", len(theirs))
	}
	check(t, ours, theirs)
}

// TestPresentAsGohbase: both find the same rows.
func TestPresentAsGohbase(t *testing.T) {
	l := newLab(t)
	table, _ := wide(l)
	client := l.gohbase()
	want := 0
	var rows []Lookup
	for i := range 60 {
		row := fmt.Appendf(nil, "r%02d", i)
		rows = append(rows, Lookup{Row: row, Other: -1})
		get, err := hrpc.NewGet(t.Context(), []byte(table), row)
		if err != nil {
			t.Fatal(err)
		}
		result, err := client.Get(get)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Cells) > 0 {
			want++
		}
	}
	exist, err := l.Exist(t.Context(), table, rows)
	got := 0
	for _, yes := range exist {
		if yes {
			got++
		}
	}
	if got != want || want != 30 || err != nil {
		t.Errorf("%d of 60 rows, %v; gohbase finds %d", got, err, want)
	}
}

// BenchmarkAgainstGohbase reads a table of a million cells by our scan and by gohbase's, turn by turn. Beside the time,
// which is the server's more than the client's, it takes this process's CPU time.
func BenchmarkAgainstGohbase(b *testing.B) {
	l := connect(b, testcluster.Use(b), testUser)
	const rows = 100_000
	table := l.bigTable(rows, 25_000, 50_000, 75_000)
	client := l.gohbase()
	count := 0
	var sum int
	ours := func() error {
		return l.ScanRange(b.Context(), table.table, nil, nil, func(c *cell.Cell) error {
			count++
			sum += len(c.Value) + bytes.Count(c.Row, []byte("9"))
			return nil
		})
	}
	theirs := func() error {
		return gohbaseScan(b.Context(), client, table.table, func(c *hrpc.Cell) {
			count++
			sum += len(c.Value) + bytes.Count(c.Row, []byte("9"))
		})
	}
	var took, cpu [2]time.Duration
	first := 0
	for b.Loop() {
		first++
		for turn := range 2 {
			i := (first + turn) % 2 // each is the first one now and then
			scan := []func() error{ours, theirs}[i]
			count = 0
			start, before := time.Now(), cpuTime(b)
			if err := scan(); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(start)
			cpu[i] += cpuTime(b) - before
			if count != rows*bigColumns {
				b.Fatalf("%d cells", count)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, who := range []string{"ours", "gohbase"} {
		b.ReportMetric(took[i].Seconds()/float64(b.N), "s/"+who)
		b.ReportMetric(cpu[i].Seconds()/float64(b.N), "cpu-s/"+who)
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/digest"
	"bulkload/internal/hbase"
	"bulkload/internal/test/testcluster"
)

// These tests scan real tables while something happens to regions, servers and connections. Every cell must come once
// and in order, and the cells' digest be that of what was written.

// big is a table with known cells.
type big struct {
	table string
	rows  int
	sum   digest.Sum
}

const bigColumns = 10

func bigRow(i int) string { return fmt.Sprintf("r%06d", i) }

// bigTable makes a table with rows of ten columns, split at the rows given, by way of files of HBase's own writer.
func (l *lab) bigTable(rows int, splits ...int) *big {
	l.Helper()
	b := &big{rows: rows}
	var starts []string
	for _, s := range splits {
		starts = append(starts, bigRow(s))
	}
	b.table = l.newTable(starts...)
	var sum digest.Stream
	var files []HFile
	for part, first := range append([]int{0}, splits...) {
		end := rows
		if part < len(splits) {
			end = splits[part]
		}
		var cells strings.Builder
		for i := first; i < end; i++ {
			for q := range bigColumns {
				c := bigCell(i, q)
				sum.AddRun(&c, -1, nil, nil)
				fmt.Fprintf(&cells, "%x\tf\t%x\t%d\tPut\t%x\n", c.Row, c.Qualifier, c.Timestamp, c.Value)
			}
		}
		files = append(files, l.writeCells(fmt.Sprint("big", part), "f", cells.String(), bigRow(first), bigRow(end-1)))
	}
	b.sum = sum.Sum
	if _, _, err := l.load(b.table, files...); err != nil {
		l.Fatal(err)
	}
	return b
}

func bigCell(row, column int) cell.Cell {
	return cell.Cell{Row: []byte(bigRow(row)), Family: []byte("f"), Qualifier: []byte{'q', byte('0' + column)}, Timestamp: 7, Type: cell.Put,
		Value: fmt.Appendf(nil, "value %d of row %d", column, row)}
}

// walk scans the table, calls between before each cell, and compares what came with what was written.
func (b *big) walk(t testing.TB, c *Cluster, between func(n int)) {
	t.Helper()
	n, wrong := 0, 0
	var sum digest.Stream
	err := c.ScanRange(t.Context(), b.table, nil, nil, func(cell *cell.Cell) error {
		between(n)
		sum.AddRun(cell, -1, nil, nil)
		if want := bigCell(n/bigColumns, n%bigColumns); string(cell.Row) != string(want.Row) || string(cell.Qualifier) != string(want.Qualifier) {
			if wrong++; wrong < 5 {
				t.Errorf("cell %d is %s, want %s", n, name(cell), name(&want))
			}
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatalf("after %d cells: %v", n, err)
	}
	if got := sum.Sum; got != b.sum {
		t.Errorf("digest %+v, want %+v", got, b.sum)
	}
}

// lossy is a connection that breaks, or falls silent, after some bytes of answers.
type lossy struct {
	io.ReadWriter
	mu     sync.Mutex
	left   int
	silent bool
}

var errBroken = errors.New("broken by the test")

func (c *lossy) Read(b []byte) (int, error) {
	c.mu.Lock()
	left, silent := c.left, c.silent
	c.mu.Unlock()
	if left == 0 && !silent {
		return 0, errBroken
	}
	n, err := c.ReadWriter.Read(b)
	if left == 0 { // what comes is lost
		for err == nil {
			_, err = c.ReadWriter.Read(b)
		}
		return 0, err
	}
	n = min(n, left)
	c.mu.Lock()
	c.left -= n
	c.mu.Unlock()
	return n, err
}

// disconnect closes the connections; the next call makes another one.
func disconnect(s *servers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	clear(s.conns)
}

// TestScanWhoseAnswersGetLost: the server has answered, and read on, but the answer does not arrive: the connection
// breaks in it or before it, or is silent for longer than a request may take.
func TestScanWhoseAnswersGetLost(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "50000")
	b := l.bigTable(4000, 1500, 3000)
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			c := connect(t, l.real, testUser, "hbase.client.scanner.max.result.size", "50000").Cluster
			least, more := 20000, 400000
			if silent { // few answers are lost, because each costs the time that a request may be without an answer
				least, more = 200000, 400000
				c.limits.call, c.limits.idle = 3*time.Second, 10*time.Second
				c.reader.limits = c.limits
			}
			breaks := 0
			lose := func(ctx context.Context, s io.ReadWriter) (io.ReadWriter, error) {
				s, err := hbase.Simple(ctx, s)
				breaks++
				return &lossy{ReadWriter: s, left: least + rand.IntN(more), silent: silent}, err
			}
			c.servers.options.Handshake = func(string, hbase.Service) hbase.Handshake { return lose }
			disconnect(c.servers)
			b.walk(t, c, func(int) {})
			if breaks < 4 {
				t.Errorf("%d connections: too few answers were lost", breaks)
			}
		})
	}
}

// TestScannerClosedElsewhere: a scanner that was closed without our knowledge never looks like the end of its region.
func TestScannerClosedElsewhere(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, _ := wide(l)
	s := scan{reader: l.reader, table: table}
	region, conn, err := s.connect(t.Context(), l.reader.newTries())
	if err != nil {
		t.Fatal(err)
	}
	for number := range uint64(4) {
		first, err := conn.Scan(t.Context(), s.opening(region))
		if err == nil {
			_, err = conn.Scan(t.Context(), hbase.CloseOf(first.Scanner))
		}
		if err != nil && !errors.Is(err, hbase.ErrScannerClosed) {
			t.Fatal(err)
		}
		answer, err := conn.Scan(t.Context(), hbase.NextOf(first.Scanner, 10, number))
		if remedyOf(err) != reopenScanner {
			t.Errorf("request %d: %+v, %v", number, answer, err)
		}
	}
}

// TestScanOfChangingRegions: regions split, merge and move while they are scanned, those that were, are and will be
// read.
func TestScanOfChangingRegions(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "20000")
	l.needsTwoServers()
	b := l.bigTable(6000, 1500, 3000, 4500)
	oracle := func(args ...string) {
		if _, err := l.real.Oracle(t).Run(args...); err != nil {
			t.Error(err)
		}
	}
	moved := func(row int) {
		before := l.roleOf(b, row)
		oracle("move", b.table, bigRow(row))
		if after := l.roleOf(b, row); after == before {
			t.Errorf("row %d is on %s, as before its move", row, after)
		}
	}
	b.walk(t, l.Cluster, func(n int) {
		switch n {
		case 1005: // row 100, in the middle of it
			oracle("split", b.table, bigRow(700)) // the region that is read, after this row
		case 12345:
			moved(1300) // the region that is read
			moved(5000) // comes later
		case 22222:
			oracle("split", b.table, bigRow(2000)) // the region that is read, before this row
		case 31111:
			oracle("merge", b.table, bigRow(3000), bigRow(4500)) // the region that is read with the next one
		case 45678:
			moved(5600) // the merged one, which is read
		}
	})
	described, err := l.Table(t.Context(), b.table)
	if err != nil || len(described.Regions) != 5 {
		t.Errorf("%d regions, %v", len(described.Regions), err)
	}
	l.bigAgain(b)
}

// bigAgain scans with what is remembered of where regions were.
func (l *lab) bigAgain(b *big) {
	l.Helper()
	b.walk(l.TB, l.Cluster, func(int) {})
}

// TestKilledServersWhileScanning: the server of the region that is read is killed, and later the other one; one of them
// has hbase:meta. What the first one had opens on the second, as soon as ZooKeeper's session has ended.
func TestKilledServersWhileScanning(t *testing.T) {
	testcluster.Use(t) // where no cluster is wanted, none is started
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: 2, Session: 10000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	l := connect(t, c, testUser, "hbase.client.scanner.max.result.size", "20000")
	b := l.bigTable(6000, 1000, 2000, 3000, 4000, 5000)
	harm := func(act func(role string) error) func(n int) {
		return func(n int) {
			t.Helper()
			if err := act(l.roleOf(b, n/bigColumns)); err != nil {
				t.Error(err)
			}
		}
	}
	var down string
	kill := harm(func(role string) error { down = role; return c.Kill(role) })
	b.walk(t, l.Cluster, func(n int) {
		switch n {
		case 7005, 41004:
			kill(n)
		case 30000:
			if err := c.StartRole(context.WithoutCancel(t.Context()), down); err != nil {
				t.Error(err)
			}
		}
	})
	if err := c.StartRole(context.WithoutCancel(t.Context()), down); err != nil {
		t.Fatal(err)
	}
	l.bigAgain(b)
	l.reader.limits.idle = 5 * time.Second // else a request waits for most of a minute
	hung := ""
	b.walk(t, l.Cluster, harmOnce(23456, harm(func(role string) error { hung = role; return c.Pause(role) })))
	if err := c.Resume(hung); err != nil {
		t.Error(err)
	}
}

func harmOnce(at int, harm func(n int)) func(n int) {
	return func(n int) {
		if n == at {
			harm(n)
		}
	}
}

// roleOf is the process that serves a row.
func (l *lab) roleOf(b *big, row int) string {
	l.Helper()
	described, err := l.Table(l.Context(), b.table)
	if err != nil {
		l.Fatal(err)
	}
	_, port, err := net.SplitHostPort(described.Regions[regionOf(described.Regions, []byte(bigRow(row)))].Server)
	if err != nil {
		l.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		l.Fatal(err)
	}
	return fmt.Sprintf("rs%d", n-l.real.Port-20+1) // ports of region servers follow each other
}

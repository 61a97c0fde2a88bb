package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/throttle"
)

// wide is a table of rows with many columns, over three regions, so that answers end within rows.
func wide(l *lab) (table string, want []string) {
	l.Helper()
	table = l.newTable("r1", "r2")
	var files []HFile
	for r := range 3 {
		var cells strings.Builder
		first, last := fmt.Sprintf("r%d0", r), fmt.Sprintf("r%d9", r)
		for i := range 10 {
			row := fmt.Sprintf("r%d%d", r, i)
			for q := range 50 {
				fmt.Fprintf(&cells, "%x\tf\t%x\t7\tPut\t%x\n", row, fmt.Sprintf("q%02d", q), strings.Repeat("v", 100))
				want = append(want, fmt.Sprintf("%s/q%02d", row, q))
			}
		}
		files = append(files, l.writeCells(fmt.Sprint("wide", r), "f", cells.String(), first, last))
	}
	if _, _, err := l.load(table, files...); err != nil {
		l.Fatal(err)
	}
	return table, want
}

func check(t *testing.T, got, want []string) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("cell %d of %d: got %v, want %s", i, len(got), got[i:min(i+1, len(got))], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cells, want %d", len(got), len(want))
	}
}

func name(c *cell.Cell) string { return fmt.Sprintf("%s/%s", c.Row, c.Qualifier) }

func TestScanInSmallAnswers(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, want := wide(l)
	for _, rows := range []uint32{1, 3, math.MaxInt32} {
		l.reader.limits.scanRows = rows
		var got []string
		err := l.ScanRange(t.Context(), table, nil, nil, func(c *cell.Cell) error {
			got = append(got, name(c))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		check(t, got, want)
	}
}

// Regions split and move under the scan; every cell still comes once, in order.
func TestScanWhileRegionsChange(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	l.needsTwoServers()
	table, want := wide(l)
	described, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = l.ScanRange(t.Context(), table, nil, nil, func(c *cell.Cell) error {
		switch len(got) {
		case 120: // in the middle of a row
			l.split(table, "r05")
		case 620:
			l.move(table, described.Regions[1])
		}
		got = append(got, name(c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, want)
}

// A request sent again after its answer was lost must not be answered with the rows after the lost ones.
func TestRepeatedRequestIsRefused(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, _ := wide(l)
	s := scan{reader: l.reader, table: table}
	region, conn, err := s.connect(t.Context(), l.reader.newTries())
	if err != nil {
		t.Fatal(err)
	}
	first, err := conn.Scan(t.Context(), s.opening(region))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = conn.Scan(t.Context(), hbase.NextOf(first.Scanner, 10, 1)); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Scan(t.Context(), hbase.NextOf(first.Scanner, 10, 1))
	if !hbase.IsRemote(err, "OutOfOrderScannerNextException") || remedyOf(err) != reopenScanner {
		t.Errorf("the same number again: %v", err)
	}
}

func TestScanEnds(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, want := wide(l)
	enough := errors.New("enough")
	n := 0
	err := l.ScanRange(t.Context(), table, nil, nil, func(*cell.Cell) error {
		if n++; n == 70 {
			return enough
		}
		return nil
	})
	if err != enough || n != 70 {
		t.Errorf("got %v after %d cells", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	err = l.ScanRange(ctx, table, nil, nil, func(*cell.Cell) error {
		if n++; n == 70 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n == len(want) {
		t.Errorf("got %v after %d cells", err, n)
	}
	err = l.ScanRange(t.Context(), "no_such_table", nil, nil, func(*cell.Cell) error { return nil })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestThrottledScan: the answers of a scan count, with all their bytes, and none is larger than what may be read in a
// second.
func TestThrottledScan(t *testing.T) {
	l := newLab(t)
	table, want := wide(l)
	limit := throttle.New(t.Context(), 1<<40)
	l.reader.throttle(limit)
	if l.reader.limits.scanBytes != 2<<20 {
		t.Errorf("answers of %d bytes at a high rate", l.reader.limits.scanBytes)
	}
	values, got := int64(0), 0
	err := l.ScanRange(t.Context(), table, nil, nil, func(c *cell.Cell) error {
		values += int64(len(c.Row) + len(c.Qualifier) + len(c.Value))
		got++
		return nil
	})
	if err != nil || got != len(want) {
		t.Fatalf("%d cells of %d: %v", got, len(want), err)
	}
	if moved := limit.Moved(); moved < values || moved > 2*values {
		t.Errorf("%d bytes counted, for cells of %d", moved, values)
	}
	if l.reader.throttle(throttle.New(t.Context(), throttle.Minimum)); l.reader.limits.scanBytes != min(throttle.Minimum, longestPause*throttle.Minimum/uint64(Scans())) {
		t.Errorf("answers of %d bytes at the lowest rate", l.reader.limits.scanBytes)
	}
}

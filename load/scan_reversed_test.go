package load

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/simcluster"
)

// backwards are cells "row/…" with the rows in the opposite order.
func backwards(cells []string) (all []string) {
	for len(cells) > 0 {
		row, _, _ := strings.Cut(cells[len(cells)-1], "/")
		n := len(cells)
		for n > 0 && strings.HasPrefix(cells[n-1], row+"/") {
			n--
		}
		all, cells = append(all, cells[n:]...), cells[:n]
	}
	return all
}

// TestOpenings: what is asked of a server depends on the range only, and not on its version.
func TestOpenings(t *testing.T) {
	limits := settings{scanRows: 100, scanBytes: 1000}
	for _, test := range []struct {
		of   Range
		want string
	}{
		{Range{}, `"" to "", reversed false, cached false, 100 rows`},
		{Range{Start: []byte("b"), End: []byte("d"), Cache: true, Rows: 7}, `"b" to "d", reversed false, cached true, 7 rows`},
		{Range{Reversed: true}, `"" to "", reversed true, cached false, 100 rows`},
		{Range{Start: []byte("ab"), End: []byte("d"), Reversed: true}, `"d" to "aa` + strings.Repeat(`\xff`, 9) + `", reversed true, cached false, 100 rows`},
		{Range{Start: []byte("a\x00"), Reversed: true}, `"" to "a", reversed true, cached false, 100 rows`},
		{Range{Start: []byte("\x00"), Reversed: true}, `"" to "", reversed true, cached false, 100 rows`},
	} {
		s := scan{Range: test.of, reader: &reader{limits: limits}, table: "t"}
		if s.next = test.of.Start; test.of.Reversed {
			s.next = test.of.End
		}
		m := s.opening(&Region{})
		got := fmt.Sprintf("%q to %q, reversed %t, cached %t, %d rows", m.Scan.StartRow, m.Scan.StopRow, m.Scan.GetReversed(), m.Scan.GetCacheBlocks(), m.GetNumberOfRows())
		if got != test.want {
			t.Errorf("%+v: %s, want %s", test.of, got, test.want)
		}
	}
}

// TestReversedScanGoesOn is TestScanGoesOn for reversed scans: the next scanner begins with the last row, whose visited
// cells are passed over, because HBase 1 has no option to leave it out.
func TestReversedScanGoesOn(t *testing.T) {
	const below = `a\xff\xff\xff\xff\xff\xff\xff\xff\xff`
	for what, test := range map[string]struct {
		of          Range
		answers     []hbasetest.Answer
		want, asked string
	}{
		"lease ran out": {Range{}, []hbasetest.Answer{part(t, true, false, "c/1", "b/1", "b/2"), exception("UnknownScannerException"), part(t, false, false, "b/1", "b/2", "b/3", "a/1")},
			"c/1 b/1 b/2 a/1", `open "" back to "", next 1, open "b" back to ""`},
		"within a row": {Range{}, []hbasetest.Answer{part(t, true, true, "b/1", "b/2"), exception("UnknownScannerException"), part(t, false, false, "b/1", "b/2", "b/3", "a/1")},
			"b/1 b/2 b/3 a/1", `open "" back to "", next 1, open "b" back to ""`},
		"within a row, which goes on": {Range{}, []hbasetest.Answer{part(t, true, true, "b/1", "b/2"), part(t, true, true, "b/3"), part(t, true, false, "b/4"), part(t, false, false, "a/1")},
			"b/1 b/2 b/3 b/4 a/1", `open "" back to "", next 1, next 2, next 3`},
		"twice after a row": {Range{}, []hbasetest.Answer{part(t, true, false, "b/1", "b/2"), exception("UnknownScannerException"), part(t, true, true, "b/1"), exception("UnknownScannerException"), part(t, true, true, "b/1"), part(t, true, false), part(t, true, false, "b/2"), part(t, false, false, "a/1")},
			"b/1 b/2 a/1", `open "" back to "", next 1, open "b" back to "", next 1, open "b" back to "", next 1, next 2, next 3`},
		"a row at the end": {Range{End: []byte("c")}, []hbasetest.Answer{part(t, true, true, "c/1"), part(t, false, false, "c/2", "b/1")},
			"b/1", `open "c" back to "", next 1`},
		"a row before the start": {Range{Start: []byte("b")}, []hbasetest.Answer{part(t, true, false, "c/1", "b/1", "a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff/1"), part(t, true, false, "a/1")},
			"c/1 b/1", `open "" back to "` + below + `", next 1, close 77`},
		"the start, then the lease ran out": {Range{Start: []byte("b")}, []hbasetest.Answer{part(t, true, false, "c/1", "b/1"), exception("UnknownScannerException")},
			"c/1 b/1", `open "" back to "` + below + `", next 1`},
		"region moved": {Range{End: []byte("c")}, []hbasetest.Answer{exception("NotServingRegionException"), part(t, true, true, "b/1"), exception("NotServingRegionException"), part(t, false, false, "b/2")},
			"b/1 b/2", `open "c" back to "", look "t,c,", open "c" back to "", next 1, look "t,b,:", open "b" back to ""`},
		"region moved, of the last rows": {Range{}, []hbasetest.Answer{exception("NotServingRegionException"), part(t, false, false, "b/1")},
			"b/1", `open "" back to "", look "t ,,", open "" back to ""`},
		"nothing to visit":         {Range{Start: []byte("b"), End: []byte("b")}, nil, "", ""},
		"nothing between the rows": {Range{Start: []byte("c"), End: []byte("b")}, []hbasetest.Answer{part(t, false, false)}, "", `open "b" back to "` + "b" + below[1:] + `"`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, r := play(t, test.answers...)
			test.of.Reversed = true
			got, err := cellsOf(t.Context(), r, test.of)
			asked := s.log(strings.Count(test.asked, ", ") + min(len(test.asked), 1))
			if got != test.want || err != nil || asked != test.asked {
				t.Errorf("got %q, %v, asked %s\nwant %q, asked %s", got, err, asked, test.want, test.asked)
			}
		})
	}
	t.Run("its visitor ends it", func(t *testing.T) {
		t.Parallel()
		s, r := play(t, part(t, true, false, "b/1"), part(t, true, false, "a/1"))
		enough := errors.New("enough")
		walk := scan{Range: Range{Reversed: true}, reader: r, table: "t"}
		var visited visitError
		if err := walk.run(t.Context(), func(*cell.Cell) error { return enough }); !errors.As(err, &visited) || visited.error != enough {
			t.Errorf("got %v", err)
		}
		if asked := s.log(3); asked != `open "" back to "", next 1, close 77` {
			t.Errorf("asked %s", asked)
		}
	})
}

// TestScansBothWays: whatever happens to regions and servers between the cells of a scan, it visits each cell of its
// range once, in order.
func TestScansBothWays(t *testing.T) {
	worlds := 300
	if testing.Short() {
		worlds = 100
	}
	rows := []string{"\x00", "a", "a\x00", "a\x00\x00", "a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "b", "c", "d", "f\xff", "g", "g\x00", "h", "k", "m", "o\xff", "p", "p\x00", "x", "\xff", "\xff\xff"}
	for seed := range worlds {
		simulated(t, func(s *simulation) {
			rng := rand.New(rand.NewPCG(uint64(seed), 1))
			aRow := func() []byte {
				if rng.IntN(8) == 0 {
					return nil
				}
				return []byte(rows[rng.IntN(len(rows))])
			}
			var stored []cell.Cell
			for _, row := range rows {
				for _, family := range []string{"f", "g"} {
					for q := range rng.IntN(4) {
						c := cellOf(family, row)
						c.Qualifier = []byte{'0' + byte(q)}
						stored = append(stored, c)
					}
				}
			}
			s.do(s.world.BulkLoad("t", stored))
			show := func(c *cell.Cell) string { return fmt.Sprintf("%q/%s%s", c.Row, c.Family, c.Qualifier) }
			s.world.SmallAnswers(rng.IntN(4))
			for range 4 {
				of := Range{Start: aRow(), End: aRow(), Reversed: rng.IntN(3) > 0, Rows: uint32(rng.IntN(4))}
				var want []string
				for i := range stored {
					if row := stored[i].Row; bytes.Compare(row, of.Start) >= 0 && (len(of.End) == 0 || bytes.Compare(row, of.End) < 0) {
						want = append(want, show(&stored[i]))
					}
				}
				if of.Reversed {
					want = backwards(want)
				}
				var got, done []string
				s.do(s.Scan(s.Context(), "t", of, func(c *cell.Cell) error {
					got = append(got, show(c))
					for rng.IntN(6) == 0 {
						done = append(done, fmt.Sprintf("after %d: %s", len(got), happen(s, rng, aRow(), rows)))
					}
					return nil
				}))
				if !slices.Equal(got, want) {
					s.Fatalf("seed %d: %+v, with %q:\ngot  %q\nwant %q", seed, of, done, got, want)
				}
			}
		})
	}
}

// happen does something to the region of a row, or to a server.
func happen(s *simulation, rng *rand.Rand, row []byte, rows []string) string {
	// A split at a region's first row is refused, and so is a merge of the last region.
	switch rng.IntN(5) {
	case 0:
		return fmt.Sprintf("split %q: %v", row, s.world.Split("t", row))
	case 1, 2: // HBase merges no halves, so they are compacted first
		for _, r := range rows {
			s.do(s.world.Compact("t", []byte(r), 0, true))
		}
		return fmt.Sprintf("merge %q: %v", row, s.world.Merge("t", row))
	case 3:
		return fmt.Sprintf("move %q: %v", row, s.world.Move("t", row))
	}
	i := rng.IntN(2)
	s.world.Restart(i)
	return fmt.Sprint("restart ", i)
}

// TestCallsOfAScan: a scan asks for the table's state only if a region does not answer.
func TestCallsOfAScan(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.do(s.world.BulkLoad("t", []cell.Cell{cellOf("f", "h"), cellOf("f", "i")}))
		var calls []string
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			calls = append(calls, c.What)
			return v
		}
		want := func(what string, err, wanted error, calledFor ...string) {
			t.Helper()
			if !errors.Is(err, wanted) || calledFor != nil && !slices.Equal(calls, calledFor) {
				t.Errorf("%s: %v after %q, want %v after %q", what, err, calls, wanted, calledFor)
			}
			calls = nil
		}
		visit := func(*cell.Cell) error { return nil }
		both := []Range{{Start: []byte("h"), End: []byte("p")}, {Start: []byte("h"), End: []byte("p"), Reversed: true}}
		want("the first scan", s.Scan(s.Context(), "t", both[0], visit), nil, "Scan", "Scan")
		for _, of := range both {
			want(fmt.Sprintf("%+v", of), s.Scan(s.Context(), "t", of, visit), nil, "Scan")
		}
		want("ScanRange", s.ScanRange(s.Context(), "t", both[0].Start, both[0].End, visit), nil, "Get", "Scan")
		s.do(s.world.Disable("t"))
		for _, of := range both {
			want("disabled", s.Scan(s.Context(), "t", of, visit), ErrRefused)
		}
		s.do(s.world.Drop("t"))
		for _, of := range both {
			want("dropped", s.Scan(s.Context(), "t", of, visit), ErrNotFound)
		}
	})
}

// TestDisabledTableIsScanned: a scan that does not first ask for the table's state ends with it on every HBase.
func TestDisabledTableIsScanned(t *testing.T) {
	for _, way := range []hbase.LoadWay{hbase.StagedLoad, hbase.EndpointLoad} {
		for _, known := range []bool{false, true} { // where the regions are
			simulatedWay(t, way, func(s *simulation) {
				of := Range{Reversed: true}
				visit := func(*cell.Cell) error { return nil }
				if known {
					s.do(s.Scan(s.Context(), "t", of, visit))
				}
				s.do(s.world.Disable("t"))
				if err := s.Scan(s.Context(), "t", of, visit); !errors.Is(err, ErrRefused) {
					s.Errorf("way %v, known %t: %v", way, known, err)
				}
			})
		}
	}
}

// TestReversedScanOnCluster: a reversed scan of a range visits what another scan of it does, with the rows in the
// opposite order, also if answers are small and end within rows.
func TestReversedScanOnCluster(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	table, all := wide(l)
	bounds := []string{"", "r", "r00", "r00\x00", "r05", "r09", "r1", "r10", "r1\xff", "r15x", "r19", "r2", "r20", "r29", "r29\x00", "s"}
	for _, rows := range []uint32{0, 1, 3} {
		for i, start := range bounds {
			for k, end := range bounds {
				if rows > 0 && (i+k)%5 > 0 { // one of five is enough
					continue
				}
				of := Range{Start: []byte(start), End: []byte(end), Rows: rows, Cache: true, Reversed: true}
				var want, got []string
				for _, c := range all {
					if row, _, _ := strings.Cut(c, "/"); row >= start && (end == "" || row < end) {
						want = append(want, c)
					}
				}
				visit := func(c *cell.Cell) error {
					got = append(got, name(c))
					return nil
				}
				if err := l.Scan(t.Context(), table, of, visit); err != nil {
					t.Fatal(err)
				}
				if check(t, got, backwards(want)); t.Failed() {
					t.Fatalf("%q to %q, %d rows", start, end, rows)
				}
				got, of.Reversed = nil, false
				if err := l.Scan(t.Context(), table, of, visit); err != nil {
					t.Fatal(err)
				}
				if check(t, got, want); t.Failed() {
					t.Fatalf("%q to %q, %d rows, not reversed", start, end, rows)
				}
			}
		}
	}
}

// TestReversedScanWhileRegionsChange: regions split and move under a reversed scan, in whose answers rows end early, and
// its scanners are lost.
func TestReversedScanWhileRegionsChange(t *testing.T) {
	l := newLab(t, "hbase.client.scanner.max.result.size", "1500")
	l.needsTwoServers()
	table, want := wide(l)
	want = backwards(want)
	described, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []uint32{1, math.MaxInt32} {
		var got []string
		err = l.Scan(t.Context(), table, Range{Reversed: true, Rows: rows}, func(c *cell.Cell) error {
			switch {
			case rows == 1 && len(got) == 120: // in the middle of a row
				l.split(table, "r25")
			case rows == 1 && len(got) == 620:
				l.move(table, described.Regions[1])
			case rows > 1 && len(got) == 420:
				disconnect(l.servers)
			case rows > 1 && len(got) == 1020:
				l.split(table, "r05")
			}
			got = append(got, name(c))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		check(t, got, want)
	}
}

// TestReversedScanOfDisabledTable: it ends, with the table's state, wherever its regions were.
func TestReversedScanOfDisabledTable(t *testing.T) {
	l := newLab(t)
	table := l.newTable("m")
	visit := func(*cell.Cell) error { return nil }
	if err := l.Scan(t.Context(), table, Range{Reversed: true}, visit); err != nil {
		t.Fatal(err)
	}
	if _, err := l.real.Oracle(t).Run("disable", table); err != nil {
		t.Fatal(err)
	}
	for _, known := range []bool{true, false} {
		if !known {
			l.reader.locations = locations{}
		}
		if err := l.Scan(t.Context(), table, Range{Reversed: true}, visit); !errors.Is(err, ErrRefused) {
			t.Errorf("known %t: %v", known, err)
		}
	}
	if err := l.Scan(t.Context(), "no_such_table", Range{Reversed: true}, visit); !errors.Is(err, ErrNotFound) {
		t.Errorf("no table: %v", err)
	}
}

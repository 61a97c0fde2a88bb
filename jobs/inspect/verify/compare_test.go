package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/sortingtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/partition"
)

// wantedCells are the cells of a source, which are read again for each comparison.
func wantedCells(t *testing.T, lines string) func() *sorting.Cells {
	t.Helper()
	text := fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\noutput: out\nhfile: {}\nrowkey: id\nregions: {from: splits, splits: []}\n"+
		"input: {path: '%s', columns: [id, a, b], field_delimiter: ',', record_delimiter: '\\n'}\ncolumns_map: {id: {skip: true}}\n", testfs.Tree(t, map[string]string{"part-0": lines}))
	j, src, into := jobtest.Open(t, text)
	rows := sortingtest.Sort(t, j, src, into)
	return func() *sorting.Cells {
		cells, err := sorting.NewCells(into, rows.Sorted, partition.Slice{}, sorting.AllFamilies)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cells.Close(); err != nil {
				t.Error(err)
			}
		})
		return cells
	}
}

// present are the cells that a table has of the source, changed by the test.
func present(t *testing.T, cells *sorting.Cells) (all []cell.Cell) {
	t.Helper()
	for {
		c, err := cells.Next()
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return all
		}
		all = append(all, cell.Cell{Row: slices.Clone(c.Row), Family: slices.Clone(c.Family), Qualifier: slices.Clone(c.Qualifier), Timestamp: c.Timestamp,
			Type: c.Type, Value: slices.Clone(c.Value)})
	}
}

// joined compares present cells with the source.
func joined(t *testing.T, want *sorting.Cells, got []cell.Cell, strict bool, stale *staleList) (*joiner, *differences) {
	t.Helper()
	found := new(differences)
	v := &outputVerifier{stale: stale, compared: options.NewMeter(nil, "compare", 0, false)}
	if strict {
		v.files = new(hfiles.Directory)
	}
	j, err := newJoiner([]*sorting.Cells{want}, nil, found, v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if err := j.visit(&got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.end(); err != nil {
		t.Fatal(err)
	}
	return j, found
}

// TestComparison: each cell of the source is found, missing or different; what else there is is extra. Nothing is
// counted twice, and one difference does not make the cells after it different.
func TestComparison(t *testing.T) {
	want := wantedCells(t, "a,1,2\nb,3,4\nc,5,6\n")
	extra := func(row, qualifier string) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: 7, Type: cell.Put, Value: []byte("x")}
	}
	for what, c := range map[string]struct {
		change                      func([]cell.Cell) []cell.Cell
		matched, missing, different int64
		extraCells, extraRows       int64
		says                        string
		superseded                  int64 // in a table; in files these are different
	}{
		"the same":      {func(all []cell.Cell) []cell.Cell { return all }, 6, 0, 0, 0, 0, "", 0},
		"nothing":       {func([]cell.Cell) []cell.Cell { return nil }, 0, 6, 0, 0, 0, "row a, f:a: missing, want", 0},
		"first gone":    {func(all []cell.Cell) []cell.Cell { return all[1:] }, 5, 1, 0, 0, 0, "row a, f:a: missing", 0},
		"last gone":     {func(all []cell.Cell) []cell.Cell { return all[:5] }, 5, 1, 0, 0, 0, "row c, f:b: missing", 0},
		"a row gone":    {func(all []cell.Cell) []cell.Cell { return slices.Delete(all, 2, 4) }, 4, 2, 0, 0, 0, "row b, f:a: missing", 0},
		"another value": {func(all []cell.Cell) []cell.Cell { all[2].Value = []byte("33"); return all }, 5, 0, 1, 0, 0, `got "33"`, 0},
		"a newer time":  {func(all []cell.Cell) []cell.Cell { all[2].Timestamp++; return all }, 5, 0, 0, 0, 0, "row b, f:a: want", 1},
		"newer, equal and not": {func(all []cell.Cell) []cell.Cell {
			all[0].Timestamp++
			all[5].Timestamp, all[5].Value = all[5].Timestamp+1, []byte("66")
			return all
		}, 4, 0, 0, 0, 0, "row c, f:b: want", 2},
		"an older time": {func(all []cell.Cell) []cell.Cell { all[2].Timestamp--; return all }, 5, 0, 1, 0, 0, "row b, f:a: want", 0},
		"another type":  {func(all []cell.Cell) []cell.Cell { all[2].Type = cell.DeleteColumn; return all }, 5, 0, 1, 0, 0, "type 12", 0},
		"a row before":  {func(all []cell.Cell) []cell.Cell { return append([]cell.Cell{extra("0", "a")}, all...) }, 6, 0, 0, 1, 1, "row 0, f:a: not in the source", 0},
		"rows after": {func(all []cell.Cell) []cell.Cell {
			return append(all, extra("d", "a"), extra("d", "b"), extra("e", "a"))
		}, 6, 0, 0, 3, 2, "row d", 0},
		"a cell of ours": {func(all []cell.Cell) []cell.Cell { return slices.Insert(all, 4, extra("b", "z")) }, 6, 0, 0, 1, 0, "row b, f:z", 0},
		"one for one":    {func(all []cell.Cell) []cell.Cell { all[1] = extra("aa", "a"); return all }, 5, 1, 0, 1, 1, "row a, f:b: missing", 0},
	} {
		got := c.change(present(t, want()))
		j, found := joined(t, want(), got, false, nil)
		if j.matched != c.matched || found.missing != c.missing || found.different != c.different || j.extraCells != c.extraCells || j.extraRows != c.extraRows || found.extra != 0 || j.superseded != c.superseded {
			t.Errorf("%s: %d matched, %d missing, %d different, %d extra cells, %d extra rows, %d superseded", what, j.matched, found.missing, found.different, j.extraCells, j.extraRows, j.superseded)
		}
		_, strict := joined(t, want(), got, true, nil)
		var said []string
		for _, d := range strict.listed {
			said = append(said, d.String())
		}
		if strict.extra != c.extraCells || strict.count() != c.missing+c.different+c.extraCells+c.superseded || !strings.Contains(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s, strictly: %d extra, %q", what, strict.extra, said)
		}
	}
}

// TestListedDifferences: all differences are counted, and the first ones listed, with a value that fits on a line.
func TestListedDifferences(t *testing.T) {
	found := new(differences)
	c := &cell.Cell{Row: []byte{0, 'r'}, Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put, Value: []byte(strings.Repeat("é", 500))}
	for range 3 * maxDifferences {
		found.add(missingCell, c, c, nil)
	}
	if found.count() != 3*maxDifferences || len(found.listed) != maxDifferences {
		t.Errorf("%d, of which %d are listed", found.count(), len(found.listed))
	}
	if d := found.listed[0]; d.Row != `\x00r` || len(d.Want) > 200 || !strings.Contains(d.Want, "(1000 bytes, timestamp 5)") {
		t.Errorf("%+v", d)
	}
}

// TestStaleList: a cell is listed as such where the source has others of its row, and else as a part of a row. The file
// gets its name only when it is complete, and only its owner can read it.
func TestStaleList(t *testing.T) {
	want := wantedCells(t, "b,1,2\nd,1,2\n")
	name := filepath.Join(t.TempDir(), "stale")
	list, err := newStaleList(name)
	if err != nil {
		t.Fatal(err)
	}
	at := func(row, qualifier string) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: 9, Type: cell.Put}
	}
	got := present(t, want())
	got = []cell.Cell{at("a", "x"), at("b", "0"), got[0], got[1], at("b", "x"), at("c", "x"), got[2], got[3], at("d", "x"), at("e", "x")}
	joined(t, want(), got, false, list)
	if _, err := os.Stat(name); err == nil {
		t.Error("it has its name before it is complete")
	}
	if err := list.save(); err != nil {
		t.Fatal(err)
	}
	if err := list.close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(name)
	const lines = "row\ta\tf:x\t9\ncell\tb\tf:0\t9\ncell\tb\tf:x\t9\nrow\tc\tf:x\t9\ncell\td\tf:x\t9\nrow\te\tf:x\t9\n"
	if err != nil || string(text) != lines {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, err := newStaleList(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(filepath.Dir(name)); err != nil || len(all) != 1 {
		t.Errorf("a list that is not saved leaves %v, %v", all, err)
	}
}

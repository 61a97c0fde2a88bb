package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// allOf are look-ups of rows in both families.
func allOf(other int64, rows ...string) []Lookup {
	var all []Lookup
	for _, row := range rows {
		all = append(all, Lookup{Row: []byte(row), Columns: []Columns{{Family: []byte("f")}, {Family: []byte("g")}}, Other: other})
	}
	return all
}

func (l *lab) wantExist(what, table string, rows []Lookup, want ...bool) {
	l.Helper()
	got, err := l.Exist(l.Context(), table, rows)
	if err != nil || !slices.Equal(got, want) {
		l.Errorf("%s: %v, %v, want %v", what, got, err, want)
	}
}

// TestExist: a row exists if a reader finds a cell of it in the columns that are asked for.
func TestExist(t *testing.T) {
	l := newLab(t)
	table := l.newTable("m")
	f, g := l.write("1", "f", "a", "b", "c"), l.write("2", "g", "n", "x")
	if _, _, err := l.load(table, f, g); err != nil {
		t.Fatal(err)
	}
	l.wantExist("in both regions, in any order", table, allOf(-1, "x", "a", "aa", "n", "m", "c"), true, true, false, true, false, true)
	l.wantExist("of other times", table, allOf(1000, "x", "a"), false, false)
	l.wantExist("of other times, which count", table, allOf(999, "x", "a"), true, true)
	l.wantExist("of the first moment", table, allOf(0, "x", "a"), true, true)
	column := func(row, family, qualifier string) Lookup {
		return Lookup{Row: []byte(row), Columns: []Columns{{Family: []byte(family), Qualifiers: [][]byte{[]byte("none"), []byte(qualifier)}}}, Other: -1}
	}
	l.wantExist("columns", table, []Lookup{column("a", "f", "q"), column("a", "f", "p"), column("a", "g", "q")}, true, false, false)
	l.oracle("delete", table, "b")
	l.wantExist("a deleted row", table, allOf(-1, "a", "b"), true, false)
	l.oracle("split", table, "b")
	l.wantExist("after a split", table, allOf(-1, "a", "b", "c", "x"), true, false, true, true)
	if _, err := l.Exist(t.Context(), "nowhere", allOf(-1, "a")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no table: %v", err)
	}
	wrong := []Lookup{{Row: []byte("a"), Columns: []Columns{{Family: []byte("h")}}, Other: -1}}
	if _, err := l.Exist(t.Context(), table, wrong); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrRefused) {
		t.Errorf("no family: %v", err)
	}
}

// TestExistWhileRegionsSplit: regions split when rows were assigned to them and not yet asked for. Each row is asked of
// the region that has it then.
func TestExistWhileRegionsSplit(t *testing.T) {
	l := newLab(t)
	table := l.newTable("m")
	var rows, loaded []string
	var want []bool
	for i := range 4 * LookupsPerCall {
		row := fmt.Sprintf("%c%05d", "an"[i%2], i)
		if rows = append(rows, row); i%3 > 0 {
			loaded = append(loaded, row)
		}
		want = append(want, i%3 > 0)
	}
	slices.Sort(loaded)
	m, _ := slices.BinarySearch(loaded, "m")
	if _, _, err := l.load(table, l.write("1", "f", loaded[:m]...), l.write("2", "f", loaded[m:]...)); err != nil {
		t.Fatal(err)
	}
	calls := 0
	var mu sync.Mutex
	l.onLookUpCall = func(int) {
		mu.Lock() // the others wait for the splits, too
		defer mu.Unlock()
		if calls++; calls == 1 {
			l.oracle("split", table, "a02000")
			l.oracle("split", table, "n02000")
		}
	}
	l.wantExist("split under the look-ups", table, allOf(-1, rows...), want...)
	if calls <= len(rows)/LookupsPerCall+1 {
		t.Errorf("%d calls: none was asked again", calls)
	}
}

// TestCostOfExist: the number of calls grows with the rows, not faster, and no faster than the servers need.
func TestCostOfExist(t *testing.T) {
	l := newLab(t)
	table := l.newTable("2", "4", "6", "8")
	const servers = 2 // each call asks one
	for _, n := range []int{2500, 5000} {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf("%d-%d", i%10, i))
		}
		var mu sync.Mutex
		calls, asked := 0, 0
		l.onLookUpCall = func(rows int) {
			mu.Lock()
			defer mu.Unlock()
			calls, asked = calls+1, asked+rows
		}
		if _, err := l.Exist(t.Context(), table, allOf(-1, rows...)); err != nil {
			t.Fatal(err)
		}
		l.onLookUpCall = nil
		if most := n/LookupsPerCall + servers; calls > most || asked != n {
			t.Errorf("%d rows: %d calls for %d rows, want at most %d", n, calls, asked, most)
		}
	}
}

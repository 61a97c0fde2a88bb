package csv

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// TestFind: a column is found as it is written, otherwise in any case; a name that occurs twice is refused.
func TestFind(t *testing.T) {
	t.Parallel()
	c := columnsOf([]string{"id", "ID", "Straße", "name", "NAME", "x", "x", "\u212a"}) // the last is the sign of kelvin
	for name, want := range map[string]string{
		"id": "0", "ID": "1", "Id": "occurs twice", "name": "3", "Name": "occurs twice", "x": "occurs twice", "X": "occurs twice",
		"STRAßE": "2", "STRASSE": "no column", "k": "7", "K": "7", "": "no column",
	} {
		i, err := c.find(name)
		if err == nil && fmt.Sprint(i) != want || err != nil && !testwords.Names(err, want) {
			t.Errorf("%q: %d, %v; want %s", name, i, err, want)
		}
	}
}

// TestFold: names are folded to the same text if and only if strings.EqualFold calls them equal.
func TestFold(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	letters := []rune("aAkK\u212asSſßẞéÉσςΣiIİı中\uFFFD_1")
	for range 20_000 {
		a, b := make([]rune, r.IntN(4)), make([]rune, r.IntN(4))
		for _, name := range [][]rune{a, b} {
			for i := range name {
				name[i] = letters[r.IntN(len(letters))]
			}
		}
		if x, y := string(a), string(b); strings.EqualFold(x, y) != (fold(x) == fold(y)) {
			t.Fatalf("%q and %q: %q and %q", x, y, fold(x), fold(y))
		}
	}
}

// TestManyColumns: a column is not compared with all others. With 200,000 columns, that would take minutes.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	const n = 200_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("column_%06d", i)
	}
	c := columnsOf(names)
	for i := range names {
		if at, err := c.find(strings.ToUpper(names[i])); err != nil || at != i {
			t.Fatalf("column %d: %d, %v", i, at, err)
		}
	}
}

package cell

import (
	"slices"
	"testing"
)

func TestCellsOrderAsHBase(t *testing.T) {
	cell := func(row, family, qualifier string, timestamp int64, kind KeyType) Cell {
		return Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: timestamp, Type: kind}
	}
	sorted := []Cell{
		cell("a", "f", "", 5, Put),
		cell("a", "f", "q", 9, Put),
		cell("a", "f", "q", 5, DeleteFamily),
		cell("a", "f", "q", 5, DeleteColumn),
		cell("a", "f", "q", 5, DeleteFamilyVersion),
		cell("a", "f", "q", 5, Delete),
		cell("a", "f", "q", 5, Put),
		cell("a", "f", "q", -1, Put),
		cell("a", "f", "q\x00", 9, Put),
		cell("a", "f\x00", "", 9, Put),
		cell("a", "g", "", 9, Put),
		cell("a\x00", "f", "q", 9, Put),
		cell("a\x7f", "f", "q", 9, Put),
		cell("a\x80", "f", "q", 9, Put), // bytes are unsigned
	}
	for i := range sorted {
		for j := range sorted {
			got := Compare(&sorted[i], &sorted[j])
			if want := i - j; got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("cells %d and %d compare as %d", i, j, got)
			}
		}
	}
	if !slices.IsSortedFunc(sorted, func(a, b Cell) int { return Compare(&a, &b) }) {
		t.Error("not sorted")
	}
}

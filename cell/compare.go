package cell

import (
	"bytes"
	"cmp"
)

// Compare orders cells as HBase does (CellComparatorImpl.compare): rows, families and qualifiers ascend as unsigned
// bytes, timestamps descend, and types descend as unsigned numbers. It is negative if a sorts before b.
func Compare(a, b *Cell) int {
	if c := bytes.Compare(a.Row, b.Row); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Family, b.Family); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Qualifier, b.Qualifier); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Timestamp, a.Timestamp); c != 0 {
		return c
	}
	return cmp.Compare(b.Type, a.Type)
}

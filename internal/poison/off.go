//go:build !poison

// Package poison overwrites reused buffers at the end of their documented lifetimes. A test then fails if something
// kept a view of such a buffer for longer, even if the bytes would by chance still be there. Buffers are overwritten
// only with the build tag poison (make poison). Without it the functions do nothing, and the compiler removes their
// calls.
package poison

import "bulkload/cell"

// Enabled reports whether the program was built with the tag poison.
const Enabled = false

// Bytes overwrites b up to its capacity, which must not include bytes that are still in use.
func Bytes([]byte) {}

// Lent lends bytes that can't be overwritten in place, because their owner needs them for longer than the borrower may
// use them. With the tag poison the borrower gets copies instead. The zero Lent is ready for use.
type Lent struct{}

// Bytes returns what to lend in place of b.
func (*Lent) Bytes(b []byte) []byte { return b }

// Cell returns what to lend in place of c.
func (*Lent) Cell(c *cell.Cell) *cell.Cell { return c }

// End ends the lifetime of everything lent so far.
func (*Lent) End() {}

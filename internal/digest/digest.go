// Package digest computes an order-independent digest of cells, which is carried from the sort to the HFiles and to
// the reading back, and compared at each hand-over.
//
// A cell's contribution is, for the digest without the timestamp,
//
//	timeless = avalanche(prime1*XXH64(row) + prime2*XXH64(column) + prime3*XXH64(value) + prime4*type)
//	column   = uvarint(len(family)) family uvarint(len(qualifier)) qualifier
//
// and for the one with it, avalanche(timeless + prime1*timestamp): all modulo 2^64, with XXH64's seed 0, its constants
// and its final mixing. The parts are hashed apart so that a row's and a column's hash serve many cells, and joined by
// four multiplications, since every cell goes through here twice in a run. It finds accidents; it is no signature.
//
// The digest of a set of cells is the sum of the contributions modulo 2^64: a sum and not an XOR, so that a cell written
// twice does not cancel, and so that cells can be taken out of a sum again.
package digest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"bulkload/keys"

	"github.com/cespare/xxhash/v2"
)

// Sum is the digest of a set of cells. The zero Sum is that of no cells.
type Sum struct {
	Cells    int64
	Timed    uint64 // with the timestamps
	Timeless uint64 // without them
}

// Row is the hash of a row, for Cell.
func Row(row []byte) uint64 { return xxhash.Sum64(row) }

// Column is the hash of a family and qualifier, for Cell.
func Column(family, qualifier []byte) uint64 {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+len(family)+len(qualifier))
	b = append(binary.AppendUvarint(b, uint64(len(family))), family...)
	b = append(binary.AppendUvarint(b, uint64(len(qualifier))), qualifier...)
	return xxhash.Sum64(b)
}

// Cell adds one cell, given the hashes of its row and column.
func (s *Sum) Cell(row, column uint64, value []byte, typ keys.CellType, timestamp int64) {
	timeless := avalanche(row*prime1 + column*prime2 + xxhash.Sum64(value)*prime3 + uint64(typ)*prime4)
	s.Cells++
	s.Timed += avalanche(timeless + uint64(timestamp)*prime1)
	s.Timeless += timeless
}

// Add adds the cells of another set.
func (s *Sum) Add(o Sum) {
	s.Cells += o.Cells
	s.Timed += o.Timed
	s.Timeless += o.Timeless
}

// Sub takes the cells of another set out.
func (s *Sum) Sub(o Sum) {
	s.Cells -= o.Cells
	s.Timed -= o.Timed
	s.Timeless -= o.Timeless
}

// String is the digest with the timestamps and without them, 16 hex digits each.
func (s Sum) String() string { return fmt.Sprintf("%016x/%016x", s.Timed, s.Timeless) }

// Stream adds up cells that come in HBase's order. It remembers the hashes of the last row and of the columns, which
// come again row after row.
type Stream struct {
	Sum     Sum
	row     []byte
	rowHash uint64
	columns []column
	next    int // where the next column probably is in columns
}

type column struct {
	family, qualifier []byte
	hash              uint64
}

// maxColumns bounds what a Stream remembers: a wide table has no end of qualifiers.
const maxColumns = 1024

// Add adds a cell.
func (t *Stream) Add(c *keys.Cell) {
	if t.Sum.Cells == 0 || !bytes.Equal(c.Row, t.row) {
		t.row = append(t.row[:0], c.Row...)
		t.rowHash = Row(c.Row)
		t.next = 0
	}
	t.Sum.Cell(t.rowHash, t.column(c), c.Value, c.Type, c.Timestamp)
}

// Visit is Add as hfilewriter's Verify wants it; it never fails.
func (t *Stream) Visit(c *keys.Cell) error {
	t.Add(c)
	return nil
}

func (t *Stream) column(c *keys.Cell) uint64 {
	for i := t.next; i < len(t.columns); i++ {
		if m := &t.columns[i]; bytes.Equal(m.qualifier, c.Qualifier) && bytes.Equal(m.family, c.Family) {
			t.next = i + 1
			return m.hash
		}
		if i > t.next+32 {
			break
		}
	}
	hash := Column(c.Family, c.Qualifier)
	if len(t.columns) < maxColumns {
		t.columns = append(t.columns, column{bytes.Clone(c.Family), bytes.Clone(c.Qualifier), hash})
		t.next = len(t.columns)
	}
	return hash
}

// sumJSON is a Sum as a manifest and a summary hold it: 64-bit numbers are more than every reader of JSON can take.
type sumJSON struct {
	Cells    int64  `json:"cells"`
	Timed    string `json:"with_timestamp"`
	Timeless string `json:"without_timestamp"`
}

// MarshalJSON writes the two sums as 16 hex digits each.
func (s Sum) MarshalJSON() ([]byte, error) {
	return json.Marshal(sumJSON{s.Cells, fmt.Sprintf("%016x", s.Timed), fmt.Sprintf("%016x", s.Timeless)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Sum) UnmarshalJSON(text []byte) error {
	var j sumJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	timed, err1 := strconv.ParseUint(j.Timed, 16, 64)
	timeless, err2 := strconv.ParseUint(j.Timeless, 16, 64)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("read a digest: %w", err)
	}
	*s = Sum{j.Cells, timed, timeless}
	return nil
}

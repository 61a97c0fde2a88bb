// Package digest computes an order-independent digest of cells, which is carried from the sort to the HFiles and to
// the reading back, and compared at each hand-over.
//
// A cell's contribution is, for the digest without the timestamp and the one with it,
//
//	timeless = fold((prime1*XXH3(row) + XXH3(value)) * (XXH3(column) + prime4*type))
//	timed    = timeless * (avalanche(prime1*timestamp) | 1)
//	column   = uvarint(len(family)) family uvarint(len(qualifier)) qualifier
//
// where fold is the upper half of a 128-bit product xor the lower, and all else is modulo 2^64. XXH3 is its 64-bit form
// with seed 0; the constants and avalanche are XXH64's. The parts are hashed apart so that a row's, a column's and a
// timestamp's hash serve many cells, and joined by two multiplications, since every cell goes through here twice in a
// run. It finds accidents; it is no signature.
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
	"math/bits"
	"strconv"

	"bulkload/keys"

	"github.com/zeebo/xxh3"
)

// Sum is the digest of a set of cells. The zero Sum is that of no cells.
type Sum struct {
	Cells    int64
	Timed    uint64 // with the timestamps
	Timeless uint64 // without them
}

// Row is the hash of a row, for Cell.
func Row(row []byte) uint64 { return prime1 * xxh3.Hash(row) }

// Moment is the hash of a timestamp, for Cell.
func Moment(timestamp int64) uint64 { return avalanche(prime1*uint64(timestamp)) | 1 }

// Column is the hash of a family and qualifier, for Cell. The qualifier may come in parts.
func Column(family []byte, qualifier ...[]byte) uint64 {
	var room [256]byte // for most of them
	b := append(binary.AppendUvarint(room[:0], uint64(len(family))), family...)
	n := 0
	for _, part := range qualifier {
		n += len(part)
	}
	b = binary.AppendUvarint(b, uint64(n))
	for _, part := range qualifier {
		b = append(b, part...)
	}
	return xxh3.Hash(b)
}

// Cell adds one cell, given the hashes of its row, column and timestamp.
func (s *Sum) Cell(row, column uint64, value []byte, typ keys.CellType, moment uint64) {
	high, low := bits.Mul64(row+xxh3.Hash(value), column+prime4*uint64(typ))
	timeless := high ^ low
	s.Cells++
	s.Timed += timeless * moment
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
	stamp   int64
	moment  uint64 // of stamp; 0 before the first cell
	columns []column
	next    int // where the next column probably is in columns

	last     uint64   // hash of the last column
	numbered []uint64 // hashes by number; 0: not known yet
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
	if c.Timestamp != t.stamp || t.moment == 0 {
		t.stamp, t.moment = c.Timestamp, Moment(c.Timestamp)
	}
	t.last = t.column(c)
	t.Sum.Cell(t.rowHash, t.last, c.Value, c.Type, t.moment)
}

// AddAgain adds a cell of which it is known whether row, family, timestamp and type are those of the cell before, and the
// number that stands for its column, throughout the stream; -1 where it has none.
func (t *Stream) AddAgain(c *keys.Cell, sameRow bool, column int) {
	if !sameRow || column < 0 || column >= len(t.numbered) || t.numbered[column] == 0 {
		t.Add(c)
		t.remember(column)
		return
	}
	t.Sum.Cell(t.rowHash, t.numbered[column], c.Value, c.Type, t.moment)
}

// remember keeps the last cell's column hash under its number.
func (t *Stream) remember(column int) {
	if column < 0 || column >= maxColumns {
		return
	}
	for column >= len(t.numbered) {
		t.numbered = append(t.numbered, 0)
	}
	t.numbered[column] = t.last
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

// Package digest computes an order-independent digest of cells. It follows the cells from the sort to the HFiles and
// through reading them back, and is compared at each step.
//
// A cell's contribution is, for the digest without the timestamp and the one with it,
//
//	timeless = fold((R + low) * (XXH3(column) + prime4*type + rotate(R, 32) + high)), where R = prime1*XXH3(row)
//	timed    = timeless * (avalanche(prime1*timestamp) | 1)
//	column   = uvarint(len(family)) family uvarint(len(qualifier)) qualifier
//
// where fold is the upper half of a 128-bit product xor the lower, and everything else is modulo 2^64. low and high
// represent the value; its words are little-endian, and prime2*len(value) is added to high:
//
//	bytes    low                                    high
//	0        0                                      0
//	1 to 3   the first, the middle and the last     0
//	4 to 8   the first four and the last four       0
//	9 to 16  the first eight                        the last eight
//	17 to 32 w1 + prime3*w3                         w2 + prime1*w4
//	more     XXH3(value)                            0
//
// where w1 and w2 are the first 16 bytes, and w3 and w4 the last 16. XXH3 is its 64-bit form with seed 0; the constants
// and avalanche are XXH64's. The parts are hashed separately, so that the hash of a row, a column or a timestamp serves
// many cells. A short value is not hashed at all, because it is in a product with two hashes. The row is in both
// factors, so that swapping values between two rows changes the sum. Each cell of a run is hashed here twice. The
// digest detects accidents; it is not a signature.
//
// The digest of a set of cells is the sum of the contributions modulo 2^64. With a sum instead of an XOR, a cell
// written twice does not cancel, and cells can be removed from a sum again.
package digest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"bulkload/cell"

	"github.com/zeebo/xxh3"
)

// Sum is the digest of a set of cells. The zero Sum is that of no cells.
type Sum struct {
	Cells    int64
	Timed    uint64 // with the timestamps
	Timeless uint64 // without them
}

// Row adds up cells of one row, timestamp and type. A row with several timestamps or types needs several. It is a
// value, so that it stays in registers while cells are added.
type Row struct {
	hash     uint64 // of the row
	other    uint64 // of row and type, in the other factor
	timeless uint64
	cells    int64
}

// NewRow returns a Row without cells.
func NewRow(row []byte, typ cell.KeyType) Row {
	return newRow(rowHash(row), typ)
}

func newRow(hash uint64, typ cell.KeyType) Row {
	return Row{hash: hash, other: prime4*uint64(typ) + bits.RotateLeft64(hash, 32)}
}

// With returns the row with one more cell, given the hash of its column. The compiler inlines it only where the profile
// of cmd/bulkload marks a call as hot.
func (r Row) With(column uint64, value []byte) Row {
	n := len(value)
	low, high := r.hash, column+r.other+prime2*uint64(n)
	switch {
	case n > 32:
		low += xxh3.Hash(value)
	case n > 16:
		first, last := value[:16], value[n-16:]
		low += binary.LittleEndian.Uint64(first) + prime3*binary.LittleEndian.Uint64(last)
		high += binary.LittleEndian.Uint64(first[8:]) + prime1*binary.LittleEndian.Uint64(last[8:])
	case n > 8:
		low += binary.LittleEndian.Uint64(value)
		high += binary.LittleEndian.Uint64(value[n-8:])
	case n >= 4:
		low += uint64(binary.LittleEndian.Uint32(value)) | uint64(binary.LittleEndian.Uint32(value[n-4:]))<<32
	case n > 0:
		low += uint64(value[0]) | uint64(value[n/2])<<8 | uint64(value[n-1])<<16
	}
	upper, lower := bits.Mul64(low, high)
	r.timeless += upper ^ lower
	r.cells++
	return r
}

// AddRow adds a row's cells, all with this timestamp.
func (s *Sum) AddRow(r Row, timestamp int64) { s.addRow(r, moment(timestamp)) }

// addRow multiplies once: the sum of the cells' products with moment is the product of their sum with it.
func (s *Sum) addRow(r Row, moment uint64) {
	s.Cells += r.cells
	s.Timed += r.timeless * moment
	s.Timeless += r.timeless
}

func rowHash(row []byte) uint64 { return prime1 * xxh3.Hash(row) }

// moment is the hash of a timestamp.
func moment(timestamp int64) uint64 { return avalanche(prime1*uint64(timestamp)) | 1 }

// Column is the hash of a family and qualifier, for Row. The qualifier may come in parts.
func Column(family []byte, qualifier ...[]byte) uint64 {
	var room [256]byte // enough for most of them
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

// Add adds the cells of another set.
func (s *Sum) Add(o Sum) {
	s.Cells += o.Cells
	s.Timed += o.Timed
	s.Timeless += o.Timeless
}

// Sub removes the cells of another set.
func (s *Sum) Sub(o Sum) {
	s.Cells -= o.Cells
	s.Timed -= o.Timed
	s.Timeless -= o.Timeless
}

// String returns the digest with the timestamps and the one without them, as 16 hex digits each.
func (s Sum) String() string { return fmt.Sprintf("%016x/%016x", s.Timed, s.Timeless) }

// Stream adds up cells in HBase's order. It caches the hashes of the last row and of the columns, which are the same in
// row after row.
type Stream struct {
	Sum     Sum
	row     []byte
	rowHash uint64
	stamp   int64
	moment  uint64 // of stamp; 0 before the first cell
	columns []column
	next    int // the probable index of the next column in columns

	numbered []uint64 // columns' hashes by number
}

type column struct {
	family, qualifier []byte
	hash              uint64
}

// maxColumns bounds the columns that a Stream caches by name: a wide table has any number of qualifiers. Callers that
// number columns bound the numbers.
const maxColumns = 1024

// Add adds a cell.
func (t *Stream) Add(c *cell.Cell) { t.AddRun(c, -1, nil, nil) }

// AddRun adds a cell, whose column has the given number throughout the stream, or -1 for none. It also adds the cells
// after it with the same row, family, timestamp and type, whose column numbers have already come with earlier cells.
func (t *Stream) AddRun(c *cell.Cell, column int, columns []int32, values [][]byte) {
	if t.Sum.Cells == 0 || !bytes.Equal(c.Row, t.row) {
		t.row = append(t.row[:0], c.Row...)
		t.rowHash = rowHash(c.Row)
		t.next = 0
	}
	if c.Timestamp != t.stamp || t.moment == 0 {
		t.stamp, t.moment = c.Timestamp, moment(c.Timestamp)
	}
	hash := t.column(c)
	t.remember(column, hash)
	row := newRow(t.rowHash, c.Type)
	row = row.With(hash, c.Value)
	numbered := t.numbered
	for i, value := range values {
		row = row.With(numbered[columns[i]], value)
	}
	t.Sum.addRow(row, t.moment)
}

// remember caches a column's hash under its number.
func (t *Stream) remember(column int, hash uint64) {
	for column >= len(t.numbered) {
		t.numbered = append(t.numbered, 0)
	}
	if column >= 0 {
		t.numbered[column] = hash
	}
}

func (t *Stream) column(c *cell.Cell) uint64 {
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

// sumJSON is a Sum in a manifest or a summary, as text because not every reader of JSON handles 64-bit numbers.
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

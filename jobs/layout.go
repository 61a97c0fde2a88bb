package jobs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/jobs/jobfile"
	"bulkload/partition"
	"bulkload/values"
)

// layout is the fixed order of a row's cells: by family, then by qualifier, as HBase orders them. A sort entry's payload
// holds the values in this order, behind the row's timestamp where each row has its own.
type layout struct {
	wide      bool  // the cells' qualifiers begin with one of the record's
	sources   []int // of each cell: the input column, or behind those the constant
	hashes    []uint64
	families  []layoutFamily
	timed     bool  // each record has its own timestamp
	timestamp int64 // of all records, where not
}

// layoutFamily is one family's cells: those from first to before last.
type layoutFamily struct {
	name        string
	bytes       []byte // the name
	first, last int
	columns     *hfilewriter.Columns
	qualifiers  [][]byte
}

func newLayout(j *jobfile.Job) (*layout, error) {
	columns := j.ValueColumns()
	l := &layout{wide: j.Wide != nil, timed: j.Moments != "", timestamp: j.Timestamp}
	for i, c := range columns {
		if !c.Skip {
			l.sources = append(l.sources, i)
		}
	}
	slices.SortFunc(l.sources, func(a, b int) int {
		if by := strings.Compare(columns[a].Family, columns[b].Family); by != 0 {
			return by
		}
		return strings.Compare(columns[a].Qualifier, columns[b].Qualifier)
	})
	for i, source := range l.sources {
		c := columns[source]
		if len(l.families) == 0 || l.families[len(l.families)-1].name != c.Family {
			l.families = append(l.families, layoutFamily{name: c.Family, bytes: []byte(c.Family), first: i})
		}
		f := &l.families[len(l.families)-1]
		f.qualifiers = append(f.qualifiers, []byte(c.Qualifier))
		f.last = i + 1
		l.hashes = append(l.hashes, digest.Column([]byte(c.Family), []byte(c.Qualifier)))
	}
	for i := range l.families {
		f := &l.families[i]
		var err error
		if f.columns, err = hfilewriter.NewColumns(f.bytes, f.qualifiers); err != nil {
			return nil, fmt.Errorf("lay out family %s: %w", f.name, err)
		}
	}
	return l, nil
}

// pack appends a record's timestamp where it is its own, and its values packed.
func (l *layout) pack(dst []byte, fields []values.Value, timestamp int64) []byte {
	dst = l.packTimestamp(dst, timestamp)
	for _, source := range l.sources {
		dst = hfilewriter.AppendPackedValue(dst, fields[source])
	}
	return dst
}

// packAndDigest is pack, and gives the row with the values as cells: both in one pass, since every record goes through
// here. named is what their qualifiers begin with in a wide table.
func (l *layout) packAndDigest(dst []byte, row digest.Row, named []byte, fields []values.Value, timestamp int64) ([]byte, digest.Row) {
	dst = l.packTimestamp(dst, timestamp)
	for i, source := range l.sources {
		value := fields[source]
		if !value.Null() {
			row = row.With(l.hash(i, named), value.Bytes())
		}
		dst = hfilewriter.AppendPackedValue(dst, value)
	}
	return dst, row
}

func (l *layout) packTimestamp(dst []byte, timestamp int64) []byte {
	if l.timed {
		return binary.BigEndian.AppendUint64(dst, uint64(timestamp))
	}
	return dst
}

var errPayload = fmt.Errorf("%w: a sort entry's payload can't be read", partition.ErrDamaged)

// cutTimestamp gives a payload's timestamp and packed values.
func (l *layout) cutTimestamp(payload []byte) (timestamp int64, packed []byte, err error) {
	if !l.timed {
		return l.timestamp, payload, nil
	}
	if len(payload) < 8 {
		return 0, nil, errPayload
	}
	return int64(binary.BigEndian.Uint64(payload)), payload[8:], nil
}

// unpack fills values with views of a payload, and gives the row's timestamp.
func (l *layout) unpack(payload []byte, values []values.Value) (timestamp int64, err error) {
	timestamp, packed, err := l.cutTimestamp(payload)
	for i := range values {
		if err == nil {
			values[i], packed, err = hfilewriter.CutPackedValue(packed)
		}
	}
	if err != nil || len(packed) != 0 {
		return 0, errPayload
	}
	return timestamp, nil
}

// digestPayload adds a record's cells, taken from its payload, to a sum.
func (l *layout) digestPayload(sum *digest.Sum, row, named, payload []byte) error {
	timestamp, packed, err := l.cutTimestamp(payload)
	if err != nil {
		return err
	}
	cells := digest.NewRow(row, cell.Put)
	for i := range l.sources {
		var value values.Value
		if value, packed, err = hfilewriter.CutPackedValue(packed); err != nil {
			return errPayload
		}
		if !value.Null() {
			cells = cells.With(l.hash(i, named), value.Bytes())
		}
	}
	if len(packed) != 0 {
		return errPayload
	}
	sum.AddRow(cells, timestamp)
	return nil
}

// digestValues adds a record's cells, taken from its unpacked values, to a sum.
func (l *layout) digestValues(sum *digest.Sum, row, named []byte, values []values.Value, timestamp int64) {
	cells := digest.NewRow(row, cell.Put)
	for i, value := range values {
		if !value.Null() {
			cells = cells.With(l.hash(i, named), value.Bytes())
		}
	}
	sum.AddRow(cells, timestamp)
}

// hash is that of a cell's column.
func (l *layout) hash(i int, named []byte) uint64 {
	if l.wide {
		return l.wideHash(i, named)
	}
	return l.hashes[i]
}

func (l *layout) wideHash(i int, named []byte) uint64 {
	f := l.familyOf(i)
	return digest.Column(f.bytes, named, f.qualifiers[i-f.first])
}

// familyOf is the family of a cell.
func (l *layout) familyOf(i int) *layoutFamily {
	f := 0
	for i >= l.families[f].last {
		f++
	}
	return &l.families[f]
}

// familyNamed is the place of a family; 0 for one that is not there.
func (l *layout) familyNamed(name []byte) int {
	for i := range l.families {
		if bytes.Equal(l.families[i].bytes, name) {
			return i
		}
	}
	return 0
}

// cells visits a record's cells in order. The cell is valid during the call; its qualifier stays.
func (l *layout) cells(row, named []byte, values []values.Value, timestamp int64, visit func(*cell.Cell) error) error {
	for _, f := range l.families {
		for i := f.first; i < f.last; i++ {
			if values[i].Null() {
				continue
			}
			next := cell.Cell{Row: row, Family: f.bytes, Qualifier: f.qualifiers[i-f.first], Timestamp: timestamp, Type: cell.Put, Value: values[i].Bytes()}
			if l.wide {
				next.Qualifier = slices.Concat(named, next.Qualifier)
			}
			if err := visit(&next); err != nil {
				return err
			}
		}
	}
	return nil
}

// count is how many of a family's values are cells.
func (f *layoutFamily) count(values []values.Value) int64 {
	var n int64
	for _, v := range values[f.first:f.last] {
		if !v.Null() {
			n++
		}
	}
	return n
}

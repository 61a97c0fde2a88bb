package entry

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/poison"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
	"bulkload/sortentry"
	"bulkload/values"
)

// RowLayout is the fixed order of a row's cells: by family, then by qualifier, as in HBase. A sort entry's payload has
// the values in this order, after the row's timestamp if each row has its own. The job fixes it before the sort begins:
// packed values have no names, so in another order they would end up in other columns.
type RowLayout struct {
	Wide      bool  // the cells' qualifiers begin with the record's qualifier
	Sources   []int // for each cell: the index of its input column or, after those, of its constant
	hashes    []uint64
	Families  []FamilyCells
	Longest   int            // bytes of the longest family and qualifier together
	family    []int          // for each cell: the index of its family
	named     map[string]int // the indexes of families, by name
	timed     bool           // each record has its own timestamp
	timestamp int64          // of all records, unless timed
}

// FamilyCells is one family's cells: those from first to before last.
type FamilyCells struct {
	Name        string
	Bytes       []byte // the name
	First, Last int
	Columns     *hfilewriter.Columns
	Qualifiers  [][]byte
}

// NewLayout returns the layout of a job's cells.
func NewLayout(j *jobfile.Job) (*RowLayout, error) {
	columns := j.ValueColumns()
	l := &RowLayout{Wide: j.Wide != nil, timed: j.Moments != "", timestamp: j.Timestamp, named: map[string]int{}}
	for i, c := range columns {
		if !c.Skip {
			l.Sources = append(l.Sources, i)
		}
	}
	slices.SortFunc(l.Sources, func(a, b int) int {
		if by := strings.Compare(columns[a].Family, columns[b].Family); by != 0 {
			return by
		}
		return strings.Compare(columns[a].Qualifier, columns[b].Qualifier)
	})
	for i, source := range l.Sources {
		c := columns[source]
		if len(l.Families) == 0 || l.Families[len(l.Families)-1].Name != c.Family {
			l.named[c.Family] = len(l.Families)
			l.Families = append(l.Families, FamilyCells{Name: c.Family, Bytes: []byte(c.Family), First: i})
		}
		l.family = append(l.family, len(l.Families)-1)
		l.Longest = max(l.Longest, len(c.Family)+len(c.Qualifier))
		f := &l.Families[len(l.Families)-1]
		f.Qualifiers = append(f.Qualifiers, []byte(c.Qualifier))
		f.Last = i + 1
		l.hashes = append(l.hashes, digest.Column([]byte(c.Family), []byte(c.Qualifier)))
	}
	for i := range l.Families {
		f := &l.Families[i]
		var err error
		if f.Columns, err = hfilewriter.NewColumns(f.Bytes, f.Qualifiers); err != nil {
			return nil, fmt.Errorf("lay out family %s: %w", f.Name, err)
		}
	}
	return l, nil
}

// Pack appends a record's timestamp, if each has its own, and its packed values.
func (l *RowLayout) Pack(dst []byte, fields []values.Value, timestamp int64) []byte {
	dst = l.packTimestamp(dst, timestamp)
	for _, source := range l.Sources {
		dst = sortentry.AppendValue(dst, fields[source])
	}
	return dst
}

// PackAndDigest is Pack, but also adds the values, as cells, to the row's digest. It does so in one pass because every
// record goes through here. named is the beginning of their qualifiers in a wide table.
func (l *RowLayout) PackAndDigest(dst []byte, row digest.Row, named []byte, fields []values.Value,
	timestamp int64) ([]byte, digest.Row) {
	dst = l.packTimestamp(dst, timestamp)
	for i, source := range l.Sources {
		value := fields[source]
		if !value.Null() {
			row = row.With(l.hash(i, named), value.Bytes())
		}
		dst = sortentry.AppendValue(dst, value)
	}
	return dst, row
}

func (l *RowLayout) packTimestamp(dst []byte, timestamp int64) []byte {
	if l.timed {
		return binary.BigEndian.AppendUint64(dst, uint64(timestamp))
	}
	return dst
}

// ErrPayload means that a sorted run is damaged, because one of its payloads can't be read.
var ErrPayload = fmt.Errorf("%w: a sort entry's payload can't be read", partition.ErrDamaged)

// CutTimestamp returns a payload's timestamp and packed values.
func (l *RowLayout) CutTimestamp(payload []byte) (timestamp int64, packed []byte, err error) {
	if !l.timed {
		return l.timestamp, payload, nil
	}
	if len(payload) < 8 {
		return 0, nil, ErrPayload
	}
	return int64(binary.BigEndian.Uint64(payload)), payload[8:], nil
}

// Unpack fills values with views of a payload, and returns the row's timestamp.
func (l *RowLayout) Unpack(payload []byte, fields []values.Value) (timestamp int64, err error) {
	timestamp, packed, err := l.CutTimestamp(payload)
	for i := range fields {
		if err == nil {
			fields[i], packed, err = sortentry.CutValue(packed)
		}
	}
	if err != nil || len(packed) != 0 {
		return 0, ErrPayload
	}
	return timestamp, nil
}

// DigestPayload adds a record's cells, from its payload, to a sum.
func (l *RowLayout) DigestPayload(sum *digest.Sum, row, named, payload []byte) error {
	timestamp, packed, err := l.CutTimestamp(payload)
	if err != nil {
		return err
	}
	cells := digest.NewRow(row, cell.Put)
	for i := range l.Sources {
		var value values.Value
		if value, packed, err = sortentry.CutValue(packed); err != nil {
			return ErrPayload
		}
		if !value.Null() {
			cells = cells.With(l.hash(i, named), value.Bytes())
		}
	}
	if len(packed) != 0 {
		return ErrPayload
	}
	sum.AddRow(cells, timestamp)
	return nil
}

// DigestValues adds a record's cells, from its unpacked values, to a sum.
func (l *RowLayout) DigestValues(sum *digest.Sum, row, named []byte, fields []values.Value, timestamp int64) {
	cells := digest.NewRow(row, cell.Put)
	for i, value := range fields {
		if !value.Null() {
			cells = cells.With(l.hash(i, named), value.Bytes())
		}
	}
	sum.AddRow(cells, timestamp)
}

// hash returns the hash of a cell's column.
func (l *RowLayout) hash(i int, named []byte) uint64 {
	if l.Wide {
		return l.wideHash(i, named)
	}
	return l.hashes[i]
}

func (l *RowLayout) wideHash(i int, named []byte) uint64 {
	f := &l.Families[l.family[i]]
	return digest.Column(f.Bytes, named, f.Qualifiers[i-f.First])
}

// FamilyNamed returns the index of a family; 0 if it does not exist.
func (l *RowLayout) FamilyNamed(name []byte) int { return l.named[string(name)] }

// Cells visits a record's cells in order. The cell is valid during the call. Its qualifier may be retained, and its
// other bytes are those of row and fields.
func (l *RowLayout) Cells(row, named []byte, fields []values.Value, timestamp int64,
	visit func(*cell.Cell) error) error {
	for _, f := range l.Families {
		for i := f.First; i < f.Last; i++ {
			if fields[i].Null() {
				continue
			}
			next := cell.Cell{Row: row, Family: f.Bytes, Qualifier: f.Qualifiers[i-f.First], Timestamp: timestamp,
				Type: cell.Put, Value: fields[i].Bytes()}
			if l.Wide {
				next.Qualifier = slices.Concat(named, next.Qualifier)
			}
			err := visit(&next)
			if poison.Enabled {
				next = cell.Cell{}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Count returns how many of a family's values are cells.
func (f *FamilyCells) Count(fields []values.Value) int64 {
	var n int64
	for _, v := range fields[f.First:f.Last] {
		if !v.Null() {
			n++
		}
	}
	return n
}

package simcluster

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"bulkload/cell"
)

// file is a store file, or a part of the memstore: cells in order. It never changes.
type file []stored

// stored is a cell with the sequence number of its change: of equal keys, the latest counts.
type stored struct {
	cell.Cell
	seq int64
}

// compareKeys orders the cells of one family as HBase does, apart from the sequence number.
func compareKeys(a, b *stored) int {
	return cmp.Or(bytes.Compare(a.Row, b.Row), bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Timestamp, a.Timestamp), cmp.Compare(b.Type, a.Type))
}

func newFile(cells []cell.Cell, seq int64) file {
	f := make(file, len(cells))
	for i := range cells {
		f[i] = stored{cells[i], seq}
	}
	return merged([]file{f})
}

// merged are the cells of some files in order. Of equal keys only the latest remains, as in any scan of HBase.
func merged(files []file) file {
	all := slices.Concat(files...)
	slices.SortStableFunc(all, func(a, b stored) int { return cmp.Or(compareKeys(&a, &b), cmp.Compare(b.seq, a.seq)) })
	return slices.CompactFunc(all, func(a, b stored) bool { return compareKeys(&a, &b) == 0 })
}

// rows are the cells of a file from a row to before another; nil: to the end.
func (f file) rows(from, to []byte) file {
	first := sort.Search(len(f), func(i int) bool { return bytes.Compare(f[i].Row, from) >= 0 })
	last := len(f)
	if len(to) > 0 {
		last = sort.Search(len(f), func(i int) bool { return bytes.Compare(f[i].Row, to) >= 0 })
	}
	return f[first:max(first, last)]
}

// within reports whether a file has cells with timestamps from one to before another. Others are not read.
func (f file) within(from, to int64) bool {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range f {
		least, most = min(least, f[i].Timestamp), max(most, f[i].Timestamp)
	}
	return least < to && most >= from
}

// size is about that of the cells in bytes.
func (f file) size() (n int) {
	for i := range f {
		n += len(f[i].Row) + len(f[i].Family) + len(f[i].Qualifier) + len(f[i].Value) + 20
	}
	return n
}

// stored are the cells of a family and a range of rows, from all of the region's files.
func (r *region) stored(family string, from, to []byte) file {
	var parts []file
	for _, f := range r.stores[family] {
		parts = append(parts, f.rows(from, to))
	}
	return merged(parts)
}

// view determines which cells of a family a reader or a compaction sees.
type view struct {
	raw      bool // everything that is stored
	markers  bool // delete markers, too
	from, to int64
	versions int   // of a column, at most
	least    int   // versions that are kept even if expired
	oldest   int64 // timestamp that is not expired
}

// viewOf is the view of a reader who wants all versions that the family keeps.
func viewOf(f *Family, now int64) view {
	number := func(name string, def int64) int64 {
		if n, err := strconv.ParseInt(f.Attributes[name], 10, 64); err == nil {
			return n
		}
		return def
	}
	v := view{to: math.MaxInt64, versions: int(number("VERSIONS", 1)), least: int(number("MIN_VERSIONS", 0))}
	if ttl := number("TTL", math.MaxInt32); ttl < math.MaxInt32 {
		v.oldest = now - ttl*1000
	}
	return v
}

// visible are the cells that a view shows of one row of a family.
//
// A delete marker hides puts by their timestamps, however late they come: HBase's rule without NEW_VERSION_BEHAVIOR.
func (v *view) visible(row file) file {
	var found file
	var family, column markers
	versions := 0
	for i := range row {
		s := &row[i]
		if i == 0 || !bytes.Equal(row[i-1].Qualifier, s.Qualifier) {
			column, versions = markers{}, 0
		}
		inRange := s.Timestamp >= v.from && s.Timestamp < v.to
		switch {
		case s.Type == cell.DeleteFamily || s.Type == cell.DeleteFamilyVersion:
			family.add(s, cell.DeleteFamilyVersion)
		case s.Type == cell.Delete || s.Type == cell.DeleteColumn:
			column.add(s, cell.Delete)
		case !inRange, !v.raw && (family.hide(s) || column.hide(s)):
			continue
		default:
			if versions++; versions > v.versions || !v.raw && s.Timestamp < v.oldest && versions > v.least {
				continue
			}
		}
		if inRange && (s.Type == cell.Put || v.markers) {
			found = append(found, *s)
		}
	}
	return found
}

// markers are delete markers of a family or a column.
type markers struct {
	until  int64          // hides this timestamp and all earlier ones
	some   bool           // until is set
	single map[int64]bool // hides these timestamps
}

// add records a marker. Those of the type single hide one timestamp.
func (m *markers) add(s *stored, single cell.KeyType) {
	if s.Type != single {
		m.until, m.some = max(m.until, s.Timestamp), true
		return
	}
	if m.single == nil {
		m.single = map[int64]bool{}
	}
	m.single[s.Timestamp] = true
}

func (m *markers) hide(s *stored) bool {
	return m.some && s.Timestamp <= m.until || m.single[s.Timestamp]
}

// compact replaces some files of a family (the first n, or all if n is 0) with one that lacks the cells that no reader
// can see and, if major, the delete markers. This is how HBase forgets versions beyond VERSIONS.
func (r *region) compact(f *Family, n int, major bool, now int64) {
	files := r.stores[f.Name]
	if n == 0 || n > len(files) {
		n = len(files)
	}
	v := viewOf(f, now)
	v.markers = !major || n < len(files)
	var kept file
	for _, row := range eachRow(merged(files[:n])) {
		kept = append(kept, v.visible(row)...)
	}
	rest := slices.Clone(files[n:])
	if len(kept) > 0 {
		rest = append([]file{kept}, rest...)
	}
	r.stores[f.Name] = rest
}

// eachRow splits ordered cells by row.
func eachRow(all file) (rows []file) {
	for len(all) > 0 {
		n := sort.Search(len(all), func(i int) bool { return !bytes.Equal(all[i].Row, all[0].Row) })
		rows, all = append(rows, all[:n]), all[n:]
	}
	return rows
}

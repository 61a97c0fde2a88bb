package stats

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// fewGroups is how many groups a sample must hold to give up whole groups. With fewer, it gives up rows.
const fewGroups = 64

// Sample keeps rows up to a number of bytes. It chooses them by the hash of their group, so that the rows of one query
// key, which are adjacent in an HFile, are kept or left out together. While all rows fit, it keeps all. It is safe for
// concurrent use, and its content does not depend on the order of the rows, unless a handful of groups has most of
// them.
type Sample struct {
	budget int
	level  atomic.Uint32 // of groups, see chosen
	thin   atomic.Uint32 // of rows

	mu   sync.Mutex
	rows []sampleRow
	data []byte
	same map[uint64]int // index of each row without a payload
}

type sampleRow struct {
	group, row  uint64 // hashes
	at          int    // in data
	key, length int    // bytes of the key, and of all
	weight      int64
	place       int // where in the input it was found
}

// NewSample returns a sample that keeps about that many bytes.
func NewSample(budget int) *Sample { return &Sample{budget: budget, same: map[uint64]int{}} }

// Add offers a row: the hashes of its group and of itself, its entry, the length of the key at the entry's beginning,
// and its weight. A row that is only a key is kept once, with the weights of all its occurrences.
func (s *Sample) Add(group, row uint64, entry []byte, key int, weight int64) {
	s.AddAt(0, group, row, entry, key, weight)
}

// AddAt is Add for a row that was found at one of several places of the input: see Thin and Scale.
func (s *Sample) AddAt(place int, group, row uint64, entry []byte, key int, weight int64) {
	if !chosen(group, s.level.Load()) || !chosen(row, s.thin.Load()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !chosen(group, s.level.Load()) || !chosen(row, s.thin.Load()) {
		return
	}
	if key == len(entry) {
		if at, known := s.same[sameRow(row, place)]; known {
			s.rows[at].weight += weight
			return
		}
		s.same[sameRow(row, place)] = len(s.rows)
	}
	s.rows = append(s.rows, sampleRow{group, row, len(s.data), key, len(entry), weight, place})
	s.data = append(s.data, entry...)
	for len(s.data) > s.budget && len(s.rows) > 1 && s.thin.Load() < 32 {
		s.shrink()
	}
}

// shrink gives up half of the groups, or half of the rows if there are few groups.
func (s *Sample) shrink() {
	if s.level.Load() < 48 && s.groups() >= fewGroups {
		s.level.Add(1)
	} else {
		s.thin.Add(1)
	}
	level, thin := s.level.Load(), s.thin.Load()
	kept, data := s.rows[:0], s.data[:0]
	clear(s.same)
	for _, r := range s.rows {
		if !chosen(r.group, level) || !chosen(r.row, thin) {
			continue
		}
		at := len(data)
		data = append(data, s.data[r.at:r.at+r.length]...)
		r.at = at
		if r.key == r.length {
			s.same[sameRow(r.row, r.place)] = len(kept)
		}
		kept = append(kept, r)
	}
	s.rows, s.data = kept, data
}

// sameRow distinguishes the same row at different places, whose weights differ.
func sameRow(row uint64, place int) uint64 { return row + uint64(place)*0x9e3779b97f4a7c15 }

// groups counts the different groups, to fewGroups at most.
func (s *Sample) groups() int {
	found := map[uint64]bool{}
	for _, r := range s.rows {
		if found[r.group] = true; len(found) >= fewGroups {
			break
		}
	}
	return len(found)
}

// Len returns how many rows are kept.
func (s *Sample) Len() int { return len(s.rows) }

// Bytes returns how many bytes the rows have: their keys and what follows them.
func (s *Sample) Bytes() (all int64) {
	for i := range s.rows {
		all += int64(s.rows[i].length)
	}
	return all
}

// Largest returns the bytes of the largest row.
func (s *Sample) Largest() (most int) {
	for i := range s.rows {
		most = max(most, s.rows[i].length)
	}
	return most
}

// Sort orders the rows by key, and rows with the same key by what follows it. Call it after all rows were added.
func (s *Sample) Sort() {
	slices.SortFunc(s.rows, func(a, b sampleRow) int {
		if order := bytes.Compare(s.keyOf(&a), s.keyOf(&b)); order != 0 {
			return order
		}
		return bytes.Compare(s.data[a.at:a.at+a.length], s.data[b.at:b.at+b.length])
	})
	clear(s.same)
}

func (s *Sample) keyOf(r *sampleRow) []byte { return s.data[r.at : r.at+r.key] }

// Row returns the i-th row: its key and what follows it.
func (s *Sample) Row(i int) (key, rest []byte) {
	r := &s.rows[i]
	return s.keyOf(r), s.data[r.at+r.key : r.at+r.length]
}

// Weight returns the weight of the i-th row.
func (s *Sample) Weight(i int) int64 { return s.rows[i].weight }

// Hash returns the hash by which the package's sketches identify bytes.
func Hash(b []byte) uint64 { return xxh3.Hash(b) }

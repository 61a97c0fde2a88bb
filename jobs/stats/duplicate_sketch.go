package stats

import (
	"math"
	"sync"
)

// DuplicateSketch finds row keys that occur more than once, in bounded memory. It identifies keys by 64-bit hashes, and
// keeps all of them while they fit. Whenever they don't, it continues with half of them. It selects that half by hash,
// so all rows of a kept key are counted. It is safe for concurrent use, and its content does not depend on the order of
// rows.
type DuplicateSketch struct {
	mu    sync.Mutex
	level uint32
	most  int // slots
	used  int
	slots []sketchKey
}

type sketchKey struct {
	hash    uint64 // 0: free
	content uint32 // a hash of the first row's cells
	more    uint32 // rows after the first; the highest bit is set if one of them differs
}

const differs = 1 << 31

// SketchRow is one row for DuplicateSketch.Add.
type SketchRow struct {
	Key     uint64 // hash of the row key
	Content uint32 // hash of the rest
}

// NewDuplicateSketch returns a sketch that uses at most memory bytes.
func NewDuplicateSketch(memory int64) *DuplicateSketch {
	most := 1 << 10
	for int64(most)*2*16 <= memory {
		most *= 2
	}
	return &DuplicateSketch{most: most, slots: make([]sketchKey, min(most, 1<<10))}
}

// Add adds rows, preferably many at a time.
func (s *DuplicateSketch) Add(rows []SketchRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		if chosen(r.Key, s.level) {
			s.add(r)
		}
	}
}

func (s *DuplicateSketch) add(r SketchRow) {
	if r.Key == 0 {
		r.Key = 1
	}
	at := s.find(r.Key)
	if k := &s.slots[at]; k.hash != 0 {
		if k.more&^differs < differs-1 {
			k.more++
		}
		if k.content != r.Content {
			k.more |= differs
		}
		return
	}
	s.slots[at] = sketchKey{hash: r.Key, content: r.Content}
	if s.used++; s.used > len(s.slots)/4*3 {
		s.grow()
	}
}

// find returns a key's slot, or the free one for it. The low bits of the hash select it, because the high ones are all
// zero once the level has risen.
func (s *DuplicateSketch) find(hash uint64) int {
	mask := len(s.slots) - 1
	at := int(hash) & mask
	for s.slots[at].hash != 0 && s.slots[at].hash != hash {
		at = (at + 1) & mask
	}
	return at
}

// grow doubles the slots, or drops half of the keys.
func (s *DuplicateSketch) grow() {
	size := 2 * len(s.slots)
	for size > s.most || s.used > size/4*3 {
		size = len(s.slots)
		s.level++
		s.used = 0
		for i := range s.slots {
			if k := &s.slots[i]; k.hash != 0 && chosen(k.hash, s.level) {
				s.used++
			}
		}
		if s.used <= size/4*3 {
			break
		}
	}
	old := s.slots
	s.slots = make([]sketchKey, size)
	for _, k := range old {
		if k.hash != 0 && chosen(k.hash, s.level) {
			s.slots[s.find(k.hash)] = k
		}
	}
}

// Repeats counts the row keys that occur more than once.
type Repeats struct {
	Keys      int64   `json:"keys"`      // different keys that were compared
	Repeated  int64   `json:"repeated"`  // keys that occur more than once
	Rows      int64   `json:"rows"`      // their rows after the first
	Differing int64   `json:"differing"` // repeated keys whose rows are not all the same
	Share     float64 `json:"share"`     // share of all row keys that was compared; 1: all
}

// Missed returns the probability that the given number of repeated keys were all overlooked.
func (r *Repeats) Missed(keys int64) float64 { return math.Pow(1-r.Share, float64(keys)) }

// Repeats returns the counts so far.
func (s *DuplicateSketch) Repeats() Repeats {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Repeats{Keys: int64(s.used), Share: math.Pow(0.5, float64(s.level))}
	for _, k := range s.slots {
		if k.more == 0 {
			continue
		}
		r.Repeated++
		r.Rows += int64(k.more &^ differs)
		if k.more&differs != 0 {
			r.Differing++
		}
	}
	return r
}

package stats

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// GroupCounts counts the rows of each key. While there are few keys, it counts all of them. Whenever there are too
// many, it continues with half of them. It selects that half by hash, so all rows of a kept key are counted. It is safe
// for concurrent use, and its content does not depend on the order of rows.
type GroupCounts struct {
	most  int
	level atomic.Uint32 // keys are kept if their hash begins with so many zero bits
	mu    sync.Mutex
	rows  map[uint64]int64
}

// NewGroupCounts returns a GroupCounts that keeps at most that many keys.
func NewGroupCounts(most int) *GroupCounts { return &GroupCounts{most: most, rows: map[uint64]int64{}} }

// chosen reports whether a hash is in the part that a level selects.
func chosen(hash uint64, level uint32) bool { return hash>>(63-level)>>1 == 0 }

// Add counts n rows of a key.
func (g *GroupCounts) Add(hash uint64, n int64) {
	if !chosen(hash, g.level.Load()) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !chosen(hash, g.level.Load()) {
		return
	}
	g.rows[hash] += n
	for len(g.rows) > g.most {
		level := g.level.Add(1)
		for hash := range g.rows {
			if !chosen(hash, level) {
				delete(g.rows, hash)
			}
		}
	}
}

// Rows returns how many rows a key has; false if it is not counted.
func (g *GroupCounts) Rows(hash uint64) (int64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rows, known := g.rows[hash]
	return rows, known
}

// Distribution describes how many rows the keys have.
type Distribution struct {
	Keys    int64    `json:"keys"`  // keys that were counted
	Share   float64  `json:"share"` // share of all keys that was counted; 1: all
	Mean    float64  `json:"mean"`
	Median  int64    `json:"median"`
	P90     int64    `json:"p90"`
	P99     int64    `json:"p99"`
	Max     int64    `json:"max"`
	Over    int64    `json:"over_limit"` // counted keys with more than RowLimit rows
	Buckets []Bucket `json:"buckets"`
}

// Bucket is how many of the counted keys have From to To rows.
type Bucket struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Keys int64 `json:"keys"`
}

// RowLimit is how many rows a query should return at most. plan warns of more, but nothing is ever cut.
const RowLimit = 50

// bucketEnds are the upper bounds of the buckets, RowLimit among them.
var bucketEnds = []int64{1, 2, 5, 10, 20, RowLimit, 100, 1000, 10_000, 100_000, math.MaxInt64}

// Distribution returns the distribution of the counted keys.
func (g *GroupCounts) Distribution() Distribution {
	counts := make([]int64, 0, len(g.rows))
	var all int64
	for _, n := range g.rows {
		counts = append(counts, n)
		all += n
	}
	slices.Sort(counts)
	d := Distribution{Keys: int64(len(counts)), Share: math.Pow(0.5, float64(g.level.Load())), Buckets: []Bucket{}}
	if len(counts) == 0 {
		return d
	}
	at := func(p float64) int64 { return counts[int(p*float64(len(counts)-1))] }
	d.Mean, d.Median, d.P90, d.P99 = float64(all)/float64(len(counts)), at(0.5), at(0.9), at(0.99)
	d.Max = counts[len(counts)-1]
	over, _ := slices.BinarySearch(counts, RowLimit+1)
	d.Over = int64(len(counts) - over)
	from := int64(1)
	for _, end := range bucketEnds {
		if from > d.Max {
			break
		}
		first, _ := slices.BinarySearch(counts, from)
		last := len(counts)
		if end < math.MaxInt64 {
			last, _ = slices.BinarySearch(counts, end+1)
		}
		d.Buckets = append(d.Buckets, Bucket{from, min(end, d.Max), int64(last - first)})
		from = end + 1
	}
	return d
}

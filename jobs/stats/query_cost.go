package stats

import (
	"math"
	"sync"
)

// QueryCost says how many rows queries return and how many they read: those that have the query's values, and all those
// that have the prefix of the row key which the values determine. It counts exactly up to a number of values and of
// prefixes, and beyond that for a part of them, chosen by hash. It is safe for concurrent use.
type QueryCost struct {
	prefixes *GroupCounts

	mu     sync.Mutex
	most   int
	level  uint32
	values map[uint64]path
}

type path struct {
	prefix uint64
	rows   int64
}

// NewQueryCost makes one that keeps at most so many values, and as many prefixes.
func NewQueryCost(most int) *QueryCost {
	return &QueryCost{prefixes: NewGroupCounts(most), most: most, values: map[uint64]path{}}
}

// Add counts a row by the hashes of its values and of its prefix.
func (p *QueryCost) Add(values, prefix uint64) {
	p.prefixes.Add(prefix, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !chosen(values, p.level) {
		return
	}
	known := p.values[values]
	p.values[values] = path{prefix, known.rows + 1}
	for len(p.values) > p.most {
		p.level++
		for hash := range p.values {
			if !chosen(hash, p.level) {
				delete(p.values, hash)
			}
		}
	}
}

// Means are how many rows a query returns and reads, on average over all different values; 0 if there are none.
func (p *QueryCost) Means() (returned, read float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows, under, known int64
	for _, v := range p.values {
		rows += v.rows
		if n, ok := p.prefixes.Rows(v.prefix); ok {
			under += n
			known++
		}
	}
	return float64(rows) / math.Max(float64(len(p.values)), 1), float64(under) / math.Max(float64(known), 1)
}

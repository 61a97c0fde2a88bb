package stats

import (
	"math"
	"sync"
)

// QueryCost compares the rows that queries return (those with the query's values) with the rows that they read (all
// with the row key prefix that the values determine). It counts exactly up to a number of values and prefixes; beyond
// it, it counts a part chosen by hash. It is safe for concurrent use.
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

// NewQueryCost returns a QueryCost that keeps at most that many values, and as many prefixes.
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

// Means returns how many rows a query returns and reads, on average over all different values; 0 without values.
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

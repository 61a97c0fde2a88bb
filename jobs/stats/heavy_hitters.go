package stats

import (
	"bytes"
	"cmp"
	"slices"
)

// longestKept is how many bytes of a frequent key are kept for display.
const longestKept = 200

// HeavyHitters finds the most frequent keys with a fixed number of counters: the Space-Saving algorithm (Metwally,
// Agrawal, El Abbadi, 2005). Every key with more than rows/counters rows is among them.
type HeavyHitters struct {
	counters []counter      // a heap: the smallest count first
	places   map[uint64]int // of a key's counter
	most     int
}

type counter struct {
	hash        uint64
	count, over int64 // count is too high by at most over
	key         []byte
}

// Frequency is a key and its number of rows: at most Rows, at least Rows - Over.
type Frequency struct {
	Key  string `json:"key"`
	Rows int64  `json:"rows"`
	Over int64  `json:"over"`
}

// NewHeavyHitters returns a HeavyHitters with that many counters.
func NewHeavyHitters(counters int) *HeavyHitters {
	return &HeavyHitters{places: make(map[uint64]int, counters), most: max(counters, 1)}
}

// Add counts n rows of a key, identified by its hash. The key is copied if it is kept.
func (f *HeavyHitters) Add(hash uint64, key []byte, n int64) { f.add(hash, key, n, 0) }

func (f *HeavyHitters) add(hash uint64, key []byte, n, over int64) {
	if at, ok := f.places[hash]; ok {
		f.counters[at].count += n
		f.counters[at].over += over
		f.sink(at)
		return
	}
	key = key[:min(len(key), longestKept)]
	if len(f.counters) < f.most {
		f.counters = append(f.counters, counter{hash, n, over, bytes.Clone(key)})
		at := len(f.counters) - 1
		f.places[hash] = at
		f.rise(at)
		return
	}
	least := &f.counters[0]
	delete(f.places, least.hash)
	f.places[hash] = 0
	least.hash, least.key = hash, append(least.key[:0], key...)
	least.over = least.count + over
	least.count += n
	f.sink(0)
}

func (f *HeavyHitters) swap(i, j int) {
	f.counters[i], f.counters[j] = f.counters[j], f.counters[i]
	f.places[f.counters[i].hash], f.places[f.counters[j].hash] = i, j
}

func (f *HeavyHitters) rise(i int) {
	for i > 0 {
		above := (i - 1) / 2
		if f.counters[above].count <= f.counters[i].count {
			return
		}
		f.swap(i, above)
		i = above
	}
}

func (f *HeavyHitters) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.counters); child++ {
			if f.counters[child].count < f.counters[least].count {
				least = child
			}
		}
		if least == i {
			return
		}
		f.swap(i, least)
		i = least
	}
}

// Merge adds the counts of o, which must have as many counters. A key without a counter in one of the two may still
// have had rows there, up to its smallest count.
func (f *HeavyHitters) Merge(o *HeavyHitters) {
	mine, theirs := f.unseen(), o.unseen()
	all := make(map[uint64]counter, len(f.counters)+len(o.counters))
	for _, c := range f.counters {
		all[c.hash] = counter{c.hash, c.count + theirs, c.over + theirs, c.key}
	}
	for _, c := range o.counters {
		if have, both := all[c.hash]; both {
			c.count, c.over = c.count+have.count-theirs, c.over+have.over-theirs
		} else {
			c.count, c.over = c.count+mine, c.over+mine
		}
		all[c.hash] = c
	}
	merged := make([]counter, 0, len(all))
	for _, c := range all {
		merged = append(merged, c)
	}
	slices.SortFunc(merged, mostFirst)
	merged = merged[:min(len(merged), f.most)]
	slices.Reverse(merged) // an ascending list is a heap
	f.counters, f.places = merged, make(map[uint64]int, f.most)
	for i, c := range merged {
		f.places[c.hash] = i
	}
}

// unseen returns how many rows a key without a counter may have had.
func (f *HeavyHitters) unseen() int64 {
	if len(f.counters) < f.most {
		return 0
	}
	return f.counters[0].count
}

func mostFirst(a, b counter) int {
	if by := cmp.Compare(b.count, a.count); by != 0 {
		return by
	}
	return bytes.Compare(a.key, b.key)
}

// Top lists the n keys, or fewer, that certainly have the most rows, formatted by show. exact returns a key's exact
// number of rows, if known.
func (f *HeavyHitters) Top(n int, exact func(hash uint64) (int64, bool), show func([]byte) string) []Frequency {
	sorted := slices.Clone(f.counters)
	for i := range sorted {
		if rows, known := exact(sorted[i].hash); known {
			sorted[i].count, sorted[i].over = rows, 0
		}
	}
	slices.SortFunc(sorted, func(a, b counter) int {
		return cmp.Or(cmp.Compare(b.count-b.over, a.count-a.over), bytes.Compare(a.key, b.key))
	})
	top := []Frequency{}
	for _, c := range sorted[:min(n, len(sorted))] {
		top = append(top, Frequency{show(c.key), c.count, c.over})
	}
	return top
}

package partition

import "slices"

// insertionSortMax is up to how many entries are sorted by comparison instead of by counting.
const insertionSortMax = 32

// sort orders the index by key, then by position. It must not be called again with more entries, because sortDeeper
// replaces prefixes; if there are none, it does nothing.
func (a *arena) sort() {
	if a.sorted < len(a.index) {
		a.sortByPrefix(a.index, 56, 0)
		a.sorted = len(a.index)
	}
}

// sortByPrefix sorts entries by the prefix's bytes from shift down, in place ("American flag"). The prefixes were taken
// depth bytes into the keys, which are equal up to there.
func (a *arena) sortByPrefix(ix []indexEntry, shift, depth int) {
	if len(ix) <= insertionSortMax {
		a.insertionSort(ix, depth)
		return
	}
	var ends [256]int // first the counts, then the ends
	for i := range ix {
		ends[byte(ix[i].prefix>>shift)]++
	}
	if ends[byte(ix[0].prefix>>shift)] == len(ix) {
		a.sortBucket(ix, shift, depth)
		return
	}
	distribute(ix, &ends, shift)
	start := 0
	for _, end := range ends {
		if end-start > 1 {
			a.sortBucket(ix[start:end], shift, depth)
		}
		start = end
	}
}

// sortBucket continues with entries whose prefixes are equal down to shift.
func (a *arena) sortBucket(ix []indexEntry, shift, depth int) {
	if shift > 0 {
		a.sortByPrefix(ix, shift-8, depth)
		return
	}
	a.sortDeeper(ix, depth)
}

// distribute moves each entry into the bucket of its byte. Afterwards sizes are the ends of the buckets.
func distribute(ix []indexEntry, sizes *[256]int, shift int) {
	var next, ends [256]int
	at := 0
	for b, n := range sizes {
		next[b] = at
		at += n
		ends[b] = at
	}
	for b := range next {
		for next[b] < ends[b] {
			e := ix[next[b]]
			for {
				to := byte(e.prefix >> shift)
				if int(to) == b {
					break
				}
				e, ix[next[to]] = ix[next[to]], e
				next[to]++
			}
			ix[next[b]] = e
			next[b]++
		}
	}
	*sizes = ends
}

// sortDeeper sorts entries with equal prefixes by the rest of the key, from the first byte in which they differ.
func (a *arena) sortDeeper(ix []indexEntry, depth int) {
	if len(ix) <= insertionSortMax {
		a.insertionSort(ix, depth)
		return
	}
	depth = a.common(ix, depth)
	differ := false
	for i := range ix {
		ix[i].prefix = prefixOf(a.key(ix[i].at)[depth:])
		differ = differ || ix[i].prefix != ix[0].prefix
	}
	if differ {
		a.sortByPrefix(ix, 56, depth)
		return
	}
	// Equal keys, or one that ends where another continues with zero bytes.
	slices.SortFunc(ix, func(x, y indexEntry) int { return a.compare(x.at, y.at, depth) })
}

// common is how many bytes all keys share, at least depth.
func (a *arena) common(ix []indexEntry, depth int) int {
	first := a.key(ix[0].at)
	shared := len(first)
	for _, e := range ix[1:] {
		key := a.key(e.at)
		shared = min(shared, len(key))
		n := depth
		for n < shared && key[n] == first[n] {
			n++
		}
		shared = n
	}
	return shared
}

// insertionSort sorts by prefix, and then by the rest of the key.
func (a *arena) insertionSort(ix []indexEntry, depth int) {
	ties := false
	for i := 1; i < len(ix); i++ {
		e := ix[i]
		j := i
		for j > 0 && e.prefix < ix[j-1].prefix {
			ix[j] = ix[j-1]
			j--
		}
		ix[j] = e
		ties = ties || j > 0 && ix[j-1].prefix == e.prefix
	}
	if ties {
		a.breakTies(ix, depth)
	}
}

// breakTies sorts neighbours with equal prefixes by the rest of the key. A header and a key of usual length are in two
// cache lines.
func (a *arena) breakTies(ix []indexEntry, depth int) {
	a.prefetch(ix, 2, &a.prefetched)
	for i := 1; i < len(ix); i++ {
		e := ix[i]
		j := i
		for j > 0 && e.prefix == ix[j-1].prefix && a.compare(e.at, ix[j-1].at, depth) < 0 {
			ix[j] = ix[j-1]
			j--
		}
		ix[j] = e
	}
}

package partition

// radixSort sorts refs by prefix, stably, byte by byte from the last one, and passes over bytes that are the same in all.
// spare is room that it may use and returns, perhaps grown.
func radixSort(refs, spare []ref) []ref {
	if len(refs) < 2 {
		return spare
	}
	if cap(spare) < len(refs) {
		spare = make([]ref, cap(refs))
	}
	var counts [8][256]uint32
	for _, r := range refs {
		for i := range counts {
			counts[i][byte(r.prefix>>(8*i))]++
		}
	}
	from, to := refs, spare[:len(refs)]
	for i := range counts {
		count := &counts[i]
		if count[byte(refs[0].prefix>>(8*i))] == uint32(len(refs)) {
			continue
		}
		at := uint32(0)
		for b, n := range count {
			count[b], at = at, at+n
		}
		for _, r := range from {
			b := byte(r.prefix >> (8 * i))
			to[count[b]] = r
			count[b]++
		}
		from, to = to, from
	}
	if &from[0] != &refs[0] {
		copy(refs, from)
	}
	return spare
}

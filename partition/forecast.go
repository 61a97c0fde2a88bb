package partition

import "iter"

// SpillForecast is the expected spilling of a sort.
type SpillForecast struct {
	Runs    int   // as Stats has them: runs that are merged into larger ones count once
	Entries int64 // in these runs
}

// Shape describes the entries of a future sort.
type Shape struct {
	Mean    float64 // bytes of an entry's key and payload
	Largest int     // bytes of the largest entry
	Shards  []int64 // entries that each shard will get
}

// ForecastSpill predicts what a sort with that many bytes of memory spills, by the rules of arena, Shard and planMerge.
// It is exact if all entries have the same size and each shard gets as many as the Shape says.
func ForecastSpill(memory int64, shape Shape) SpillForecast {
	shards := len(shape.Shards)
	s := Sorter{memory: max(memory, int64(shards)*minShare), shards: shards}
	s.blockSize = s.blockSizeOf()
	limit := s.arenaLimit()
	capacity := shape.capacity(limit)
	var runs []int64 // entries of each
	var arenas int64
	var rest []int64 // entries that are not spilled when all are added
	for _, entries := range shape.Shards {
		// A shard spills when it is full, not when the next entry comes.
		for ; entries >= capacity; entries -= capacity {
			runs = append(runs, capacity)
		}
		if entries > 0 {
			rest = append(rest, entries)
			_, bytes := shape.fill(limit, entries)
			arenas += bytes
		}
	}
	if len(runs) > maxOpen || arenas+s.mergeMemoryOf(len(runs), shape.buffer(s.blockSize)) > s.memory {
		runs = append(runs, rest...)
	}
	f := SpillForecast{Runs: len(runs)}
	for _, n := range runs {
		f.Entries += n
	}
	return f
}

// MemoryWithoutSpill returns how many bytes of memory a sort needs to spill nothing, to within a sixty-fourth, and at
// least a given number.
func MemoryWithoutSpill(shape Shape, least int64) int64 {
	var entries int64
	for _, n := range shape.Shards {
		entries += n
	}
	most := 64 * int64(float64(entries)*(headerLen+indexLen+shape.Mean)) // bounds the search, and is never needed
	enough := max(least, 1<<20)
	for enough < most && ForecastSpill(enough, shape).Runs > 0 {
		enough *= 2
	}
	for step := enough / 4; step >= enough/64; step /= 2 {
		if enough-step >= least && ForecastSpill(enough-step, shape).Runs == 0 {
			enough -= step
		}
	}
	return enough
}

// capacity is how many entries fill an arena.
func (s *Shape) capacity(limit int64) int64 {
	n, _ := s.fill(limit, 1<<62)
	return n
}

// fill adds entries to an arena until it is full or has most of them. It returns their number and the arena's bytes.
func (s *Shape) fill(limit, most int64) (n, bytes int64) {
	a := newArena(limit)
	chunk := int64(a.chunkSize)
	reserve := headerLen + min(int64(s.Largest), chunk/8)
	inChunk := max(int64(float64(chunk-reserve)/(headerLen+s.Mean))+1, 1)
	var index int64
	for n < most && (n == 0 || bytes+chunk <= limit) {
		bytes += chunk
		for want := min(n+inChunk, most); n < want; n = min(index, want) {
			if n < index {
				continue
			}
			grown := index*3/2 + 256
			if n > 0 && bytes+grown*indexLen > limit {
				return n, bytes
			}
			bytes, index = bytes+(grown-index)*indexLen, grown
		}
	}
	return n, bytes
}

// buffer is spilledRun.bufferSize.
func (s *Shape) buffer(blockSize int) int {
	r := spilledRun{largest: max(blockSize-blockHeaderLen, s.Largest+entryOverhead)}
	return r.bufferSize()
}

// mergeMemoryOf is mergeMemory for a number of runs, with buffers of a number of bytes.
func (s *Sorter) mergeMemoryOf(runs, buffer int) int64 {
	if runs == 0 {
		return 0
	}
	return (2*int64(runs) + 1) * int64(buffer) * int64(max(2, s.shards))
}

// Stored returns how many bytes the entries need in the blocks of runs, uncompressed and compressed, for a sort with
// that many bytes of memory. The entries must be sorted.
func Stored(memory int64, entries iter.Seq[Entry]) (plain, compressed int64) {
	s := Sorter{memory: memory}
	size := s.blockSizeOf()
	var block, stored []byte
	end := func() {
		if len(block) > 0 {
			stored = appendBlock(stored[:0], block, false)
			plain, compressed = plain+int64(blockHeaderLen+len(block)), compressed+int64(len(stored))
			block = block[:0]
		}
	}
	for e := range entries {
		if len(block)+len(e.Key)+len(e.Payload)+entryOverhead > size {
			end()
		}
		block = appendEntry(block, &e)
	}
	end()
	return plain, compressed
}

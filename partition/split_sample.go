package partition

import (
	"bytes"
	"math/bits"
	"slices"

	"bulkload/internal/poison"

	"github.com/zeebo/xxh3"
)

// The rows alone determine where a region may be cut. A row is a candidate if the hash of its key ends in at least
// level zero bits. The level is the smallest one that leaves at most maxCandidates candidates, with at most
// maxCandidateBytes together, among all rows of the sort. A shard sees some of the rows, so it never needs a higher
// level than the whole. The shards' candidates are then merged and reduced by the same rule, so the result is the same
// however the rows were distributed.
//
// That matters for more than balance, because slices are the unit of resuming. If another memory size or a resumed run
// chose other cuts, recorded slices would not fit together with new ones.
const (
	maxCandidates     = 4096    // enough for a region with nine tenths of the rows to have 115 for each of 16 slices
	maxCandidateBytes = 1 << 20 // for keys of kilobytes
)

// splitSample holds the rows at which regions may be cut.
type splitSample struct {
	level      int         // minimum number of zero bits at the end of a candidate's hash
	candidates []candidate // in the order in which they were added
	text       []byte      // the candidates' keys
	spare      []byte      // for the next text
}

// candidate is one candidate.
type candidate struct {
	start, end uint32 // of its key in the text
	level      uint8
}

// hashZeros is the number of zero bits at the end of a key's XXH3.
func hashZeros(key []byte) int { return bits.TrailingZeros64(xxh3.Hash(key)) }

// offerKey adds the key of an entry if it is a candidate.
func (c *splitSample) offerKey(key []byte) {
	if zeros := hashZeros(key); zeros >= c.level {
		c.add(key, uint8(zeros))
	}
}

func (c *splitSample) add(key []byte, zeros uint8) {
	if n := len(c.candidates); n > 0 && bytes.Equal(c.key(c.candidates[n-1]), key) {
		return
	}
	start := len(c.text)
	c.text = append(c.text, key...)
	c.candidates = append(c.candidates, candidate{uint32(start), uint32(len(c.text)), zeros})
	if len(c.candidates) > maxCandidates+maxCandidates/4 || len(c.text) > maxCandidateBytes+maxCandidateBytes/4 {
		c.compact()
	}
}

func (c *splitSample) key(m candidate) []byte { return c.text[m.start:m.end:m.end] }

// compact sorts the candidates, removes duplicates, and raises the level while there are too many.
func (c *splitSample) compact() {
	slices.SortFunc(c.candidates, func(a, b candidate) int { return bytes.Compare(c.key(a), c.key(b)) })
	c.candidates = slices.CompactFunc(c.candidates, func(a, b candidate) bool { return bytes.Equal(c.key(a), c.key(b)) })
	for c.tooMany() {
		c.level++
		c.filter()
	}
	c.packKeys()
}

func (c *splitSample) tooMany() bool {
	size := 0
	for _, m := range c.candidates {
		size += int(m.end - m.start)
	}
	return len(c.candidates) > maxCandidates || size > maxCandidateBytes
}

// filter removes candidates below the level.
func (c *splitSample) filter() {
	c.candidates = slices.DeleteFunc(c.candidates, func(m candidate) bool { return int(m.level) < c.level })
}

// packKeys moves the remaining keys together.
func (c *splitSample) packKeys() {
	text := c.spare[:0]
	for i, m := range c.candidates {
		start := len(text)
		text = append(text, c.key(m)...)
		c.candidates[i].start, c.candidates[i].end = uint32(start), uint32(len(text))
	}
	c.text, c.spare = text, c.text
	poison.Bytes(c.spare)
}

// merge adds another shard's candidates.
func (c *splitSample) merge(d *splitSample) {
	c.level = max(c.level, d.level)
	c.filter()
	for _, m := range d.candidates {
		if int(m.level) >= c.level {
			c.add(d.key(m), m.level)
		}
	}
	c.compact()
}

// reset removes the candidates, and accepts no new ones below the given level.
func (c *splitSample) reset(zeros int) {
	c.level, c.candidates, c.text = max(c.level, zeros), c.candidates[:0], c.text[:0]
}

// between returns the candidates after the row start and before the row end (empty: to the last one), after compact.
func (c *splitSample) between(start, end []byte) []candidate {
	find := func(row []byte) int {
		at, _ := slices.BinarySearchFunc(c.candidates, row,
			func(m candidate, row []byte) int { return bytes.Compare(c.key(m), row) })
		return at
	}
	from, to := find(start), len(c.candidates)
	if len(end) > 0 {
		to = find(end)
	}
	if from < to && bytes.Equal(c.key(c.candidates[from]), start) {
		from++
	}
	return c.candidates[from:to]
}

package partition

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// Where a region may be cut follows from the rows alone: a row is a candidate where the hash of its key ends in enough
// zero bits. How many are enough is the least number that leaves at most maxCandidates candidates, of maxCandidateBytes together, of
// all rows of the sort. A lane sees a part of the rows, so it never needs more zero bits than the whole; what the lanes
// have kept is then joined and reduced by the same rule, and comes out the same however the rows were shared out.
const (
	maxCandidates     = 4096    // of them a region with nine tenths of the rows has at least 115 for each of 16 slices
	maxCandidateBytes = 1 << 20 // for keys of kilobytes
)

// splitSample are the rows at which regions may be cut.
type splitSample struct {
	level      int         // bits at the end of a candidate's hash, at least
	candidates []candidate // candidates, as they came
	text       []byte      // their keys
	spare      []byte      // for the next text
}

// candidate is one candidate.
type candidate struct {
	start, end uint32 // of its key in the text
	level      uint8
}

// hashZeros is how many zero bits the hash of a key, XXH3, ends in.
func hashZeros(key []byte) int { return bits.TrailingZeros64(xxh3.Hash(key)) }

// offerKey takes the key of an entry.
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

// compact sorts the candidates, keeps one of each, and asks for more zero bits while there are too many.
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

// filter drops what has too few zero bits.
func (c *splitSample) filter() {
	c.candidates = slices.DeleteFunc(c.candidates, func(m candidate) bool { return int(m.level) < c.level })
}

// packKeys moves the keys that are left together.
func (c *splitSample) packKeys() {
	text := c.spare[:0]
	for i, m := range c.candidates {
		start := len(text)
		text = append(text, c.key(m)...)
		c.candidates[i].start, c.candidates[i].end = uint32(start), uint32(len(text))
	}
	c.text, c.spare = text, c.text
}

// merge takes over another lane's candidates.
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

// reset drops the candidates and takes no new ones with less zero bits than some sort's.
func (c *splitSample) reset(zeros int) {
	c.level, c.candidates, c.text = max(c.level, zeros), c.candidates[:0], c.text[:0]
}

// between are the candidates behind the row start, before the row end (none: the last), once tidied.
func (c *splitSample) between(start, end []byte) []candidate {
	find := func(row []byte) int {
		at, _ := slices.BinarySearchFunc(c.candidates, row, func(m candidate, row []byte) int { return bytes.Compare(c.key(m), row) })
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

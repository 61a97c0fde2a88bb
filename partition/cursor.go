package partition

import (
	"bytes"

	"bulkload/internal/poison"
)

// memoryRun is a shard's sorted arena.
type memoryRun struct {
	arena  *arena
	bounds []int // start of each region in the index, and then its length
}

func newMemoryRun(a *arena, r *Regions) *memoryRun {
	m := &memoryRun{arena: a, bounds: make([]int, r.Len()+1)}
	for i := 1; i < r.Len(); i++ {
		m.bounds[i] = m.bounds[i-1] + a.search(m.bounds[i-1], r.Start(i))
	}
	m.bounds[r.Len()] = len(a.index)
	return m
}

// part returns a slice's part of the index.
func (m *memoryRun) part(s Slice) []indexEntry {
	from, to := m.bounds[s.Region], m.bounds[s.Region+1]
	if len(s.Start) > 0 {
		from = min(from+m.arena.search(from, s.Start), to)
	}
	if len(s.End) > 0 {
		to = min(from+m.arena.search(from, s.End), to)
	}
	return m.arena.index[from:to]
}

// cursor iterates over one region of a run, in memory or on disk.
type cursor struct {
	prefix uint64 // of the key
	done   bool
	Entry

	arena      *arena // nil: on disk
	index      []indexEntry
	inCache    int // how many of the next entries are prefetched
	prefetched prefetched

	run     *spilledRun
	at      blockStart // of the next block
	end     int64      // of the region
	block   []byte     // the rest of the current block
	buffers [2][]byte  // of the current block and of the one before, whose last entry may still be in use
	reader  *RunReader
}

// nextFrom advances to the next entry at or after a row.
func (c *cursor) nextFrom(row []byte) error {
	for {
		if err := c.next(); err != nil || c.done || len(row) == 0 || bytes.Compare(c.Key, row) >= 0 {
			return err
		}
	}
}

// next advances to the next entry; after the last one it sets done.
func (c *cursor) next() error {
	switch {
	case c.arena == nil:
		if err := c.nextOnDisk(); err != nil || c.done {
			return err
		}
	case len(c.index) == 0:
		c.done = true
		return nil
	default:
		if c.inCache == 0 {
			c.inCache = min(prefetchEntries, len(c.index))
			c.arena.prefetch(c.index[:c.inCache], prefetchLines, &c.prefetched)
		}
		c.inCache--
		c.arena.read(&c.Entry, c.index[0].at)
		c.index = c.index[1:]
	}
	c.prefix = prefixOf(c.Key)
	return nil
}

func (c *cursor) nextOnDisk() (err error) {
	if len(c.block) == 0 {
		if c.at.offset == c.end {
			c.done = true
			return nil
		}
		if err := c.nextBlock(); err != nil {
			return err
		}
	}
	if c.block = decodeEntry(c.block, &c.Entry); c.block == nil {
		return c.run.fault(c.at.offset, ErrDamaged)
	}
	return nil
}

// nextBlock reads a block.
func (c *cursor) nextBlock() (err error) {
	c.buffers[0], c.buffers[1] = c.buffers[1], c.buffers[0]
	if c.buffers[0] == nil {
		c.buffers[0] = c.reader.sorted.buffer(c.run.bufferSize())
	}
	stored, own := c.reader.stored, c.buffers[0]
	poison.Bytes(stored)
	poison.Bytes(own)
	c.block, c.at, err = c.run.readBlock(c.at, c.end, stored, own)
	if err != nil || len(c.block) == 0 || &c.block[0] == &own[0] {
		return err
	}
	// A plain block is a view of the buffer it was read into, which the next cursor needs.
	if len(own) >= len(stored) { // large enough for any block of the run
		c.reader.stored, c.buffers[0] = own, stored
	} else {
		c.block = own[:copy(own, c.block)]
	}
	return nil
}

// before reports whether c's entry comes before d's. A cursor after its last entry comes after all others.
func (c *cursor) before(d *cursor) bool {
	switch {
	case c.done || d.done:
		return !c.done
	case c.prefix != d.prefix:
		return c.prefix < d.prefix
	}
	return compareEntries(&c.Entry, &d.Entry) < 0
}

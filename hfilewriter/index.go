package hfilewriter

import (
	"encoding/binary"
	"fmt"

	"bulkload/cell"
)

// The data index (HFileBlockIndex.BlockIndexWriter, NoOpIndexBlockEncoder). A root block:
//
//	n times: long block offset, int block's size on disk, vint key length, key     n stands in the trailer
//	[long, int: the leaf block with the middle data block; int: the entry in it]   only where there are leaf blocks
//
// A leaf or intermediate block:
//
//	int n
//	int at[n+1]   where each entry begins, from the end of this array; the last: where they end
//	n times: long block offset, int block's size on disk, key
//
// The keys are separators: the first data block's is its first cell's key, a later one's is at most its first cell's
// key and above the last cell's of the block before.
const (
	indexEntryLen  = 8 + 4     // long offset, int size
	midKeyLen      = 8 + 4 + 4 // long offset, int size, int entry
	maxIndexLevels = 16        // BlockIndexWriter.writeIndexBlocks gives up there
)

// indexEntry points at a block below. In a leaf that is a data block, above it an index block.
type indexEntry struct {
	key   []byte
	block handle
}

// nonRootLen is the length of a leaf or intermediate block's payload.
func nonRootLen(entries []indexEntry) int {
	n := 4 + 4*(len(entries)+1)
	for _, e := range entries {
		n += indexEntryLen + len(e.key)
	}
	return n
}

// rootLen is the length of a root block's payload without a middle.
func rootLen(entries []indexEntry) int {
	n := 0
	for _, e := range entries {
		n += rootEntryLen(e)
	}
	return n
}

func rootEntryLen(e indexEntry) int { return indexEntryLen + vintLen(len(e.key)) + len(e.key) }

// appendNonRoot encodes a leaf or intermediate block.
func appendNonRoot(dst []byte, entries []indexEntry) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	at := 0
	for _, e := range entries {
		dst = binary.BigEndian.AppendUint32(dst, uint32(at))
		at += indexEntryLen + len(e.key)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(at))
	for _, e := range entries {
		dst = appendIndexEntry(dst, e.block)
		dst = append(dst, e.key...)
	}
	return dst
}

// parseNonRoot decodes a leaf or intermediate block; the keys are views of it.
func parseNonRoot(payload []byte) ([]indexEntry, error) {
	c := cursor{b: payload}
	n := int64(c.uint32())
	if c.bad() || n < 1 || 4*(n+1)+n*indexEntryLen > int64(len(payload)) {
		return nil, fmt.Errorf("%w: index block of %d bytes says %d entries", ErrCorrupt, len(payload), n)
	}
	at := make([]int, n+1)
	for i := range at {
		at[i] = int(c.uint32())
	}
	entries := make([]indexEntry, n)
	for i := range entries {
		if at[i] != c.at-4-4*int(n+1) {
			c.fail("entry %d does not begin where the block says", i)
		}
		entries[i].block = c.handle()
		entries[i].key = c.bytes(at[i+1] - at[i] - indexEntryLen)
	}
	if c.at != len(payload) {
		c.fail("%d bytes behind the last entry", len(payload)-c.at)
	}
	return entries, c.err
}

func appendIndexEntry(dst []byte, h handle) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.offset))
	return binary.BigEndian.AppendUint32(dst, uint32(h.size))
}

func (c *cursor) handle() handle {
	return handle{int64(c.uint64()), int(int32(c.uint32()))}
}

// appendRoot encodes a root block's entries.
func appendRoot(dst []byte, entries []indexEntry) []byte {
	for _, e := range entries {
		dst = appendIndexEntry(dst, e.block)
		dst = appendVInt(dst, int64(len(e.key)))
		dst = append(dst, e.key...)
	}
	return dst
}

// parseRoot decodes a root block of n entries, whose keys are views of it, and its middle.
func parseRoot(payload []byte, n int64, leaves bool) (entries []indexEntry, mid *midKey, err error) {
	c := cursor{b: payload}
	if n < 0 || n > int64(len(payload))/(indexEntryLen+1) {
		return nil, nil, fmt.Errorf("%w: root index of %d bytes can't hold %d entries", ErrCorrupt, len(payload), n)
	}
	entries = make([]indexEntry, n)
	for i := range entries {
		entries[i].block = c.handle()
		entries[i].key = c.bytes(int(min(c.vlong(), maxKeyLen+1)))
	}
	if leaves && len(c.rest()) >= midKeyLen {
		mid = &midKey{leaf: c.handle(), entry: int(c.uint32())}
	}
	if c.at != len(payload) {
		c.fail("%d bytes behind the last root entry", len(payload)-c.at)
	}
	return entries, mid, c.err
}

// midKey names the data block in the middle of a file, by which HBase splits a region.
type midKey struct {
	leaf  handle
	entry int
}

// indexWriter collects the entries of data blocks and lays them out as one to many levels.
type indexWriter struct {
	blocks     *blockWriter
	maxSize    int // bytes of an index block
	minEntries int // entries

	leaf      []indexEntry // not yet written
	leafLen   int          // nonRootLen(leaf)
	root      []indexEntry // the leaves written, as their parents see them
	cumBlocks []int        // data blocks in the leaves up to and with each
	data      int          // data blocks so far
	raw       int64        // bytes of index payloads
	scratch   []byte
}

func newIndexWriter(blocks *blockWriter, s *Settings) *indexWriter {
	return &indexWriter{blocks: blocks, maxSize: s.IndexBlockSize, minEntries: s.IndexMinEntries, leafLen: nonRootLen(nil)}
}

// add takes a data block. The key is copied.
func (x *indexWriter) add(key []byte, block handle) {
	x.leaf = append(x.leaf, indexEntry{append([]byte(nil), key...), block})
	x.leafLen += 4 + indexEntryLen + len(key)
	x.data++
}

// writeLeaf writes a leaf that is full. last, at the end of the data: any leaf that there is, if there has been one
// before; else its entries become the root, however many they are (BlockIndexWriter.shouldWriteBlock).
func (x *indexWriter) writeLeaf(last bool) error {
	due := x.leafLen >= x.maxSize
	if last {
		due = len(x.root) > 0 && len(x.leaf) > 0
	}
	if !due {
		return nil
	}
	h, err := x.write(blockLeafIndex, x.leaf)
	if err != nil {
		return err
	}
	x.root = append(x.root, indexEntry{x.leaf[0].key, h})
	x.cumBlocks = append(x.cumBlocks, x.data)
	clear(x.leaf)
	x.leaf, x.leafLen = x.leaf[:0], nonRootLen(nil)
	return nil
}

// write puts a leaf or intermediate block.
func (x *indexWriter) write(kind blockType, entries []indexEntry) (handle, error) {
	x.scratch = append(x.scratch[:0], make([]byte, headerLen)...)
	x.scratch = appendNonRoot(x.scratch, entries)
	x.raw += int64(len(x.scratch) - headerLen)
	return x.blocks.write(kind, x.scratch)
}

// writeRoot writes what is above the leaves and returns the root's offset, entries and the number of levels
// (BlockIndexWriter.writeIndexBlocks).
func (x *indexWriter) writeRoot() (root handle, entries, levels int, err error) {
	level, levels := x.leaf, 1
	var mid []byte
	if len(x.root) > 0 {
		level, levels, mid = x.root, 2, x.middle()
	}
	for rootLen(level) > x.maxSize && len(level) > x.minEntries && levels < maxIndexLevels {
		if level, err = x.writeLevel(level); err != nil {
			return root, 0, 0, err
		}
		levels++
	}
	x.scratch = append(x.scratch[:0], make([]byte, headerLen)...)
	x.scratch = append(appendRoot(x.scratch, level), mid...)
	x.raw += int64(len(x.scratch) - headerLen)
	root, err = x.blocks.write(blockRootIndex, x.scratch)
	return root, len(level), levels, err
}

// middle is the root's record of the middle data block (BlockIndexChunkImpl.getMidKeyMetadata).
func (x *indexWriter) middle() []byte {
	k := (x.data - 1) / 2
	leaf, before := 0, 0
	for x.cumBlocks[leaf] <= k {
		before = x.cumBlocks[leaf]
		leaf++
	}
	return binary.BigEndian.AppendUint32(appendIndexEntry(nil, x.root[leaf].block), uint32(k-before))
}

// writeLevel cuts a level that is too big for a root into intermediate blocks and returns the level above
// (BlockIndexWriter.writeIntermediateLevel). The least number of entries counts from the level's start, not the
// block's, as in HBase.
func (x *indexWriter) writeLevel(level []indexEntry) (above []indexEntry, err error) {
	from, size := 0, 0
	flush := func(to int) error {
		h, err := x.write(blockIntermediateIndex, level[from:to])
		above = append(above, indexEntry{level[from].key, h})
		from, size = to, 0
		return err
	}
	for i, e := range level {
		size += rootEntryLen(e)
		if i >= x.minEntries && size >= x.maxSize {
			if err := flush(i + 1); err != nil {
				return nil, err
			}
		}
	}
	if from < len(level) {
		err = flush(len(level))
	}
	return above, err
}

// appendSeparator appends the index key of a data block: left is the last cell of the block before, right the block's
// first. A shorter key between the two is made where there is one (HFileWriterImpl.getMidpoint, HBase 2.5 and later).
func appendSeparator(dst []byte, left, right *cell.Cell) []byte {
	between := cell.Cell{Timestamp: indexKeyTimestamp, Type: indexKeyType}
	var room [64]byte
	if row, ok := appendBetween(room[:0], left.Row, right.Row); ok {
		between.Row = row
		return appendKey(dst, &between)
	}
	if qualifier, ok := appendBetween(room[:0], left.Qualifier, right.Qualifier); ok {
		between.Row, between.Family, between.Qualifier = right.Row, right.Family, qualifier
		return appendKey(dst, &between)
	}
	return appendKey(dst, right)
}

// appendBetween appends the shortest bytes above l and at most r, where l is before r; false where they are equal
// (HFileWriterImpl.getMinimumMidpointArray).
func appendBetween(dst, l, r []byte) ([]byte, bool) {
	n := commonPrefix(l, r)
	if n == len(l) {
		if n == len(r) {
			return nil, false
		}
		return append(append(dst, l...), 0), true
	}
	return append(append(dst, l[:n]...), l[n]+1), true
}

package hfilewriter

import (
	"encoding/binary"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// The data index (HFileBlockIndex.BlockIndexWriter, NoOpIndexBlockEncoder). A root block:
//
//	n times: long block offset, int block's size on disk, vint key length, key     n is in the trailer
//	[long, int: the leaf block with the middle data block; int: the entry in it]   only if there are leaf blocks
//
// A leaf or intermediate block:
//
//	int n
//	int at[n+1]   offset of each entry, from the end of this array; the last one: the end of the entries
//	n times: long block offset, int block's size on disk, key
//
// The keys are separators. The first data block's key is the key of its first cell. A later block's key is at most
// the key of its first cell, and greater than the key of the last cell of the block before it. A search takes the
// last entry whose key is not greater than the wanted one. So a separator that is too small hides the last cells of the
// block before it from gets, while a scan of the whole file still shows them; one that is too great sends a search for
// the block's first cells to the block before. expectedEntry.check (verify.go) tests both sides.
const (
	indexEntryLen  = 8 + 4     // long offset, int size
	midKeyLen      = 8 + 4 + 4 // long offset, int size, int entry
	maxIndexLevels = 16        // the limit of BlockIndexWriter.writeIndexBlocks
)

// indexEntry points at a block one level down: from a leaf at a data block, from a higher level at an index block.
type indexEntry struct {
	key   []byte
	block handle
}

// nonRootLen returns the length of a leaf or intermediate block's payload.
func nonRootLen(entries []indexEntry) int {
	n := 4 + 4*(len(entries)+1)
	for _, e := range entries {
		n += indexEntryLen + len(e.key)
	}
	return n
}

// rootLen returns the length of a root block's payload without the record of the middle block.
func rootLen(entries []indexEntry) int {
	n := 0
	for _, e := range entries {
		n += rootEntryLen(e)
	}
	return n
}

// rootEntryLen is an entry's length in a root. writeLevel counts entries of intermediate blocks by it, too, though
// their form is another one: HBase does, and any other count would put other entries into a block.
func rootEntryLen(e indexEntry) int { return indexEntryLen + vintLen(len(e.key)) + len(e.key) }

// appendNonRoot encodes a leaf or intermediate block.
func appendNonRoot(dst []byte, entries []indexEntry) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	// The offsets are relative to the end of their array: HBase finds the i-th key by bisection without reading the
	// entries before it.
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

// parseNonRoot decodes a leaf or intermediate block. The keys are views of the payload.
func parseNonRoot(payload []byte) ([]indexEntry, error) {
	c := cursor{b: payload}
	n := int64(c.uint32())
	// The count is checked against the payload's length first: a damaged one can't make the slices below too large.
	if c.bad() || n < 1 || 4*(n+1)+n*indexEntryLen > int64(len(payload)) {
		return nil, fmt.Errorf("%w: index block of %d bytes says %d entries", ErrCorrupt, len(payload), n)
	}
	at := make([]int, n+1)
	for i := range at {
		at[i] = int(c.uint32())
	}
	entries := make([]indexEntry, n)
	for i := range entries {
		// Entries must be contiguous. HBase trusts the offsets and this reader the order, so both must say the same.
		if at[i] != c.at-4-4*int(n+1) {
			c.fail("entry %d does not begin where the block says", i)
		}
		// Only read here; the block is checked when it is read, and by the verifier.
		entries[i].block = c.handle()
		entries[i].key = c.bytes(at[i+1] - at[i] - indexEntryLen)
	}
	if c.at != len(payload) {
		c.fail("%d bytes after the last entry", len(payload)-c.at)
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

// parseRoot decodes a root block of n entries and the record of the middle block, which only files with leaf blocks
// have. The keys are views of the payload.
func parseRoot(payload []byte, n int64, leaves bool) (entries []indexEntry, mid *midKey, err error) {
	c := cursor{b: payload}
	if n < 0 || n > int64(len(payload))/(indexEntryLen+1) {
		return nil, nil, fmt.Errorf("%w: root index of %d bytes can't hold %d entries", ErrCorrupt, len(payload), n)
	}
	// n was checked against the payload's length, which each entry needs.
	entries = make([]indexEntry, n)
	for i := range entries {
		entries[i].block = c.handle()
		entries[i].key = c.bytes(int(min(c.vlong(), maxKeyLen+1)))
	}
	// The record is optional, as in HBase's reader. Fewer bytes than a whole one are refused below.
	if leaves && len(c.rest()) >= midKeyLen {
		mid = &midKey{leaf: c.handle(), entry: int(c.uint32())}
	}
	if c.at != len(payload) {
		c.fail("%d bytes after the last root entry", len(payload)-c.at)
	}
	return entries, mid, c.err
}

// midKey names the data block in the middle of a file. HBase splits a region at its first row.
type midKey struct {
	leaf  handle
	entry int
}

// indexWriter collects the entries of data blocks and arranges them in one or more levels.
//
// Leaf blocks are written between the data blocks, as soon as they are full; everything above them after the data.
// Which entries share a block depends on sizes only, never on time or memory, so equal cells give equal files.
//
// A block's handle is known only after it was written, so a level is always written after the one below it, and the
// trailer after the root. A file that was cut short therefore never has an index that points past its end.
type indexWriter struct {
	blocks     *blockWriter
	maxSize    int // bytes of an index block: hfile.index.block.max.size
	minEntries int // entries: hfile.index.block.min.entries

	leaf      []indexEntry // not yet written
	leafLen   int          // always nonRootLen(leaf), kept up to date by add
	root      []indexEntry // the leaves written so far, as entries of their parents
	cumBlocks []int        // for each leaf: data blocks in it and in all leaves before it
	data      int          // data blocks so far
	raw       int64        // bytes of index payloads
	scratch   []byte
}

func newIndexWriter(blocks *blockWriter, s *Settings) *indexWriter {
	return &indexWriter{blocks: blocks, maxSize: s.IndexBlockSize, minEntries: s.IndexMinEntries, leafLen: nonRootLen(nil)}
}

// add records a data block. The key is copied, since the writer reuses it for the next block.
func (x *indexWriter) add(key []byte, block handle) {
	x.leaf = append(x.leaf, indexEntry{append([]byte(nil), key...), block})
	// 4 bytes in the offset array, the rest in the entry.
	x.leafLen += 4 + indexEntryLen + len(key)
	x.data++
}

// writeLeaf writes the leaf when it is full. At the end of the data (last) it writes any entries left if there has
// been a leaf before; otherwise they become the root, however many they are (BlockIndexWriter.shouldWriteBlock).
func (x *indexWriter) writeLeaf(last bool) error {
	// The size before compression decides, as in HBase.
	due := x.leafLen >= x.maxSize
	if last {
		due = len(x.root) > 0 && len(x.leaf) > 0
	}
	// The entries stay for a later leaf. At the end of a small file they become the root, and it has no leaves.
	if !due {
		return nil
	}
	h, err := x.write(blockLeafIndex, x.leaf)
	if err != nil {
		return err
	}
	// A leaf's key is that of its first entry: all rows of its blocks sort at or after it.
	x.root = append(x.root, indexEntry{x.leaf[0].key, h})
	x.cumBlocks = append(x.cumBlocks, x.data)
	// The leaf's slice is reused for the next one; the root keeps the first key, which add has copied.
	clear(x.leaf)
	x.leaf, x.leafLen = x.leaf[:0], nonRootLen(nil)
	return nil
}

// write writes a leaf or intermediate block.
func (x *indexWriter) write(kind blockType, entries []indexEntry) (handle, error) {
	x.scratch = append(x.scratch[:0], make([]byte, headerLen)...)
	x.scratch = appendNonRoot(x.scratch, entries)
	x.raw += int64(len(x.scratch) - headerLen)
	h, err := x.blocks.write(kind, x.scratch)
	poison.Bytes(x.scratch)
	return h, err
}

// writeRoot writes the levels above the leaves, and returns the root's handle, its number of entries and the number
// of levels (BlockIndexWriter.writeIndexBlocks). While the root would be larger than maxSize, its entries go into
// intermediate blocks, whose own entries are the next candidate for a root.
func (x *indexWriter) writeRoot() (root handle, entries, levels int, err error) {
	// Without a written leaf the entries for data blocks are the root.
	level, levels := x.leaf, 1
	var mid []byte
	if len(x.root) > 0 {
		level, levels, mid = x.root, 2, x.middle()
	}
	// The first block of a pass has more than minEntries entries, so each level is smaller than the one below. The
	// The number of levels is also bounded, as in HBase.
	// The trailer stores the number of levels, and a reader descends that many: with one more or less it would parse a
	// data block as an index block, or the other way round.
	for rootLen(level) > x.maxSize && len(level) > x.minEntries && levels < maxIndexLevels {
		if level, err = x.writeLevel(level); err != nil {
			return root, 0, 0, err
		}
		levels++
	}
	x.scratch = append(x.scratch[:0], make([]byte, headerLen)...)
	// The root's entries have their key lengths, since it has no array of offsets.
	x.scratch = append(appendRoot(x.scratch, level), mid...)
	x.raw += int64(len(x.scratch) - headerLen)
	root, err = x.blocks.write(blockRootIndex, x.scratch)
	return root, len(level), levels, err
}

// middle encodes the root's record of the middle data block (BlockIndexChunkImpl.getMidKeyMetadata).
//
// A wrong record would lose no cell: it would show only as regions that HBase splits at an odd row.
func (x *indexWriter) middle() []byte {
	// The leaf that holds data block k is the first one whose cumulative count is greater than k.
	k := (x.data - 1) / 2
	// k counts data blocks from 0, cumBlocks from 1.
	leaf, before := 0, 0
	for x.cumBlocks[leaf] <= k {
		before = x.cumBlocks[leaf]
		leaf++
	}
	return binary.BigEndian.AppendUint32(appendIndexEntry(nil, x.root[leaf].block), uint32(k-before))
}

// writeLevel distributes the entries of a level that is too large for a root over intermediate blocks, and returns
// the level above (BlockIndexWriter.writeIntermediateLevel). As in HBase, the minimum number of entries counts from
// the level's start, not from the block's.
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
		// The entry that makes the block too large is still in it, as in HBase.
		if i >= x.minEntries && size >= x.maxSize {
			if err := flush(i + 1); err != nil {
				return nil, err
			}
		}
	}
	// The rest, however small: every entry must be in exactly one block.
	if from < len(level) {
		err = flush(len(level))
	}
	return above, err
}

// appendSeparator appends the index key of a data block. left is the last cell of the block before it, right its own
// first cell. If there is a shorter key between the two, that one is used (HFileWriterImpl.getMidpoint, HBase 2.5 and
// later).
//
// left < separator <= right must hold. A row that is greater than left.Row and at most right.Row, with the latest
// timestamp and the type Maximum, sorts before every cell of its own row. So it is not greater than right even if it
// equals right.Row.
func appendSeparator(dst []byte, left, right *cell.Cell) []byte {
	between := cell.Cell{Timestamp: indexKeyTimestamp, Type: indexKeyType}
	var room [64]byte
	// Between two rows: no family or qualifier is needed.
	if row, ok := appendBetween(room[:0], left.Row, right.Row); ok {
		between.Row = row
		return appendKey(dst, &between)
	}
	// Within a row that continues in this block: between two qualifiers.
	if qualifier, ok := appendBetween(room[:0], left.Qualifier, right.Qualifier); ok {
		between.Row, between.Family, between.Qualifier = right.Row, right.Family, qualifier
		return appendKey(dst, &between)
	}
	// Between two versions of one column there is nothing shorter than the key itself.
	return appendKey(dst, right)
}

// appendBetween appends the shortest byte string that is greater than l and at most r, where l sorts before r; false
// if the two are equal (HFileWriterImpl.getMinimumMidpointArray).
func appendBetween(dst, l, r []byte) ([]byte, bool) {
	n := commonPrefix(l, r)
	if n == len(l) {
		if n == len(r) {
			return nil, false
		}
		// l is a prefix of r: l and a zero byte is the least string greater than l.
		return append(append(dst, l...), 0), true
	}
	// At the first difference l[n] < r[n], so l[n]+1 does not overflow and is at most r[n].
	return append(append(dst, l[:n]...), l[n]+1), true
}

package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"bulkload/cell"
)

// Report is what Verify found in a sound file.
type Report struct {
	Blocks int64
	Cells  int64
	Rows   int64
}

// CellBatch is what Verify shows at a time: a cell, and those behind it in its row that have columns which were shown before.
// It is valid during the call.
type CellBatch struct {
	Cell   *cell.Cell
	Column int // a number that stands for the cell's qualifier throughout the file, and counts from 0; -1: there is none

	// The cells behind it, which have its row, family, timestamp and type: their columns' numbers and their values.
	Columns []int32
	Values  [][]byte

	cache *columnCache
}

// Verify reads a whole file and checks everything that can be checked from itself: each block's header, sizes,
// previous-block chain and checksums, cell order, index entries against blocks, that the bloom filter denies no row or
// column, the file info and the trailer's counts. visit, which may be nil, sees all cells in order. The first fault is an
// error, ErrCorrupt unless reading or visit failed.
func (r *Reader) Verify(visit func(*CellBatch) error) (*Report, error) {
	v := &verifier{r: r, src: newSource(r), dec: r.decoder, visit: visit, bloomSrc: newSource(r), chunk: -1, firstData: noBlock, lastData: noBlock}
	v.stats.reset()
	for i := range v.chains {
		v.chains[i] = noBlock
	}
	if err := v.walk(); err != nil {
		return nil, fmt.Errorf("verify HFile: %w", err)
	}
	return &v.report, nil
}

// verifier walks over a file's blocks in order.
type verifier struct {
	r      *Reader
	src    *source
	dec    blockDecoder
	visit  func(*CellBatch) error
	cell   cell.Cell
	cached cachedRun // the cells behind it
	shown  CellBatch
	report Report

	chains              [blockTypes]int64 // last block of each chain
	firstData, lastData int64
	rawTotal, rawIndex  int64
	roots               int

	stats          stats
	prev           previous        // stale, save in what is common to a row, where ahead is not nil
	lastQualifier  []byte          // the last cell's qualifier, where it was a known one
	unindexedData  []expectedEntry // data blocks not yet named by a leaf
	unindexedIndex []indexEntry    // leaf or intermediate blocks not yet named by a block above
	bloomSrc       *source
	chunk          int // of the bloom filter, in bits
	bits           []byte
	batch          bloomBatch // keys to be looked up in them
	denied         error      // that one of them is missing there
	bloomKey       []byte
}

// expectedEntry is what an index entry for a data block must agree with.
type expectedEntry struct {
	block       handle
	before, key []byte // the last key of the block before; the block's first key
}

func (v *verifier) walk() error {
	if err := v.bloomOrder(); err != nil {
		return err
	}
	for offset := int64(0); offset < v.r.end(); {
		b, err := v.src.read(offset)
		if err != nil {
			return err
		}
		if err := v.block(&b); err != nil {
			if v.denied == nil {
				err = fmt.Errorf("%s block at offset %d: %w", b.kind, offset, err)
			}
			return err
		}
		offset += int64(b.onDiskSize)
	}
	if err := v.checkBatch(); err != nil {
		return err
	}
	if err := v.checkTrailer(); err != nil {
		return fmt.Errorf("trailer: %w", err)
	}
	if err := v.checkInfo(); err != nil {
		return fmt.Errorf("file info: %w", err)
	}
	v.report.Cells = v.stats.cells
	return nil
}

// block checks one block, whose header and checksums are sound.
func (v *verifier) block(b *block) error {
	v.report.Blocks++
	chain := b.kind.chain()
	if b.prev != v.chains[chain] {
		return fmt.Errorf("%w: it names %d as the block of its type before it, which is at %d", ErrCorrupt, b.prev, v.chains[chain])
	}
	v.chains[chain] = b.offset
	if b.kind != blockIntermediateIndex && !(b.kind == blockRootIndex && v.roots == 0) {
		v.rawTotal += headerLen + int64(b.rawSize)
	}
	if (b.offset >= v.r.trailer.loadOnOpenOffset) != (b.kind >= blockRootIndex) {
		return fmt.Errorf("%w: it stands on the wrong side of the index root, which is at %d", ErrCorrupt, v.r.trailer.loadOnOpenOffset)
	}
	switch b.kind {
	case blockData, blockEncodedData:
		return v.cells(b)
	case blockLeafIndex, blockIntermediateIndex:
		return v.nonRoot(b)
	case blockRootIndex:
		return v.root(b)
	}
	return nil
}

// cells checks a data block's cells.
func (v *verifier) cells(b *block) error {
	if v.firstData == noBlock {
		v.firstData = b.offset
	}
	v.lastData = b.offset
	if err := v.dec.begin(b.kind, b.payload); err != nil {
		return err
	}
	first := true
	for {
		ok, err := v.dec.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		v.cell = v.dec.cell // a copy, since countCached moves on
		if first {
			v.expectEntry(b, &v.cell)
			first = false
		}
		if err := v.visitBatch(&v.cell); err != nil {
			if v.denied == nil {
				err = fmt.Errorf("cell %s: %w", describe(&v.cell), err)
			}
			return err
		}
	}
	v.syncPrev()
	if first {
		return fmt.Errorf("%w: no cells", ErrCorrupt)
	}
	return nil
}

// expectEntry remembers a data block until an index block names it.
func (v *verifier) expectEntry(b *block, first *cell.Cell) {
	d := expectedEntry{block: handle{b.offset, b.onDiskSize}, key: appendKey(nil, first)}
	if v.stats.cells > 0 {
		last := v.prev.cell()
		d.before = appendKey(nil, &last)
	}
	v.unindexedData = append(v.unindexedData, d)
}

// materializeKey brings the last cell up to date.
func (v *verifier) syncPrev() {
	if v.lastQualifier != nil {
		v.prev.qualifier = append(v.prev.qualifier[:0], v.lastQualifier...)
		v.lastQualifier = nil
	}
}

// visitBatch checks a cell, takes those behind it that stand there as cells of these columns did when they were checked in
// full (in order, in a row that the bloom filter knows, with the same timestamp), and shows them.
func (v *verifier) visitBatch(c *cell.Cell) error {
	column := v.dec.currentColumn()
	v.cached.clear()
	if v.r.kind == BloomRowCol { // which must know each column
		if err := v.checkCell(c); err != nil {
			return err
		}
	} else {
		if err := v.checkOrCount(c); err != nil {
			return err
		}
		v.countCached(c)
	}
	if v.visit == nil {
		return nil
	}
	v.shown = CellBatch{c, column, v.cached.columns[:v.cached.n], v.cached.values[:v.cached.n], &v.dec.cache}
	return v.visit(&v.shown)
}

// checkOrCount checks a cell, in full where the decoder does not know it.
func (v *verifier) checkOrCount(c *cell.Cell) error {
	if !v.dec.cached {
		return v.checkCell(c)
	}
	v.stats.addPut(c)
	v.lastQualifier = c.Qualifier // which the decoder keeps
	return nil
}

// countCached takes the cells behind c that need no look at their keys.
func (v *verifier) countCached(c *cell.Cell) {
	k := &v.cached
	v.dec.decodeCached(k)
	if k.n == 0 {
		return
	}
	v.lastQualifier = v.dec.cell.Qualifier
	if k.largest <= v.stats.biggest {
		v.stats.cells += int64(k.n)
		v.stats.keyBytes += k.keyBytes
		v.stats.valueBytes += k.valueBytes
		return
	}
	cell := *c
	for i, column := range k.columns[:k.n] {
		cell.Qualifier, cell.Value = v.dec.cache.columns[column].qualifier, k.values[i]
		v.stats.addPut(&cell)
	}
}

// checkCell checks a cell by itself and beside the one before.
func (v *verifier) checkCell(c *cell.Cell) error {
	v.syncPrev()
	at := v.orderOf(c)
	if at == outOfOrder {
		p := v.prev.cell()
		return fmt.Errorf("%w: it stands behind %s", ErrCorrupt, describe(&p))
	}
	if at == newRow {
		v.report.Rows++
	}
	if v.r.bloom != nil {
		if err := v.checkBloom(c, at); err != nil {
			return err
		}
	}
	if c.Type == cell.DeleteFamily || c.Type == cell.DeleteFamilyVersion {
		v.stats.deleteFamilies++
	}
	v.stats.add(c)
	v.prev.update(c, at)
	return nil
}

// orderOf places a cell behind the last one; of another family than the rest, it is out of order.
func (v *verifier) orderOf(c *cell.Cell) order {
	switch {
	case v.dec.sameRow:
		return orderInRow(&v.prev, c)
	case v.stats.cells > 0 && !bytes.Equal(c.Family, v.prev.family):
		return outOfOrder
	}
	return orderAfter(&v.prev, c, v.stats.cells == 0)
}

// checkBloom makes sure that the bloom filter knows the cell.
func (v *verifier) checkBloom(c *cell.Cell, at order) error {
	key := c.Row
	switch {
	case v.r.kind == BloomRowCol && at >= sameRow:
		v.bloomKey = appendRowColKey(v.bloomKey[:0], c.Row, c.Qualifier)
		key = v.bloomKey
	case at != newRow:
		return nil
	case v.r.kind == BloomRowPrefix:
		key = key[:min(len(key), v.r.prefix)]
	}
	if err := v.bloomChunk(key); err != nil {
		return err
	}
	if v.batch.add(key) {
		return v.checkBatch()
	}
	return nil
}

// checkBatch looks the keys of the batch up in the chunk at hand, whose they are all.
func (v *verifier) checkBatch() error {
	probes, n := v.batch.probes(len(v.bits) * 8)
	for i := range probes[:n] {
		if !bloomHas(v.bits, &probes[i], v.r.bloom.hashes) {
			return v.denyKey(v.batch.keys[i])
		}
	}
	return nil
}

// denyKey is the error of a key that the bloom filter does not know. The key may be of a cell some way back.
func (v *verifier) denyKey(key []byte) error {
	v.denied = fmt.Errorf("%w: the bloom filter denies %q: gets would miss it", ErrCorrupt, key)
	return v.denied
}

// bloomOrder makes sure that chunks of rows are in order, since they are looked for by bisection.
func (v *verifier) bloomOrder() error {
	if v.r.bloom == nil || v.r.kind == BloomRowCol || len(v.r.bloom.chunks) == 0 {
		return nil
	}
	for i, c := range v.r.bloom.chunks[1:] {
		if before := v.r.bloom.chunks[i]; bytes.Compare(before.key, c.key) >= 0 {
			return fmt.Errorf("%w: bloom filter chunk %d begins with %q, the next one with %q", ErrCorrupt, i, before.key, c.key)
		}
	}
	return nil
}

// bloomChunk makes the chunk for a key the one at hand. Rows ascend, and mostly stay below the first key of the next one.
func (v *verifier) bloomChunk(key []byte) error {
	chunks := v.r.bloom.chunks
	if v.chunk >= 0 && v.r.kind != BloomRowCol && (v.chunk+1 == len(chunks) || bytes.Compare(key, chunks[v.chunk+1].key) < 0) {
		return nil
	}
	i := v.r.bloom.chunkOf(key)
	switch i {
	case -1:
		return v.denyKey(key)
	case v.chunk:
		return nil
	}
	if err := v.checkBatch(); err != nil {
		return err
	}
	bits, err := v.bloomSrc.bloomChunk(v.r.bloom, i)
	if err != nil {
		return err
	}
	v.chunk, v.bits = i, append(v.bits[:0], bits...)
	return nil
}

// nonRoot checks a leaf against the data blocks since the last one, and an intermediate block against the level below.
func (v *verifier) nonRoot(b *block) error {
	v.rawIndex += int64(b.rawSize)
	entries, err := parseNonRoot(b.payload)
	if err != nil {
		return err
	}
	// Where the data ended before a first leaf was due, intermediate blocks name data blocks.
	if err := v.matchIndex(entries, b.kind == blockLeafIndex || len(v.unindexedData) > 0); err != nil {
		return err
	}
	v.unindexedIndex = append(v.unindexedIndex, indexEntry{bytes.Clone(entries[0].key), handle{b.offset, b.onDiskSize}})
	return nil
}

// root checks the data index root; the meta index root behind it must be empty.
func (v *verifier) root(b *block) error {
	v.roots++
	if v.roots > 1 {
		if b.rawSize != 0 {
			return fmt.Errorf("%w: meta index of %d bytes where the trailer tells of no meta blocks", ErrCorrupt, b.rawSize)
		}
		return nil
	}
	v.rawIndex += int64(b.rawSize)
	if err := v.matchIndex(v.r.root, v.r.trailer.indexLevels == 1); err != nil {
		return err
	}
	if len(v.unindexedData) > 0 || len(v.unindexedIndex) > 0 {
		return fmt.Errorf("%w: the index names neither of %d data and %d index blocks", ErrCorrupt, len(v.unindexedData), len(v.unindexedIndex))
	}
	return nil
}

// matchIndex checks an index block's entries against the first of the blocks that wait to be named: data blocks or index
// blocks.
func (v *verifier) matchIndex(entries []indexEntry, data bool) error {
	if waiting := len(v.unindexedIndex) + len(v.unindexedData); data && len(entries) > len(v.unindexedData) || !data && len(entries) > len(v.unindexedIndex) {
		return fmt.Errorf("%w: %d entries for %d blocks", ErrCorrupt, len(entries), waiting)
	}
	for i, e := range entries {
		if !data {
			if below := v.unindexedIndex[i]; below.block != e.block || !bytes.Equal(below.key, e.key) {
				return fmt.Errorf("%w: entry %d is for offset %d, the next index block is at %d", ErrCorrupt, i, e.block.offset, below.block.offset)
			}
			continue
		}
		if err := v.unindexedData[i].check(e); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	if data {
		v.unindexedData = v.unindexedData[:copy(v.unindexedData, v.unindexedData[len(entries):])]
	} else {
		v.unindexedIndex = v.unindexedIndex[:copy(v.unindexedIndex, v.unindexedIndex[len(entries):])]
	}
	return nil
}

// check compares a data block with its index entry: the place, and a key above the block before and not above its first.
func (d *expectedEntry) check(e indexEntry) error {
	if d.block != e.block {
		return fmt.Errorf("%w: it is for offset %d and %d bytes, the data block is at %d and has %d", ErrCorrupt, e.block.offset, e.block.size, d.block.offset, d.block.size)
	}
	key, err := parseKey(e.key)
	if err != nil {
		return err
	}
	first, err := parseKey(d.key)
	if err != nil {
		return err
	}
	if cell.Compare(&key, &first) > 0 {
		return fmt.Errorf("%w: its key %s is behind the block's first, %s", ErrCorrupt, describe(&key), describe(&first))
	}
	if d.before == nil {
		if !bytes.Equal(e.key, d.key) {
			return fmt.Errorf("%w: the file's first index key %s is not its first cell's, %s", ErrCorrupt, describe(&key), describe(&first))
		}
		return nil
	}
	last, err := parseKey(d.before)
	if err == nil && cell.Compare(&key, &last) <= 0 && !bytes.Equal(d.before, d.key) {
		return fmt.Errorf("%w: its key %s is not behind the block before, which ends with %s", ErrCorrupt, describe(&key), describe(&last))
	}
	return err
}

// checkTrailer compares the trailer with what was read.
func (v *verifier) checkTrailer() error {
	t := v.r.trailer
	for _, c := range []struct {
		what      string
		told, was int64
	}{
		{"cells", t.cells, v.stats.cells},
		{"offset of the first data block", t.firstDataBlockOffset, v.firstData},
		{"offset of the last data block", t.lastDataBlockOffset, v.lastData},
		{"bytes of index before compression", t.rawIndexSize, v.rawIndex},
		{"bytes before compression", t.totalRawBytes, v.rawTotal + trailerLen},
		{"offset of the file info", t.fileInfoOffset, v.chains[blockFileInfo]},
	} {
		if c.told != c.was {
			return fmt.Errorf("%w: it tells %d as %s, counted %d", ErrCorrupt, c.told, c.what, c.was)
		}
	}
	return nil
}

// checkInfo compares the file info with what was read. What a foreign writer left out is not missed.
func (v *verifier) checkInfo() error {
	s, f := &v.stats, v.r.info
	if s.cells == 0 {
		return nil
	}
	last := v.prev.cell()
	if !bytes.Equal(f[infoLastKey], appendKey(nil, &last)) {
		return fmt.Errorf("%w: %s is not the last cell's key: reads past it would find nothing", ErrCorrupt, infoLastKey)
	}
	for _, c := range []struct {
		key  string
		want []byte
	}{
		{infoAvgKeyLen, be32Bytes(s.keyBytes / s.cells)},
		{infoAvgValueLen, be32Bytes(s.valueBytes / s.cells)},
		{infoBiggestKey, s.biggestKey},
		{infoEarliestPut, be64Bytes(s.earliestPut)},
		{infoDeleteFamilies, be64Bytes(s.deleteFamilies)},
	} {
		if got, ok := f[c.key]; ok && !bytes.Equal(got, c.want) {
			return fmt.Errorf("%w: %s is %x, should be %x", ErrCorrupt, c.key, got, c.want)
		}
	}
	return v.checkTimeRange()
}

// checkTimeRange must cover all cells, or reads by time lose some.
func (v *verifier) checkTimeRange() error {
	got, ok := v.r.info[infoTimeRange]
	if !ok || len(got) != 16 { // an older HBase's form is a protobuf
		return nil
	}
	low, high := int64(binary.BigEndian.Uint64(got)), int64(binary.BigEndian.Uint64(got[8:]))
	if low > v.stats.minTime || high < v.stats.maxTime {
		return fmt.Errorf("%w: %s %d to %d does not cover the cells' %d to %d", ErrCorrupt, infoTimeRange, low, high, v.stats.minTime, v.stats.maxTime)
	}
	return nil
}

func be32Bytes(v int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

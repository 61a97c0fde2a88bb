package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// Verified is what Verify counted in a sound file.
type Verified struct {
	Blocks int64
	Cells  int64
	Rows   int64
}

// CellBatch is what Verify passes to visit in one call: a cell, and the cells after it in its row whose columns have
// occurred before. It is valid during the call.
type CellBatch struct {
	Cell   *cell.Cell
	Column int // a number for the cell's qualifier, the same throughout the file, from 0; -1: none

	// The cells after it, with its row, family, timestamp and type: their columns' numbers and their values.
	Columns []int32
	Values  [][]byte

	cache *columnCache
}

// Verify reads a whole file and checks everything that can be checked from the file itself: each block's header,
// sizes, previous-block chain and checksums; the order of cells; index entries against blocks; that the bloom filter
// denies no row or column; the file info; and the trailer's counts. visit, which may be nil, sees all cells in order.
// The first fault is returned, as ErrCorrupt unless reading or visit failed, or as ErrUnsupported if something can't be
// checked.
//
// The rule for every check: data that a reader of HBase trusts unseen must be compared here with the bytes that were
// read. A check that compares a stored number only with another stored number proves nothing.
func (r *Reader) Verify(visit func(*CellBatch) error) (*Verified, error) {
	v := &verifier{r: r, src: newSource(r), dec: r.decoder, visit: visit, bloomSrc: newSource(r), chunk: -1,
		firstData: noBlock, lastData: noBlock}
	v.stats.reset()
	for i := range v.chains {
		v.chains[i] = noBlock
	}
	if err := v.walk(); err != nil {
		return nil, fmt.Errorf("verify HFile: %w", err)
	}
	return &v.report, nil
}

// verifier iterates over a file's blocks in order.
type verifier struct {
	r      *Reader
	src    *source
	unused []*unpackedBatch
	dec    blockDecoder
	visit  func(*CellBatch) error
	cell   cell.Cell
	cached cachedRun // the cells after it
	shown  CellBatch
	report Verified

	chains              [blockTypes]int64 // last block of each chain
	firstData, lastData int64
	rawTotal, rawIndex  int64
	roots               int

	stats          stats
	prev           previous        // stale while lastQualifier is not nil, except for the parts that a row's cells share
	lastQualifier  []byte          // the last cell's qualifier, if it came from the column cache
	unindexedData  []expectedEntry // data blocks that no leaf has named yet
	unindexedIndex []indexEntry    // leaf or intermediate blocks that no block above has named yet
	bloomSrc       *source
	chunk          int // of the bloom filter, whose bits are loaded
	bits           []byte
	batch          bloomBatch // keys to be looked up in bits
	denied         error      // one of them is missing there
	bloomKey       []byte
}

// expectedEntry is the expected index entry of a data block.
type expectedEntry struct {
	block       handle
	before, key []byte // the last key of the block before; the block's first key
}

func (v *verifier) walk() error {
	if err := v.bloomOrder(); err != nil {
		return err
	}
	var before *unpackedBatch // is checked while another core unpacks the next one
	for offset := int64(0); offset < v.r.end(); {
		if before == nil && (!v.r.cores.idle() || v.r.trailer.compression == CompressNone) {
			b, err := v.src.read(offset)
			if err == nil {
				err = v.checkBlock(&b)
			}
			if err != nil {
				return err
			}
			offset += int64(b.onDiskSize)
			continue
		}
		next := v.fetchBatch(&offset)
		shared := v.r.cores.try(func() { next.unpack(v.r.trailer.compression) })
		if err := v.checkUnpacked(before); err != nil {
			return err
		}
		before = next
		if !shared {
			next.unpack(v.r.trailer.compression)
			if err := v.checkUnpacked(next); err != nil {
				return err
			}
			before = nil
		}
	}
	if err := v.checkUnpacked(before); err != nil {
		return err
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

// unpackedBatch is some blocks in the file's order, which a core unpacks.
type unpackedBatch struct {
	blocks []unpackedBlock
	done   chan struct{}
}

// unpackedBlock is a block with its buffers, or the error of reading or unpacking it.
type unpackedBlock struct {
	block
	stored, raw []byte
	err         error
}

// fetchBatch reads the blocks from an offset on, and moves it past them. A block that can't be read is the last one.
func (v *verifier) fetchBatch(offset *int64) *unpackedBatch {
	q := &unpackedBatch{done: make(chan struct{})}
	if n := len(v.unused); n > 0 {
		q.blocks, v.unused = v.unused[n-1].blocks, v.unused[:n-1]
	}
	n := 0
	for size := 0; n < batchLen && size < batchSize && *offset < v.r.end(); n++ {
		if n == len(q.blocks) {
			q.blocks = append(q.blocks, unpackedBlock{})
		}
		b := &q.blocks[n]
		var stored []byte
		b.block, stored, b.err = v.src.fetch(*offset)
		b.stored = append(b.stored[:0], stored...)
		if b.err != nil {
			*offset = v.r.end()
			continue
		}
		*offset += int64(b.onDiskSize)
		size += b.onDiskSize + b.rawSize
	}
	q.blocks = q.blocks[:n]
	return q
}

func (q *unpackedBatch) unpack(kind Compression) {
	c := newCodec(kind)
	for i := range q.blocks {
		b := &q.blocks[i]
		if b.err == nil {
			b.err = b.unpack(b.stored, c, b.raw, true)
		}
		if b.err == nil && kind != CompressNone {
			b.raw = b.payload[:0]
		}
	}
	close(q.done)
}

// checkUnpacked checks the blocks of a batch, which may be nil.
func (v *verifier) checkUnpacked(q *unpackedBatch) error {
	if q == nil {
		return nil
	}
	<-q.done
	kept := 0
	for i := range q.blocks {
		b := &q.blocks[i]
		if b.err != nil {
			return fmt.Errorf("block at offset %d: %w", b.offset, b.err)
		}
		if err := v.checkBlock(&b.block); err != nil {
			return err
		}
		poison.Bytes(b.raw[:cap(b.raw)])
		poison.Bytes(b.stored)
		kept += cap(b.raw) + cap(b.stored)
	}
	if kept <= 4*batchSize { // not if it had a very large value
		v.unused = append(v.unused, q)
	}
	return nil
}

// checkBlock is block with the block's place in the error.
func (v *verifier) checkBlock(b *block) error {
	err := v.block(b)
	if err != nil && v.denied == nil {
		err = fmt.Errorf("%s block at offset %d: %w", b.kind, b.offset, err)
	}
	return err
}

// block checks one block, whose header and checksums are sound.
func (v *verifier) block(b *block) error {
	v.report.Blocks++
	chain := b.kind.chain()
	if b.prev != v.chains[chain] {
		return fmt.Errorf("%w: it names %d as the block of its type before it, which is at %d",
			ErrCorrupt, b.prev, v.chains[chain])
	}
	v.chains[chain] = b.offset
	if b.kind != blockIntermediateIndex && !(b.kind == blockRootIndex && v.roots == 0) {
		v.rawTotal += headerLen + int64(b.rawSize)
	}
	if (b.offset >= v.r.trailer.loadOnOpenOffset) != (b.kind >= blockRootIndex) {
		return fmt.Errorf("%w: it is on the wrong side of the index root, which is at %d", ErrCorrupt,
			v.r.trailer.loadOnOpenOffset)
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
		v.cell = v.dec.cell // a copy, since countCached advances the decoder
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

// expectEntry records a data block until an index block names it.
func (v *verifier) expectEntry(b *block, first *cell.Cell) {
	d := expectedEntry{block: handle{b.offset, b.onDiskSize}, key: appendKey(nil, first)}
	if v.stats.cells > 0 {
		last := v.prev.cell()
		d.before = appendKey(nil, &last)
	}
	v.unindexedData = append(v.unindexedData, d)
}

// syncPrev completes the last cell's key, which cached cells skip.
func (v *verifier) syncPrev() {
	if v.lastQualifier != nil {
		v.prev.qualifier = append(v.prev.qualifier[:0], v.lastQualifier...)
		v.lastQualifier = nil
	}
}

// visitBatch checks a cell and shows it with those after it that come from the column cache. Such cells were checked
// in full when they were seen first: they are in order, and in a row that the bloom filter has, with the same
// timestamp. A ROWCOL filter must have each column of each row, so there every cell is checked.
func (v *verifier) visitBatch(c *cell.Cell) error {
	column := v.dec.currentColumn()
	v.cached.clear()
	if err := v.checkCell(c); err != nil {
		return err
	}
	if v.r.kind != BloomRowCol { // it must have each column
		v.countCached(c)
	}
	if v.visit == nil {
		return nil
	}
	v.shown = CellBatch{c, column, v.cached.columns[:v.cached.n], v.cached.values[:v.cached.n], &v.dec.cache}
	if poison.Enabled {
		return v.visitLent(v.shown)
	}
	return v.visit(&v.shown)
}

// visitLent visits a copy of a batch, and then ends its lifetime.
func (v *verifier) visitLent(b CellBatch) error {
	var lent poison.Lent
	b.Cell, b.Columns, b.Values = lent.Cell(b.Cell), slices.Clone(b.Columns), slices.Clone(b.Values)
	for i, value := range b.Values {
		b.Values[i] = lent.Bytes(value)
	}
	err := v.visit(&b)
	lent.End()
	clear(b.Columns)
	clear(b.Values)
	return err
}

// countCached counts the cells after c that need no check of their keys.
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
	put := *c
	for i, column := range k.columns[:k.n] {
		put.Qualifier, put.Value = v.dec.cache.columns[column].qualifier, k.values[i]
		v.stats.addPut(&put)
	}
}

// checkCell checks a cell by itself and against the one before.
func (v *verifier) checkCell(c *cell.Cell) error {
	v.syncPrev()
	at := v.orderOf(c)
	if at == outOfOrder {
		p := v.prev.cell()
		return fmt.Errorf("%w: it follows %s", ErrCorrupt, describe(&p))
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

// orderOf returns a cell's order relative to the last one. A cell of another family is out of order.
func (v *verifier) orderOf(c *cell.Cell) order {
	switch {
	case v.dec.sameRow:
		return orderInRow(&v.prev, c)
	case v.stats.cells > 0 && !bytes.Equal(c.Family, v.prev.family):
		return outOfOrder
	}
	return orderAfter(&v.prev, c, v.stats.cells == 0)
}

// checkBloom checks that the bloom filter has the cell. Keys are collected and looked up in batches.
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

// checkBatch looks the batch's keys up in the current chunk, to which all of them belong.
func (v *verifier) checkBatch() error {
	probes, n := v.batch.probes(len(v.bits) * 8)
	for i := range probes[:n] {
		if !bloomHas(v.bits, &probes[i], v.r.bloom.hashes) {
			return v.denyKey(v.batch.keys[i])
		}
	}
	return nil
}

// denyKey is the error for a key that the bloom filter does not have. The key may be that of an earlier cell.
func (v *verifier) denyKey(key []byte) error {
	v.denied = fmt.Errorf("%w: the bloom filter denies %q: gets would miss it", ErrCorrupt, key)
	return v.denied
}

// bloomOrder checks that the chunks' first keys ascend: readers bisect over them. Keys of another hash can't be looked
// up.
func (v *verifier) bloomOrder() error {
	if m := v.r.bloom; m != nil && !m.known() {
		return fmt.Errorf("its bloom filter has the hash %s, which is %w", bloomHashes[m.hashType], ErrUnsupported)
	}
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

// bloomChunk makes the key's chunk the current one. Rows ascend, and are mostly before the first key of the next
// chunk. The batch is looked up before the chunk changes, since its keys belong to the old one.
func (v *verifier) bloomChunk(key []byte) error {
	chunks := v.r.bloom.chunks
	if v.chunk >= 0 && v.r.kind != BloomRowCol &&
		(v.chunk+1 == len(chunks) || bytes.Compare(key, chunks[v.chunk+1].key) < 0) {
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

// nonRoot checks a leaf against the data blocks since the last leaf, and an intermediate block against the level
// below.
func (v *verifier) nonRoot(b *block) error {
	v.rawIndex += int64(b.rawSize)
	entries, err := parseNonRoot(b.payload)
	if err != nil {
		return err
	}
	// If the data ended before the first leaf was full, intermediate blocks name data blocks.
	if err := v.matchIndex(entries, b.kind == blockLeafIndex || len(v.unindexedData) > 0); err != nil {
		return err
	}
	v.unindexedIndex = append(v.unindexedIndex, indexEntry{bytes.Clone(entries[0].key), handle{b.offset, b.onDiskSize}})
	return nil
}

// root checks the data index root. The meta index root after it is empty, unless there are blocks that can't be
// checked.
func (v *verifier) root(b *block) error {
	v.roots++
	if v.roots > 1 {
		if b.rawSize != 0 {
			return fmt.Errorf("the file has meta blocks, which are %w", ErrUnsupported)
		}
		return nil
	}
	v.rawIndex += int64(b.rawSize)
	if err := v.matchIndex(v.r.root, v.r.trailer.indexLevels == 1); err != nil {
		return err
	}
	if len(v.unindexedData) > 0 || len(v.unindexedIndex) > 0 {
		return fmt.Errorf("%w: the index names neither of %d data and %d index blocks", ErrCorrupt,
			len(v.unindexedData), len(v.unindexedIndex))
	}
	return nil
}

// matchIndex compares an index block's entries with the first blocks that no index has named yet: data blocks or index
// blocks. Each block must be named once, in order, because gets can't see one that is left out.
func (v *verifier) matchIndex(entries []indexEntry, data bool) error {
	if waiting := len(v.unindexedIndex) + len(v.unindexedData); data && len(entries) > len(v.unindexedData) || !data &&
		len(entries) > len(v.unindexedIndex) {
		return fmt.Errorf("%w: %d entries for %d blocks", ErrCorrupt, len(entries), waiting)
	}
	for i, e := range entries {
		if !data {
			if below := v.unindexedIndex[i]; below.block != e.block || !bytes.Equal(below.key, e.key) {
				return fmt.Errorf("%w: entry %d is for offset %d, the next index block is at %d", ErrCorrupt,
					i, e.block.offset, below.block.offset)
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

// check compares a data block with its index entry: its offset and size, and a key greater than the last of the block
// before and at most the block's first.
func (d *expectedEntry) check(e indexEntry) error {
	if d.block != e.block {
		return fmt.Errorf("%w: it is for offset %d and %d bytes, the data block is at %d and has %d", ErrCorrupt,
			e.block.offset, e.block.size, d.block.offset, d.block.size)
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
		return fmt.Errorf("%w: its key %s is after the block's first, %s", ErrCorrupt, describe(&key), describe(&first))
	}
	if d.before == nil {
		if !bytes.Equal(e.key, d.key) {
			return fmt.Errorf("%w: the file's first index key %s is not its first cell's, %s", ErrCorrupt,
				describe(&key), describe(&first))
		}
		return nil
	}
	last, err := parseKey(d.before)
	if err == nil && cell.Compare(&key, &last) <= 0 && !bytes.Equal(d.before, d.key) {
		return fmt.Errorf("%w: its key %s is not after the block before, which ends with %s", ErrCorrupt,
			describe(&key), describe(&last))
	}
	return err
}

// checkTrailer compares the trailer with what was read.
func (v *verifier) checkTrailer() error {
	t := v.r.trailer
	for _, c := range []struct {
		what            string
		stored, counted int64
	}{
		{"cells", t.cells, v.stats.cells},
		{"offset of the first data block", t.firstDataBlockOffset, v.firstData},
		{"offset of the last data block", t.lastDataBlockOffset, v.lastData},
		{"bytes of index before compression", t.rawIndexSize, v.rawIndex},
		{"bytes before compression", t.totalRawBytes, v.rawTotal + trailerLen},
		{"offset of the file info", t.fileInfoOffset, v.chains[blockFileInfo]},
	} {
		if c.stored != c.counted {
			return fmt.Errorf("%w: it tells %d as %s, counted %d", ErrCorrupt, c.stored, c.what, c.counted)
		}
	}
	if !t.padded {
		return fmt.Errorf("%w: its padding has other bytes than zeros", ErrCorrupt)
	}
	return nil
}

// checkInfo compares the file info with what was read. Properties that a foreign writer omits are not required.
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

// checkTimeRange checks that the time range covers all cells: a read by time skips a file whose range does not match.
func (v *verifier) checkTimeRange() error {
	got, ok := v.r.info[infoTimeRange]
	if !ok || len(got) != 16 { // older versions of HBase store a protobuf
		return nil
	}
	low, high := int64(binary.BigEndian.Uint64(got)), int64(binary.BigEndian.Uint64(got[8:]))
	if low > v.stats.minTime || high < v.stats.maxTime {
		return fmt.Errorf("%w: %s %d to %d does not cover the cells' %d to %d", ErrCorrupt, infoTimeRange, low, high,
			v.stats.minTime, v.stats.maxTime)
	}
	return nil
}

func be32Bytes(v int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

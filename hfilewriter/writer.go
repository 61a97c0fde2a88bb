package hfilewriter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// ErrOrder marks a cell that was added after one that must follow it.
var ErrOrder = errors.New("cells out of order")

// ErrLength marks a cell with a row, family, qualifier or value that is longer than HBase accepts, or an empty row.
var ErrLength = errors.New("length out of range")

// Writer writes one HFile. The first error sticks: every later call returns it. It belongs to one goroutine.
type Writer struct {
	settings   Settings
	provenance Provenance

	enc      blockEncoder
	indexKey []byte       // of the block being filled
	bloom    *bloomWriter // nil for BloomNone
	deletes  *bloomWriter // rows of delete-family cells; nil if Bloom is BloomRowCol
	file     assembler
	block    *dataBlock // being filled; enc has its buffer

	firstRow []byte
	stats    stats
	template rowTemplate
	packed   []byte // AppendRow's values
	bloomKey []byte
	err      error
}

// stats are the counts that go into the file info.
type stats struct {
	cells, keyBytes, valueBytes int64
	biggest                     int64 // key and value bytes of the largest cell
	biggestKey                  []byte
	minTime, maxTime            int64
	earliestPut                 int64
	deleteFamilies              int64
}

var errClosed = errors.New("HFile writer is closed")

// NewWriter begins an HFile, which is written to out block by block. The Settings must name a compression.
func NewWriter(out io.Writer, s Settings, provenance Provenance) (*Writer, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("begin HFile: %w", err)
	}
	w := &Writer{settings: s, provenance: provenance}
	blocks := newBlockWriter(out, &w.settings)
	w.file = assembler{blocks: blocks, index: newIndexWriter(blocks, &w.settings), firstData: noBlock, lastData: noBlock,
		blockSize: s.BlockSize}
	w.enc.encoding = s.Encoding
	w.block = w.file.take()
	w.enc.buf = w.block.buf
	w.stats.reset()
	if s.Bloom != BloomNone {
		w.bloom = newBloomWriter(&w.settings, s.Bloom)
	}
	if s.Bloom != BloomRowCol {
		w.deletes = newBloomWriter(&w.settings, BloomRow)
	}
	return w, nil
}

// UseCores lets idle cores compress blocks. It must be called before the first cell. The file has the same bytes.
func (w *Writer) UseCores(cores Cores) { w.file.cores = cores }

// Append adds a cell. It must not sort before the last one (ErrOrder); a cell with an equal key is added too. All
// cells of a file are of one family. The cell's bytes are not retained.
//
// HBase's readers bisect, so a cell out of order would be stored but never found. So the order is checked for every
// cell, whatever the caller promises.
func (w *Writer) Append(c *cell.Cell) error {
	if w.err != nil {
		return w.err
	}
	if poison.Enabled {
		var lent poison.Lent
		defer lent.End()
		c = lent.Cell(c)
	}
	if w.err = w.check(c); w.err != nil {
		return w.err
	}
	at := orderAfter(&w.enc.prev, c, w.stats.cells == 0)
	if at == outOfOrder {
		p := w.enc.prev.cell()
		w.err = fmt.Errorf("%w: cell %s after %s", ErrOrder, describe(c), describe(&p))
		return w.err
	}
	w.err = w.appendOrdered(c, at)
	return w.err
}

// check refuses cells that no HFile can hold.
func (w *Writer) check(c *cell.Cell) error {
	switch {
	case len(c.Row) == 0 || len(c.Row) > maxRowLen:
		return fmt.Errorf("%w: row of %d bytes; HBase accepts 1 to %d", ErrLength, len(c.Row), maxRowLen)
	case len(c.Family) > maxFamilyLen:
		return fmt.Errorf("%w: family of %d bytes; HBase accepts at most %d", ErrLength, len(c.Family), maxFamilyLen)
	case len(c.Qualifier) > maxQualifierLen || len(c.Value) > maxValueLen:
		return fmt.Errorf("%w: row %q: qualifier of %d and value of %d bytes; at most %d are possible", ErrLength, c.Row,
			len(c.Qualifier), len(c.Value), maxValueLen)
	case w.stats.cells > 0 && !bytes.Equal(c.Family, w.enc.prev.family):
		return fmt.Errorf("row %q: family %q in a file of family %q", c.Row, c.Family, w.enc.prev.family)
	}
	return nil
}

// order is a cell's order relative to the one before it.
type order int

const (
	outOfOrder order = iota // it sorts before it
	sameCell                // an equal key
	sameColumn
	sameRow
	newRow
)

// orderAfter returns the order of a cell relative to p, the last one (CellComparatorImpl.compare): rows and
// qualifiers ascend, timestamps and types descend.
func orderAfter(p *previous, c *cell.Cell, first bool) order {
	if first {
		return newRow
	}
	if at := commonPrefix(p.row, c.Row); at < len(c.Row) || at < len(p.row) {
		return ascends(p.row, c.Row, at, newRow)
	}
	return orderInRow(p, c)
}

// orderInRow returns the order of a cell relative to the last one, which is of the same row.
func orderInRow(p *previous, c *cell.Cell) order {
	if at := commonPrefix(p.qualifier, c.Qualifier); at < len(c.Qualifier) || at < len(p.qualifier) {
		return ascends(p.qualifier, c.Qualifier, at, sameRow)
	}
	switch {
	case c.Timestamp > p.timestamp, c.Timestamp == p.timestamp && c.Type > p.kind:
		return outOfOrder
	case c.Timestamp == p.timestamp && c.Type == p.kind:
		return sameCell
	}
	return sameColumn
}

// ascends returns then if b sorts after a, from which it differs first at byte at.
func ascends(a, b []byte, at int, then order) order {
	if at == len(a) || at < len(b) && a[at] < b[at] {
		return then
	}
	return outOfOrder
}

// appendOrdered adds a checked cell. The order of the steps is HBase's (StoreFileWriter.append,
// HFileWriterImpl.append): the bloom filter is updated before the block is ended, so a chunk that this cell completes
// is written after the block before it. A block never ends between equal keys: a seek to such a key goes to the last
// block that may hold it and would miss the cells in the block before.
func (w *Writer) appendOrdered(c *cell.Cell, at order) error {
	w.addToBlooms(c, at)
	if w.enc.cells > 0 && at != sameCell && w.enc.full(w.settings.BlockSize) {
		if err := w.finishBlock(false); err != nil {
			return err
		}
	}
	if w.enc.cells == 0 {
		w.beginBlock(c)
	}
	w.enc.add(c)
	w.stats.add(c)
	return nil
}

// beginBlock starts a data block with the cell, which determines its index key.
func (w *Writer) beginBlock(c *cell.Cell) {
	w.enc.begin()
	if w.stats.cells == 0 {
		w.firstRow = append(w.firstRow, c.Row...)
		w.indexKey = appendKey(w.indexKey[:0], c)
		return
	}
	left := w.enc.prev.cell()
	w.indexKey = appendSeparator(w.indexKey[:0], &left, c)
}

// finishBlock puts the current data block, and the bloom chunks that are ready, into the file, and begins another. The
// encoder may have reallocated the block's buffer.
func (w *Writer) finishBlock(last bool) error {
	w.enc.end()
	b := w.block
	b.buf = w.enc.buf
	b.kind, b.last = blockData, last
	b.key = append(b.key[:0], w.indexKey...)
	if w.settings.Encoding != EncodeNone {
		b.kind = blockEncodedData
	}
	b.chunks = b.chunks[:0]
	for _, filter := range []*bloomWriter{w.bloom, w.deletes} {
		if filter != nil {
			b.chunks = filter.takeReady(b.chunks, last)
		}
	}
	w.enc.cells = 0
	if err := w.file.put(b); err != nil {
		return err
	}
	w.block = w.file.take()
	w.enc.buf = w.block.buf
	return nil
}

// addToBlooms adds the cell's row or column to the filters if it is new.
func (w *Writer) addToBlooms(c *cell.Cell, at order) {
	if w.bloom != nil {
		w.addToBloom(c, at)
	}
	if c.Type == cell.DeleteFamily || c.Type == cell.DeleteFamilyVersion {
		w.stats.deleteFamilies++
		if w.deletes != nil && (w.deletes.keys == 0 || !bytes.Equal(w.deletes.lastKey, c.Row)) {
			w.deletes.add(c.Row)
		}
	}
}

// addToBloom follows RowBloomContext, RowColBloomContext and RowPrefixFixedLengthBloomContext.
func (w *Writer) addToBloom(c *cell.Cell, at order) {
	switch w.settings.Bloom {
	case BloomRow:
		if at == newRow {
			w.bloom.add(c.Row)
		}
	case BloomRowCol:
		if at >= sameRow {
			w.bloomKey = appendRowColKey(w.bloomKey[:0], c.Row, c.Qualifier)
			w.bloom.add(w.bloomKey)
		}
	case BloomRowPrefix:
		prefix := c.Row[:min(len(c.Row), w.settings.BloomPrefix)]
		if at == newRow && (w.bloom.keys == 0 || !bytes.Equal(prefix, w.bloom.lastKey)) {
			w.bloom.add(prefix)
		}
	}
}

func (s *stats) reset() {
	*s = stats{minTime: math.MaxInt64, maxTime: -1, earliestPut: math.MaxInt64, biggest: -1}
}

// add counts a cell.
func (s *stats) add(c *cell.Cell) {
	keyLen := int64(keyOverhead + len(c.Row) + len(c.Family) + len(c.Qualifier))
	s.addSizes(c, keyLen)
	s.minTime, s.maxTime = min(s.minTime, c.Timestamp), max(s.maxTime, c.Timestamp)
	switch c.Type {
	case cell.Put:
		s.earliestPut = min(s.earliestPut, c.Timestamp)
	case cell.DeleteColumn, cell.DeleteFamily: // they hide everything from the beginning of time (TimeRangeTracker)
		s.minTime = min(s.minTime, 0)
	}
}

// addPut counts a Put whose timestamp was counted.
func (s *stats) addPut(c *cell.Cell) {
	s.addSizes(c, int64(keyOverhead+len(c.Row)+len(c.Family)+len(c.Qualifier)))
}

func (s *stats) addSizes(c *cell.Cell, keyLen int64) {
	s.cells++
	s.keyBytes += keyLen
	s.valueBytes += int64(len(c.Value))
	if size := keyLen + int64(len(c.Value)); size > s.biggest {
		s.biggest = size
		s.biggestKey = appendKey(s.biggestKey[:0], c)
	}
}

// RawSize is the sum of the cells' KeyValue lengths so far, in bytes. HFileOutputFormat2 counts the same to roll
// files.
func (w *Writer) RawSize() int64 {
	return w.stats.keyBytes + w.stats.valueBytes + cellOverhead*w.stats.cells
}

// Times is how long the parts of writing a file took, measured block by block.
type Times struct {
	Compress   time.Duration // by all cores
	Elsewhere  time.Duration // the part of it by other cores than the writer's
	Compressed int64         // bytes of blocks before compression
}

// Times is valid after Close.
func (w *Writer) Times() Times { return w.file.times }

// FileSummary describes a finished file.
type FileSummary struct {
	Cells    int64
	Bytes    int64 // the file's length
	RawSize  int64 // see Writer.RawSize
	FirstRow []byte
	LastRow  []byte
	// OldestPut is the least timestamp of a Put, in epoch milliseconds; math.MaxInt64 if there are only delete markers.
	OldestPut int64
}

// Close writes everything after the data. It does not close the io.Writer. A file without cells is an error: HBase
// refuses to load one.
func (w *Writer) Close() (*FileSummary, error) {
	if w.err == nil && w.stats.cells == 0 {
		w.err = errors.New("close HFile: it has no cells, and HBase loads no empty file")
	}
	if w.err == nil {
		w.err = w.finishBlock(true)
	}
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return nil, w.err
	}
	w.err = errClosed
	return &FileSummary{Cells: w.stats.cells, Bytes: w.file.blocks.offset, RawSize: w.RawSize(), FirstRow: w.firstRow,
		LastRow: w.enc.prev.row, OldestPut: w.stats.earliestPut}, nil
}

// finish writes everything after the data (HFileWriterImpl.close). The trailer comes last: without it a file is not
// an HFile, so one that was cut short can't be loaded by mistake.
func (w *Writer) finish() error {
	root, entries, levels, err := w.file.index.writeRoot()
	if err != nil {
		return err
	}
	dataRoot := w.file.blocks.raw[blockRootIndex]
	if _, err := w.writeLoadOnOpen(blockRootIndex, nil); err != nil { // the index of the meta blocks, which is empty
		return err
	}
	info, err := w.writeLoadOnOpen(blockFileInfo, w.fileInfo().appendTo(nil))
	if err != nil {
		return err
	}
	if err := w.writeBloomMetas(); err != nil {
		return err
	}
	blocks := w.file.blocks
	t := trailer{fileInfoOffset: info.offset, loadOnOpenOffset: root.offset, rawIndexSize: w.file.index.raw,
		totalRawBytes: trailerLen - dataRoot - blocks.raw[blockIntermediateIndex], dataIndexCount: int64(entries),
		cells: w.stats.cells, indexLevels: int64(levels),
		firstDataBlockOffset: w.file.firstData, lastDataBlockOffset: w.file.lastData, comparator: storedComparator,
		compression: w.settings.Compression}
	for _, n := range blocks.raw {
		t.totalRawBytes += n
	}
	n, err := blocks.out.Write(t.appendTo(nil))
	blocks.offset += int64(n)
	if err != nil {
		return fmt.Errorf("write trailer: %w", err)
	}
	return nil
}

func (w *Writer) writeBloomMetas() error {
	if w.bloom != nil && w.bloom.keys > 0 {
		if _, err := w.writeLoadOnOpen(blockGeneralBloomMeta, w.bloom.appendMeta(nil)); err != nil {
			return err
		}
	}
	if w.deletes != nil && w.deletes.keys > 0 {
		if _, err := w.writeLoadOnOpen(blockDeleteBloomMeta, w.deletes.appendMeta(nil)); err != nil {
			return err
		}
	}
	return nil
}

// writeLoadOnOpen writes a block after the data index.
func (w *Writer) writeLoadOnOpen(kind blockType, payload []byte) (handle, error) {
	return w.file.blocks.write(kind, append(make([]byte, headerLen), payload...))
}

// fileInfo builds the file's properties (HFileWriterImpl.finishFileInfo,
// StoreFileWriter.appendTrackedTimestampsToMetadata and HFileOutputFormat2's close).
func (w *Writer) fileInfo() FileInfo {
	f, s := FileInfo{}, &w.stats
	last := w.enc.prev.cell()
	f[infoLastKey] = appendKey(nil, &last)
	f.putInt(infoAvgKeyLen, s.keyBytes/s.cells)
	f.putInt(infoAvgValueLen, s.valueBytes/s.cells)
	f[infoBiggestKey] = s.biggestKey
	f.putLong(infoBiggestLen, cellOverhead+s.biggest+4) // HBase counts its own int before a serialised cell
	f.putInt(infoKeyValueVersion, infoKeyValueVersionSet)
	f.putLong(infoMaxSequenceID, 0)
	f.putLong(infoEarliestPut, s.earliestPut)
	f[infoTimeRange] = append(be64Bytes(s.minTime), be64Bytes(s.maxTime)...)
	f.putLong(infoDeleteFamilies, s.deleteFamilies)
	w.provenance.addTo(f)
	if w.settings.Encoding != EncodeNone {
		f[infoEncoding] = []byte(w.settings.Encoding.String())
	}
	if w.bloom != nil && w.bloom.keys > 0 {
		f[infoBloomType] = []byte(w.settings.Bloom.String())
		f[infoLastBloomKey] = w.bloom.lastKey
		if w.settings.Bloom == BloomRowPrefix {
			f.putInt(infoBloomParam, int64(w.settings.BloomPrefix))
		}
	}
	return f
}

func be64Bytes(v int64) []byte {
	b := make([]byte, 8)
	putBE64(b, uint64(v))
	return b
}

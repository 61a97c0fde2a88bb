package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// ErrCorrupt marks errors of a file that is not a sound HFile. The text names the block and its offset.
var ErrCorrupt = errors.New("corrupt HFile")

// ErrUnsupported marks an HFile that may be sound but uses a feature that this package can't read.
var ErrUnsupported = errors.New("not supported")

// Reader reads an HFile: what Open loaded, and blocks on demand. It is safe for concurrent use if its io.ReaderAt is.
type Reader struct {
	in      io.ReaderAt
	size    int64
	trailer *trailer
	info    FileInfo
	root    []indexEntry
	mid     *midKey
	bloom   *bloomMeta // nil if there is none
	deletes *bloomMeta
	decoder blockDecoder // copied for each use: it holds the file's encoding, tags and sequence ids
	kind    Bloom
	prefix  int
	minor   int // version
	ahead   int // see ReadAhead
	cores   Cores
}

// Open reads a file's trailer and the load-on-open section between the data and the trailer: index root, file info,
// bloom metas. size is the file's length in bytes. A damaged file, or one that is not an HFile, gives ErrCorrupt.
func Open(in io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{in: in, size: size, ahead: windowLen}
	tail, err := r.loadTrailer()
	if err != nil {
		return nil, fmt.Errorf("open HFile: %w", err)
	}
	if err := r.loadOnOpen(tail); err != nil {
		return nil, fmt.Errorf("open HFile: %w", err)
	}
	if err := r.applyInfo(); err != nil {
		return nil, fmt.Errorf("open HFile: file info: %w", err)
	}
	return r, nil
}

// end is where the blocks end and the trailer begins.
func (r *Reader) end() int64 { return r.size - trailerLen }

// tailLen is how much of a file's end is read together with its trailer. Usually Open needs no more than that, and each
// jump within a file on HDFS costs a connection to a DataNode.
const tailLen = 128 << 10

// loadTrailer reads the trailer, and returns the bytes before it that were read along.
func (r *Reader) loadTrailer() (tail []byte, err error) {
	if r.size < trailerLen {
		return nil, fmt.Errorf("%w: it has %d bytes, fewer than an HFile's trailer", ErrCorrupt, r.size)
	}
	tail = make([]byte, min(r.size, tailLen))
	if err := readAt(r.in, tail, r.size-int64(len(tail))); err != nil {
		return nil, fmt.Errorf("read trailer: %w", err)
	}
	tail, b := tail[:len(tail)-trailerLen], tail[len(tail)-trailerLen:]
	t, err := parseTrailer(b)
	if err != nil {
		return nil, err
	}
	r.trailer, r.minor = t, int(b[trailerVersionOffset])
	switch {
	case t.encrypted:
		return nil, fmt.Errorf("the file is encrypted, which is %w", ErrUnsupported)
	case compressionNames[t.compression] == "":
		return nil, fmt.Errorf("compression %s is %w", t.compression, ErrUnsupported)
	case t.loadOnOpenOffset < 0 || t.loadOnOpenOffset > r.end():
		return nil, fmt.Errorf("%w: trailer puts the index root at %d of %d", ErrCorrupt, t.loadOnOpenOffset, r.end())
	case t.cells < 0 || t.indexLevels < 1 || t.indexLevels > maxIndexLevels:
		return nil, fmt.Errorf("%w: trailer tells %d cells and %d index levels", ErrCorrupt, t.cells, t.indexLevels)
	case !comparators[t.comparator]:
		return nil, fmt.Errorf("%w: trailer names %q as the comparator of the cells, which HBase does not have for a "+
			"user's table", ErrCorrupt, t.comparator)
	}
	return tail, nil
}

// loadOnOpen reads the blocks after the data (HFileInfo.initMetaAndIndex): data root, meta root, file info, then
// bloom metas. tail holds the bytes before the trailer, as far as they were read.
func (r *Reader) loadOnOpen(tail []byte) error {
	src := newSource(r)
	src.window, src.at = tail, r.end()-int64(len(tail))
	offset := r.trailer.loadOnOpenOffset
	for i := 0; offset < r.end(); i++ {
		b, err := src.read(offset)
		if err != nil {
			return err
		}
		if want := [...]blockType{blockRootIndex, blockRootIndex, blockFileInfo}; i < len(want) && b.kind != want[i] {
			return fmt.Errorf("%w: %s block at offset %d, want %s", ErrCorrupt, b.kind, offset, want[i])
		}
		if err := r.loadBlock(i, &b); err != nil {
			return fmt.Errorf("%s block at offset %d: %w", b.kind, offset, err)
		}
		offset += int64(b.onDiskSize)
	}
	if r.info == nil {
		return fmt.Errorf("%w: no file info", ErrCorrupt)
	}
	return nil
}

// loadBlock parses the i-th block after the data.
func (r *Reader) loadBlock(i int, b *block) (err error) {
	payload := bytes.Clone(b.payload)
	switch {
	case i == 0:
		r.root, r.mid, err = parseRoot(payload, r.trailer.dataIndexCount, r.trailer.indexLevels > 1)
	case i == 1:
		_, _, err = parseRoot(payload, r.trailer.metaIndexCount, false)
	case b.kind == blockFileInfo:
		r.info, err = parseFileInfo(payload)
	case b.kind == blockGeneralBloomMeta:
		r.bloom, err = parseBloomMeta(payload)
	case b.kind == blockDeleteBloomMeta:
		r.deletes, err = parseBloomMeta(payload)
	}
	return err
}

// applyInfo reads from the file info how the cells are stored.
func (r *Reader) applyInfo() error {
	if name, ok := r.info[infoEncoding]; ok {
		encoding, err := ParseEncoding(string(name))
		if err != nil {
			return err
		}
		r.decoder.encoding = encoding
	}
	_, r.decoder.tags = r.info[infoMaxTagsLen]
	version, ok := r.info[infoKeyValueVersion]
	r.decoder.mvcc = ok && len(version) == 4 && binary.BigEndian.Uint32(version) == infoKeyValueVersionSet
	if compressed := r.info[infoTagsCompressed]; len(compressed) > 0 && compressed[0] != 0 {
		return fmt.Errorf("its tags are compressed with a dictionary, which is %w", ErrUnsupported)
	}
	if r.trailer.cells > 0 {
		if _, err := parseKey(r.info[infoLastKey]); err != nil {
			return fmt.Errorf("%s: %w", infoLastKey, err)
		}
		if len(r.root) == 0 {
			return fmt.Errorf("%w: %d cells but no index", ErrCorrupt, r.trailer.cells)
		}
		for i := range r.root {
			if _, err := parseKey(r.root[i].key); err != nil {
				return fmt.Errorf("index root entry %d: %w", i, err)
			}
		}
	}
	return r.applyBloom()
}

func (r *Reader) applyBloom() error {
	name, ok := r.info[infoBloomType]
	if !ok || r.bloom == nil {
		r.bloom = nil // as HBase does: a filter of unknown kind is not used
		return nil
	}
	kind, err := ParseBloom(string(name))
	if err != nil {
		return err
	}
	r.kind = kind
	if kind == BloomRowPrefix {
		param := r.info[infoBloomParam]
		if len(param) != 4 {
			return fmt.Errorf("%w: %s has %d bytes", ErrCorrupt, infoBloomParam, len(param))
		}
		r.prefix = int(binary.BigEndian.Uint32(param))
	}
	return nil
}

// ReadAhead sets how many bytes n are read at a time at least: 256 KiB, which suits scans, unless it is called before
// scans begin. For look-ups of single rows 0 is better, which reads no more than the block.
func (r *Reader) ReadAhead(n int) { r.ahead = n }

// UseCores lets idle cores unpack blocks for Verify.
func (r *Reader) UseCores(cores Cores) { r.cores = cores }

// Info is the file's table of properties. The caller must not change it.
func (r *Reader) Info() FileInfo { return r.info }

// FirstRow is the file's first row; nil in a file without cells. Like HBase, it comes from the index root.
func (r *Reader) FirstRow() []byte {
	if len(r.root) == 0 {
		return nil
	}
	c, _ := parseKey(r.root[0].key)
	return c.Row
}

// LastRow is the file's last row; nil in a file without cells.
func (r *Reader) LastRow() []byte {
	c, _ := parseKey(r.info[infoLastKey])
	return c.Row
}

// RowsBetween returns up to n rows at roughly even distances between the first row and the last one, in order and
// without repetition. Like FirstRow, they come from the index root, whose keys are shortened, so not all of them need
// be in the file. A file of a few blocks has fewer.
func (r *Reader) RowsBetween(n int) (rows [][]byte, err error) {
	for i := 1; i <= n; i++ {
		at := i * len(r.root) / (n + 1)
		if at == 0 || at == (i-1)*len(r.root)/(n+1) {
			continue
		}
		c, err := parseKey(r.root[at].key)
		if err != nil {
			return nil, fmt.Errorf("index entry %d: %w", at, err)
		}
		rows = append(rows, c.Row)
	}
	return rows, nil
}

// Settings returns the settings that the file was written with, as far as a file records them, which it does not for
// the numbers.
func (r *Reader) Settings() Settings {
	return Settings{Compression: r.trailer.compression, Encoding: r.decoder.encoding, Bloom: r.kind, BloomPrefix: r.prefix}
}

// MayContainRow looks up in the bloom filter whether the file can hold a row. It returns true if there is no filter of
// rows, or one with a hash that this package does not have.
func (r *Reader) MayContainRow(row []byte) (bool, error) {
	key := row
	switch {
	case r.bloom == nil || r.kind == BloomRowCol || !r.bloom.known():
		return true, nil
	case r.kind == BloomRowPrefix:
		if len(row) < r.prefix { // HBase asks only with a whole prefix, too
			return true, nil
		}
		key = row[:r.prefix]
	}
	i := r.bloom.chunkOf(key)
	if i < 0 {
		return false, nil
	}
	bits, err := newSource(r).bloomChunk(r.bloom, i)
	if err != nil {
		return false, err
	}
	return bloomContains(bits, key, r.bloom.hashes), nil
}

// chunkOf returns the chunk that would hold a key, -1 if the key is before the first. Keys of columns are in the
// order of cells, which is not that of their bytes.
func (m *bloomMeta) chunkOf(key []byte) int {
	compare := bytes.Compare
	if m.comparator != "" {
		compare = compareFlatKeys
	}
	i, found := slices.BinarySearchFunc(m.chunks, key, func(e indexEntry, key []byte) int { return compare(e.key, key) })
	if found {
		return i
	}
	return i - 1
}

// compareFlatKeys orders flat keys as cells. A malformed key sorts before all others.
func compareFlatKeys(a, b []byte) int {
	x, _ := parseKey(a)
	y, _ := parseKey(b)
	return cell.Compare(&x, &y)
}

// block is a parsed block. Its payload is valid until the source reads again.
type block struct {
	blockHeader
	offset  int64
	payload []byte
}

// source reads blocks through a window of the file, so that consecutive blocks need few reads. It belongs to one
// goroutine.
type source struct {
	r      *Reader
	codec  *codec
	window []byte
	at     int64 // of the window in the file
	raw    []byte
	lent   poison.Lent // the payload
	verify bool        // checksums
}

const windowLen = 256 << 10

func newSource(r *Reader) *source {
	return &source{r: r, codec: newCodec(r.trailer.compression), verify: true}
}

// read reads the block at an offset.
func (s *source) read(offset int64) (b block, err error) {
	b, err = s.readBlock(offset)
	if err != nil {
		return b, fmt.Errorf("block at offset %d: %w", offset, err)
	}
	return b, nil
}

func (s *source) readBlock(offset int64) (b block, err error) {
	s.lent.End()
	b, stored, err := s.fetch(offset)
	if err != nil {
		return b, err
	}
	if err := b.unpack(stored, s.codec, s.raw, s.verify); err != nil {
		return b, err
	}
	if s.codec.kind != CompressNone {
		s.raw = b.payload[:0]
	}
	b.payload = s.lent.Bytes(b.payload)
	return b, nil
}

// fetch reads a block without its payload, and its stored bytes, which are valid until the source reads again.
func (s *source) fetch(offset int64) (b block, stored []byte, err error) {
	b.offset = offset
	limit := s.r.end() - offset
	if offset < 0 || limit < headerLen {
		return b, nil, fmt.Errorf("%w: there is no block there", ErrCorrupt)
	}
	head, err := s.bytes(offset, headerLen)
	if err != nil {
		return b, nil, err
	}
	if b.blockHeader, err = parseBlockHeader(head, limit); err != nil {
		return b, nil, err
	}
	stored, err = s.bytes(offset, b.onDiskSize)
	return b, stored, err
}

// unpack checks the stored bytes and makes the payload of them, in raw or as a view of them.
func (b *block) unpack(stored []byte, c *codec, raw []byte, verify bool) (err error) {
	if verify {
		if err := b.verifyChecksums(stored); err != nil {
			return err
		}
	}
	if b.payload, err = c.decompress(raw, stored[headerLen:b.onDiskData], b.rawSize); err != nil {
		return fmt.Errorf("%s block: %w", b.kind, err)
	}
	return nil
}

// bytes returns n bytes of the file. Those that are in the window already are not read again.
func (s *source) bytes(offset int64, n int) ([]byte, error) {
	from := offset - s.at
	if from < 0 || from > int64(len(s.window)) {
		s.window, from = s.window[:0], 0
		s.at = offset
	}
	if int64(len(s.window))-from < int64(n) {
		reused := copy(s.window, s.window[from:])
		s.at, from = offset, 0
		want := int(min(int64(max(n, s.r.ahead)), s.r.end()-offset))
		s.window = slices.Grow(s.window[:reused], want-reused)[:want]
		if err := readAt(s.r.in, s.window[reused:], offset+int64(reused)); err != nil {
			s.window = s.window[:0]
			return nil, fmt.Errorf("read: %w", err)
		}
	}
	return s.window[from : from+int64(n)], nil
}

// expect reads the block at a handle and checks that it is of one of the kinds and as long as the handle says.
func (s *source) expect(h handle, kinds ...blockType) (block, error) {
	b, err := s.read(h.offset)
	if err != nil {
		return b, err
	}
	if !slices.Contains(kinds, b.kind) {
		return b, fmt.Errorf("%w: %s block at offset %d, want %s", ErrCorrupt, b.kind, h.offset, kinds[0])
	}
	if b.onDiskSize != h.size {
		return b, fmt.Errorf("%w: %s block at offset %d has %d bytes, its index entry says %d", ErrCorrupt, b.kind,
			h.offset, b.onDiskSize, h.size)
	}
	return b, nil
}

func (s *source) bloomChunk(m *bloomMeta, i int) ([]byte, error) {
	b, err := s.expect(m.chunks[i].block, blockBloomChunk)
	if err != nil {
		return nil, fmt.Errorf("bloom chunk %d: %w", i, err)
	}
	return b.payload, nil
}

// readAt fills b or fails. A file that ends early is corrupt.
func readAt(in io.ReaderAt, b []byte, offset int64) error {
	n, err := in.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the file ends at %d, %d bytes were wanted from %d on", ErrCorrupt,
			offset+int64(n), len(b), offset)
	}
	return err
}

// seekKey is the first key that a row can have.
func seekKey(row []byte) cell.Cell {
	return cell.Cell{Row: row, Timestamp: math.MaxInt64, Type: indexKeyType}
}

package hfilewriter

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// Block describes one block of a file.
type Block struct {
	Type     string // HBase's name: ENCODED_DATA, LEAF_INDEX, …
	Offset   int64
	Stored   int64  // bytes on disk, with header and checksums
	Raw      int64  // bytes of the payload before compression
	Prev     int64  // offset of the previous block of its type, -1 for the first
	Entries  int64  // cells of a data block, entries of an index block, chunks of a bloom meta, pairs of the file info
	Rows     int64  // rows that begin in a data block or continue in it
	FirstKey []byte // of a data or index block: a flat key; of a bloom chunk: its first key
}

// BlockType sums up the blocks of one type.
type BlockType struct {
	Type     string
	Blocks   int64
	Stored   int64 // bytes, of all blocks
	Raw      int64 // bytes, of all payloads before compression
	Entries  int64
	Smallest int64 // payload before compression, bytes
	Largest  int64
}

// Ratio is the number of bytes before compression for each stored byte.
func (t *BlockType) Ratio() float64 { return float64(t.Raw) / float64(max(t.Stored, 1)) }

// BloomLoad describes how full a bloom filter is.
type BloomLoad struct {
	Kind           string
	Chunks         int
	Hashes         int
	Keys           int64
	Capacity       int64   // keys that the chunks were made for, after folding
	Bytes          int64   // of all chunks
	BitsSet        int64   //
	FalsePositives float64 // expected share of absent keys that pass
}

// FileLayout describes a file for people and for programs.
type FileLayout struct {
	Size         int64
	Version      string
	Compression  string
	Encoding     string
	Checksum     string
	Cells        int64
	Rows         int64
	UnencodedLen int64 // bytes of the cells without any encoding, if the blocks say it; otherwise 0
	IndexLevels  int64
	Types        []BlockType // in order of first appearance
	Bloom        *BloomLoad  // nil if there is none
	Trailer      []TrailerField
}

// TrailerField is a number from the trailer, under HBase's name.
type TrailerField struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Layout walks over all blocks and describes them. visit, which may be nil, gets each block; its FirstKey is valid
// during the call. Damage is ErrCorrupt; Verify finds more of it.
func (r *Reader) Layout(visit func(*Block) error) (*FileLayout, error) {
	l := &layouter{r: r, src: newSource(r), dec: r.decoder,
		layout: FileLayout{Size: r.size, Version: fmt.Sprintf("%d.%d", majorVersion, r.minor),
			Compression: r.trailer.compression.String(), Encoding: r.decoder.encoding.String(), Cells: r.trailer.cells,
			IndexLevels: r.trailer.indexLevels}}
	for offset := int64(0); offset < r.end(); {
		b, err := l.src.read(offset)
		if err != nil {
			return nil, err
		}
		d, err := l.describe(&b)
		if err != nil {
			return nil, fmt.Errorf("%s block at offset %d: %w", b.kind, offset, err)
		}
		if visit != nil {
			var lent poison.Lent
			d.FirstKey = lent.Bytes(d.FirstKey)
			err := visit(d)
			lent.End()
			if err != nil {
				return nil, err
			}
		}
		offset += int64(b.onDiskSize)
	}
	l.finish()
	return &l.layout, nil
}

// layouter builds a FileLayout.
type layouter struct {
	r       *Reader
	src     *source
	dec     blockDecoder
	layout  FileLayout
	lastRow []byte
	chunks  int
	bits    int64
}

func (l *layouter) describe(b *block) (*Block, error) {
	d := &Block{Type: b.kind.String(), Offset: b.offset, Stored: int64(b.onDiskSize), Raw: int64(b.rawSize), Prev: b.prev}
	l.layout.Checksum = b.checksum.String()
	var err error
	switch b.kind {
	case blockData, blockEncodedData:
		err = l.cells(b, d)
	case blockLeafIndex, blockIntermediateIndex:
		var entries []indexEntry
		if entries, err = parseNonRoot(b.payload); err == nil {
			d.Entries, d.FirstKey = int64(len(entries)), entries[0].key
		}
	case blockRootIndex:
		if b.offset == l.r.trailer.loadOnOpenOffset && len(l.r.root) > 0 {
			d.Entries, d.FirstKey = int64(len(l.r.root)), l.r.root[0].key
		}
	case blockFileInfo:
		d.Entries = int64(len(l.r.info))
	case blockBloomChunk:
		l.chunk(b, d)
	case blockGeneralBloomMeta, blockDeleteBloomMeta:
		var m *bloomMeta
		if m, err = parseBloomMeta(b.payload); err == nil {
			d.Entries = int64(len(m.chunks))
		}
	}
	l.count(d)
	return d, err
}

// cells counts a data block's cells and rows.
func (l *layouter) cells(b *block, d *Block) error {
	if err := l.dec.begin(b.kind, b.payload); err != nil {
		return err
	}
	if l.dec.encoding.storesSize() && len(b.payload) >= encodingIDLen+4 {
		c := cursor{b: b.payload[encodingIDLen:]}
		l.layout.UnencodedLen += int64(c.uint32())
	}
	for {
		ok, err := l.dec.next()
		if err != nil || !ok {
			return err
		}
		c := &l.dec.cell
		if d.Entries == 0 {
			d.FirstKey = appendKey(nil, c)
			d.Rows = 1
		}
		if l.layout.Rows == 0 || !bytes.Equal(c.Row, l.lastRow) {
			l.layout.Rows++
			l.lastRow = append(l.lastRow[:0], c.Row...)
			if d.Entries > 0 {
				d.Rows++
			}
		}
		d.Entries++
	}
}

// chunk counts the bits that are set in a chunk of the general bloom filter.
func (l *layouter) chunk(b *block, d *Block) {
	m := l.r.bloom
	if m == nil || l.chunks == len(m.chunks) || m.chunks[l.chunks].block.offset != b.offset {
		return
	}
	d.FirstKey = m.chunks[l.chunks].key
	l.chunks++
	for _, v := range b.payload {
		l.bits += int64(bits.OnesCount8(v))
	}
}

func (l *layouter) count(d *Block) {
	for i := range l.layout.Types {
		if t := &l.layout.Types[i]; t.Type == d.Type {
			t.Blocks++
			t.Stored += d.Stored
			t.Raw += d.Raw
			t.Entries += d.Entries
			t.Smallest, t.Largest = min(t.Smallest, d.Raw), max(t.Largest, d.Raw)
			return
		}
	}
	l.layout.Types = append(l.layout.Types, BlockType{d.Type, 1, d.Stored, d.Raw, d.Entries, d.Raw, d.Raw})
}

// finish fills in the totals. The expected share of false positives follows from the set bits: a key passes if all of
// its hashes meet one.
func (l *layouter) finish() {
	names := [...]string{"file_info_offset", "load_on_open_data_offset", "uncompressed_data_index_size",
		"total_uncompressed_bytes", "data_index_count",
		"meta_index_count", "entry_count", "num_data_index_levels", "first_data_block_offset", "last_data_block_offset"}
	for i, v := range l.r.trailer.numbers() {
		l.layout.Trailer = append(l.layout.Trailer, TrailerField{names[i], *v})
	}
	if m := l.r.bloom; m != nil {
		share := float64(l.bits) / float64(max(8*m.bytes, 1))
		l.layout.Bloom = &BloomLoad{Kind: l.r.kind.String(), Chunks: len(m.chunks), Hashes: m.hashes, Keys: m.keys,
			Capacity: m.capacity, Bytes: m.bytes,
			BitsSet: l.bits, FalsePositives: math.Pow(share, float64(m.hashes))}
	}
}

// DescribeKey formats a flat key as row/family:qualifier/timestamp/type, with \xNN for bytes that are not printable
// ASCII. Keys that separate blocks have no family or no qualifier. Anything that is not a flat key is formatted in hex.
func DescribeKey(key []byte) string {
	c, err := parseKey(key)
	if err != nil {
		return hex.EncodeToString(key)
	}
	return describe(&c)
}

// describe formats a cell's key as DescribeKey does.
func describe(c *cell.Cell) string {
	when := fmt.Sprint(c.Timestamp)
	if c.Timestamp == indexKeyTimestamp {
		when = "LATEST"
	}
	kind, ok := map[cell.KeyType]string{cell.Put: "Put", cell.Delete: "Delete",
		cell.DeleteFamilyVersion: "DeleteFamilyVersion",
		cell.DeleteColumn:        "DeleteColumn", cell.DeleteFamily: "DeleteFamily", indexKeyType: "Maximum"}[c.Type]
	if !ok {
		kind = fmt.Sprint(uint8(c.Type))
	}
	return cell.Printable(c.Row) + "/" + cell.Printable(c.Family) + ":" +
		cell.Printable(c.Qualifier) + "/" + when + "/" + kind
}

package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// trailer is the file's last 4,096 bytes (FixedFileTrailer.serialize):
//
//	offset   size
//	     0      8   `TRABLK"$`
//	     8      …   FileTrailerProto, preceded by its length as a varint
//	     …      …   zeros
//	  4092      4   int: minor version << 24 | major version
//
// The fixed length lets a reader find it by the file's size alone. The version comes last for the same reason: it
// says how long the trailer is. Fields are written in order of their numbers, zeros too. Sizes and offsets are in
// bytes. The comments are the fields' numbers.
//
// A trailer is written last, so a file that ends with one was written to its end. No offset in it is
// trusted: a block is parsed only where one fits in the file, and the verifier compares all of them with the blocks.
type trailer struct {
	fileInfoOffset   int64 // 1: offset of the file info block's header
	loadOnOpenOffset int64 // 2: offset of the data index root's header
	rawIndexSize     int64 // 3: payloads of leaf, intermediate and root index blocks, before compression
	// 4: blocks before compression with headers, and the trailer; without data root and intermediate blocks
	totalRawBytes        int64
	dataIndexCount       int64       // 5: entries in the data index root
	metaIndexCount       int64       // 6: meta blocks
	cells                int64       // 7: cells in the file
	indexLevels          int64       // 8: 1 is a root alone
	firstDataBlockOffset int64       // 9
	lastDataBlockOffset  int64       // 10
	comparator           string      // 11: Java class of the cells' order
	compression          Compression // 12: Compression.Algorithm's ordinal
	encrypted            bool        // 13: whether there is an encryption key; never written
	padded               bool        // parsed: there are only zeros between the message and the version
}

// storedComparator is what every HBase from 1 to 3 stores for a user's table
// (FixedFileTrailer.getHBase1CompatibleName). HBase 2 maps the old name to its own class; a region of HBase 1 could
// not open a file with the new one.
const storedComparator = "org.apache.hadoop.hbase.KeyValue$KVComparator"

// comparators are the names under which HBase knows the order of a user's table (FixedFileTrailer.getComparatorClass).
// HBase can't open a file with the name of a class that it does not have.
var comparators = map[string]bool{
	storedComparator: true,
	"org.apache.hadoop.hbase.KeyValue$KeyComparator":   true, // of HBase 0.94
	"org.apache.hadoop.hbase.CellComparator":           true,
	"org.apache.hadoop.hbase.CellComparatorImpl":       true,
	"org.apache.hadoop.hbase.InnerStoreCellComparator": true,
}

// numbers returns the fields 1 to 10, in order: encoding, parsing and Layout share it, so that they can't differ.
func (t *trailer) numbers() [10]*int64 {
	return [10]*int64{&t.fileInfoOffset, &t.loadOnOpenOffset, &t.rawIndexSize, &t.totalRawBytes, &t.dataIndexCount,
		&t.metaIndexCount, &t.cells, &t.indexLevels, &t.firstDataBlockOffset, &t.lastDataBlockOffset}
}

// appendTo encodes the trailer, always trailerLen bytes.
func (t *trailer) appendTo(dst []byte) []byte {
	start := len(dst)
	var m []byte
	// Zero values too: HBase's writer sets all of its fields.
	for i, v := range t.numbers() {
		m = protowire.AppendTag(m, protowire.Number(i+1), protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(*v))
	}
	m = protowire.AppendTag(m, 11, protowire.BytesType)
	m = protowire.AppendString(m, t.comparator)
	m = protowire.AppendTag(m, 12, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(t.compression))
	dst = protowire.AppendBytes(append(dst, trailerMagic...), m)
	dst = append(dst, make([]byte, start+trailerVersionOffset-len(dst))...)
	return binary.BigEndian.AppendUint32(dst, minorVersion<<24|majorVersion)
}

// parseTrailer decodes a file's last 4,096 bytes. The version is checked first: in any other file the rest means
// nothing.
//
// No field is required here: a missing one is zero, except the comparator and the compression, for which HBase has
// defaults. loadTrailer refuses trailers that then can't be opened, loadOnOpen compares metaIndexCount with the meta
// index, and Verify compares the other offsets and counts with the blocks.
func parseTrailer(b []byte) (*trailer, error) {
	version := binary.BigEndian.Uint32(b[trailerVersionOffset:])
	if major := version & 0xffffff; major != majorVersion {
		return nil, fmt.Errorf("%w: version %d.%d, want %d: not an HFile, or of another HBase", ErrCorrupt,
			major, version>>24, majorVersion)
	}
	if string(b[:magicLen]) != trailerMagic {
		return nil, fmt.Errorf("%w: trailer begins with %q", ErrCorrupt, b[:magicLen])
	}
	m, n := protowire.ConsumeBytes(b[magicLen:trailerVersionOffset])
	if n < 0 {
		return nil, fmt.Errorf("%w: trailer: %v", ErrCorrupt, protowire.ParseError(n))
	}
	padding := b[magicLen+n : trailerVersionOffset]
	t := &trailer{comparator: storedComparator, compression: CompressNone, padded: len(bytes.Trim(padding, "\x00")) == 0}
	numbers := t.numbers()
	// Without field 12 a file is not compressed. Unknown fields are skipped, as protobuf demands: a later HBase may
	// add some.
	err := eachField(m, func(number protowire.Number, v uint64, text []byte) error {
		switch {
		case number >= 1 && int(number) <= len(numbers):
			*numbers[number-1] = int64(v)
		case number == 11 && text != nil:
			t.comparator = string(text)
		case number == 12:
			t.compression = Compression(min(v, 255))
		case number == 13:
			t.encrypted = len(text) > 0
		}
		return nil
	})
	return t, err
}

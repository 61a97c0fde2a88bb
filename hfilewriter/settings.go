package hfilewriter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compression is a codec, with the number stored in a trailer (Compression.Algorithm's ordinal).
type Compression uint8

// The codecs that this package writes and reads, with the framing of HBase's own codec classes.
const (
	CompressGZ     Compression = 1
	CompressNone   Compression = 2
	CompressSnappy Compression = 3
	CompressLZ4    Compression = 4
	CompressZSTD   Compression = 6
)

// Encoding is a data block encoding. Its number is the id at the start of an encoded block (DataBlockEncoding).
type Encoding uint8

// The data block encodings of HBase 2.
const (
	EncodeNone       Encoding = 0
	EncodePrefix     Encoding = 2
	EncodeDiff       Encoding = 3
	EncodeFastDiff   Encoding = 4
	EncodeRowIndexV1 Encoding = 7
)

// Bloom is the kind of a file's bloom filter (BloomType).
type Bloom uint8

// The kinds of bloom filters of HBase 2.
const (
	BloomNone Bloom = iota
	BloomRow
	BloomRowCol
	BloomRowPrefix // of Settings.BloomPrefix bytes
)

// Checksum is the checksum of a block's stored bytes.
type Checksum uint8

// The checksum types (ChecksumType); the zero value is HBase's default.
const (
	ChecksumCRC32C Checksum = iota
	ChecksumCRC32
	ChecksumNull // four zero bytes for each checksum
)

// code is the number that a block header stores for the type: 2, 1, 0; parseChecksumCode reads it back.
func (c Checksum) code() byte { return byte(ChecksumNull - c) }

func parseChecksumCode(b byte) (Checksum, bool) {
	return ChecksumNull - Checksum(b), b <= byte(ChecksumNull)
}

var (
	compressionNames = map[Compression]string{CompressGZ: "GZ", CompressNone: "NONE", CompressSnappy: "SNAPPY",
		CompressLZ4: "LZ4", CompressZSTD: "ZSTD"}
	encodingNames = map[Encoding]string{EncodeNone: "NONE", EncodePrefix: "PREFIX", EncodeDiff: "DIFF",
		EncodeFastDiff: "FAST_DIFF", EncodeRowIndexV1: "ROW_INDEX_V1"}
	bloomNames = map[Bloom]string{BloomNone: "NONE", BloomRow: "ROW", BloomRowCol: "ROWCOL",
		BloomRowPrefix: "ROWPREFIX_FIXED_LENGTH"}
	checksumNames = map[Checksum]string{ChecksumNull: "NULL", ChecksumCRC32: "CRC32", ChecksumCRC32C: "CRC32C"}
)

// ParseCompression parses HBase's name, in any case: NONE, SNAPPY, GZ, LZ4, ZSTD.
func ParseCompression(name string) (Compression, error) {
	return parseName("compression", name, compressionNames)
}

// ParseEncoding parses HBase's name, in any case: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1.
func ParseEncoding(name string) (Encoding, error) {
	return parseName("data block encoding", name, encodingNames)
}

// ParseBloom parses HBase's name, in any case: NONE, ROW, ROWCOL, ROWPREFIX_FIXED_LENGTH.
func ParseBloom(name string) (Bloom, error) { return parseName("bloom type", name, bloomNames) }

// ParseChecksum parses HBase's name, in any case: CRC32C, CRC32, NULL.
func ParseChecksum(name string) (Checksum, error) {
	return parseName("checksum type", name, checksumNames)
}

func parseName[T ~uint8](what, name string, names map[T]string) (T, error) {
	var known []string
	for _, value := range slices.Sorted(maps.Keys(names)) {
		if strings.EqualFold(names[value], name) {
			return value, nil
		}
		known = append(known, names[value])
	}
	return 0, fmt.Errorf("%s %q is not supported; use one of %s", what, name, strings.Join(known, ", "))
}

func (c Compression) String() string { return nameOf(c, compressionNames) }
func (e Encoding) String() string    { return nameOf(e, encodingNames) }

// ReadableBy returns an error if a version of HBase ("2.1", "2.1.4-cdh6") can't read files with the settings. It says
// which setting that version does not know, and which is the first that does. A text that is no version, and one before
// 1.2, is not judged.
func (s Settings) ReadableBy(version string) error {
	type since struct{ major, minor int }
	var has since
	if n, _ := fmt.Sscanf(version, "%d.%d", &has.major, &has.minor); n < 2 {
		return nil
	}
	first, setting := since{1, 2}, ""
	switch {
	case s.Compression == CompressZSTD: // before, it is Hadoop's ZStandardCodec, which has no frames
		first, setting = since{2, 5}, s.Compression.String()
	case s.Bloom == BloomRowPrefix: // HBASE-20636
		first, setting = since{2, 2}, s.Bloom.String()
	case s.Encoding == EncodeRowIndexV1: // HBASE-16213
		first, setting = since{1, 4}, s.Encoding.String()
	}
	if setting == "" || has.major > first.major || has.major == first.major && has.minor >= first.minor {
		return nil
	}
	return fmt.Errorf("HBase %s can't read files with %s; %d.%d and later can", version, setting, first.major, first.minor)
}

// HasRows reports whether a reader of a whole row can skip files by the filter.
func (b Bloom) HasRows() bool { return b == BloomRow || b == BloomRowPrefix }

func (b Bloom) String() string    { return nameOf(b, bloomNames) }
func (c Checksum) String() string { return nameOf(c, checksumNames) }

func nameOf[T ~uint8](v T, names map[T]string) string {
	if n, ok := names[v]; ok {
		return n
	}
	return fmt.Sprintf("unknown(%d)", uint8(v))
}

// Settings are the settings of a file that follow from a column family and a cluster's configuration. For numbers, 0
// means HBase's default.
type Settings struct {
	Compression Compression // the zero value is not a codec: name one
	Encoding    Encoding
	Bloom       Bloom
	BloomPrefix int // row bytes that BloomRowPrefix hashes: RowPrefixBloomFilter.prefix_length
	BlockSize   int // bytes of a data block before encoding: BLOCKSIZE, default 65,536

	IndexBlockSize  int     // hfile.index.block.max.size, bytes, default 131,072
	IndexMinEntries int     // hfile.index.block.min.entries, default 16
	BloomBlockSize  int     // io.storefile.bloom.block.size, bytes, default 131,072
	BloomErrorRate  float32 // io.storefile.bloom.error.rate, default 0.01
	BloomMaxFold    int     // io.storefile.bloom.max.fold, default 7

	Checksum         Checksum // hbase.hstore.checksum.algorithm, default CRC32C
	BytesPerChecksum int      // hbase.hstore.bytes.per.checksum, default 16,384
}

// Provenance holds the properties of the file info that HBase takes from clocks and task names.
type Provenance struct {
	Created int64  // hfile.CREATE_TIME_TS, epoch ms
	Loaded  int64  // BULKLOAD_TIMESTAMP, epoch ms
	Task    string // BULKLOAD_SOURCE_TASK

	// Copied, if it is not nil, is the file info of the file whose cells are copied. Every property that does not
	// follow from the cells and the Settings is then as in Copied, even if absent there, and the fields above are
	// ignored. Keys that begin with "hfile." are HBase's own; of these, only the time of creation is taken.
	Copied FileInfo
}

// withDefaults fills in HBase's defaults and refuses settings that no file can be written with.
func (s Settings) withDefaults() (Settings, error) {
	setDefault(&s.BlockSize, 64<<10)
	setDefault(&s.IndexBlockSize, 128<<10)
	setDefault(&s.IndexMinEntries, 16)
	setDefault(&s.BloomBlockSize, 128<<10)
	setDefault(&s.BloomMaxFold, 7)
	setDefault(&s.BytesPerChecksum, 16<<10)
	if s.BloomErrorRate == 0 {
		s.BloomErrorRate = 0.01
	}
	return s, s.check()
}

// Check refuses settings that no file can be written with, as NewWriter does.
func (s Settings) Check() error {
	_, err := s.withDefaults()
	return err
}

func (s Settings) check() error {
	switch {
	case compressionNames[s.Compression] == "":
		return fmt.Errorf("settings name no known compression (%d)", s.Compression)
	case encodingNames[s.Encoding] == "":
		return fmt.Errorf("settings name no known data block encoding (%d)", s.Encoding)
	case bloomNames[s.Bloom] == "":
		return fmt.Errorf("settings name no known bloom type (%d)", s.Bloom)
	case s.Bloom == BloomRowPrefix && (s.BloomPrefix < 1 || s.BloomPrefix > maxRowLen):
		return fmt.Errorf("bloom type %s needs a prefix length of 1 to %d bytes, not %d", s.Bloom, maxRowLen, s.BloomPrefix)
	case s.BlockSize < 1 || s.BlockSize > 1<<30:
		return fmt.Errorf("block_size (BLOCKSIZE) %d is not between 1 and %d", s.BlockSize, 1<<30)
	case s.IndexBlockSize < 1 || s.IndexMinEntries < 2:
		return fmt.Errorf("an index block of %d bytes and %d entries is too small", s.IndexBlockSize, s.IndexMinEntries)
	case checksumNames[s.Checksum] == "":
		return fmt.Errorf("settings name no known checksum type (%d)", s.Checksum)
	case s.BytesPerChecksum < headerLen:
		return fmt.Errorf("bytes per checksum must be at least %d, not %d", headerLen, s.BytesPerChecksum)
	case s.BloomErrorRate < 0 || s.BloomErrorRate >= 1:
		return fmt.Errorf("bloom error rate %v is not between 0 and 1", s.BloomErrorRate)
	case s.BloomMaxFold > 20 || s.BloomBlockSize < 1 || s.BloomBlockSize > 1<<28:
		return fmt.Errorf("a bloom chunk of %d bytes and %d folds can't be made", s.BloomBlockSize, s.BloomMaxFold)
	}
	return nil
}

func setDefault(v *int, def int) {
	if *v == 0 {
		*v = def
	}
}

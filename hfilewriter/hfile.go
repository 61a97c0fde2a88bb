// Package hfilewriter writes HFiles (version 3.3) as HBase's own store file writer would, and reads them back.
package hfilewriter

import (
	"errors"
	"io"

	"bulkload/keys"
)

var errSkeleton = errors.New("not built yet")

// ErrCorrupt marks errors of a file that is not a sound HFile.
var ErrCorrupt = errors.New("corrupt HFile")

// Compression, Encoding and Bloom are named as HBase names them in a column family.
type (
	Compression uint8
	Encoding    uint8
	Bloom       uint8
)

// The supported settings.
const (
	CompressNone   Compression = 2
	CompressSnappy Compression = 3

	EncodeNone     Encoding = 0
	EncodeFastDiff Encoding = 4

	BloomNone Bloom = 0
	BloomRow  Bloom = 1
)

// ParseCompression takes HBase's name, in any case: NONE, SNAPPY.
func ParseCompression(name string) (Compression, error) { return 0, errSkeleton }

// ParseEncoding takes HBase's name, in any case: NONE, FAST_DIFF.
func ParseEncoding(name string) (Encoding, error) { return 0, errSkeleton }

// ParseBloom takes HBase's name, in any case: NONE, ROW.
func ParseBloom(name string) (Bloom, error) { return 0, errSkeleton }

func (c Compression) String() string { return "" }
func (e Encoding) String() string    { return "" }
func (b Bloom) String() string       { return "" }

// Settings are what a column family asks of its files.
type Settings struct {
	Compression Compression
	Encoding    Encoding
	Bloom       Bloom
	BlockSize   int // bytes; 0: 65,536
}

// Stamp holds the values of the file info that HBase takes from clocks and task names.
type Stamp struct {
	Created int64  // hfile.CREATE_TIME_TS, epoch ms
	Loaded  int64  // BULKLOAD_TIMESTAMP, epoch ms
	Task    string // BULKLOAD_SOURCE_TASK
}

// Writer writes one HFile.
type Writer struct{}

// NewWriter begins an HFile.
func NewWriter(w io.Writer, s Settings, stamp Stamp) (*Writer, error) { return nil, errSkeleton }

// Append adds a cell, which must not sort before the last one.
func (w *Writer) Append(c *keys.Cell) error { return errSkeleton }

// Columns is the fixed order of the columns of a family's rows, for AppendRow.
type Columns struct{}

// NewColumns takes the qualifiers in HBase's order: strictly ascending.
func NewColumns(family []byte, qualifiers [][]byte) (*Columns, error) { return nil, errSkeleton }

// AppendRow adds one row of Puts: values[i] is the value of column i, nil for no cell. It gives the same bytes as
// Append would, faster.
func (w *Writer) AppendRow(c *Columns, row []byte, timestamp int64, values [][]byte) error {
	return errSkeleton
}

// RawSize is the sum of the cells' KeyValue lengths so far, which HFileOutputFormat2 counts to roll files.
func (w *Writer) RawSize() int64 { return 0 }

// Summary says what a finished file holds.
type Summary struct {
	Cells    int64
	Bytes    int64 // the file's length
	RawSize  int64
	FirstRow []byte
	LastRow  []byte
}

// Close writes what comes after the data. It does not close the io.Writer. A file without cells is an error: HBase
// refuses to load one.
func (w *Writer) Close() (*Summary, error) { return nil, errSkeleton }

// Reader reads an HFile. It is safe for concurrent use as far as its io.ReaderAt is.
type Reader struct{}

// Open reads a file's trailer, index root and file info.
func Open(r io.ReaderAt, size int64) (*Reader, error) { return nil, errSkeleton }

// Cells is the number of cells that the trailer tells.
func (r *Reader) Cells() int64 { return 0 }

// FirstRow is the file's first row.
func (r *Reader) FirstRow() []byte { return nil }

// LastRow is the file's last row.
func (r *Reader) LastRow() []byte { return nil }

// Settings are those the file was written with (without BlockSize, which a file does not tell).
func (r *Reader) Settings() Settings { return Settings{} }

// Seek reads from the first cell whose row is not before row; nil: from the file's first cell.
func (r *Reader) Seek(row []byte) *Scanner { return nil }

// MayContainRow asks the bloom filter; true where there is none.
func (r *Reader) MayContainRow(row []byte) (bool, error) { return false, errSkeleton }

// Scanner walks over cells in order.
type Scanner struct{}

// Next goes to the next cell; false at the end of the file or at an error.
func (s *Scanner) Next() bool { return false }

// Cell is the present cell, valid until the next call of Next.
func (s *Scanner) Cell() *keys.Cell { return nil }

// Err is what ended the scan too early.
func (s *Scanner) Err() error { return errSkeleton }

// Report is what Verify found in a sound file.
type Report struct {
	Blocks int64
	Cells  int64
	Rows   int64
}

// Verify reads a whole file and checks everything that can be checked from itself: each block's header, sizes,
// previous-block chain and checksums, cell order, index entries against blocks, no row denied by the bloom filter, the
// file info and the trailer's counts. visit, which may be nil, sees each cell. The first fault is an error.
func (r *Reader) Verify(visit func(*keys.Cell) error) (*Report, error) { return nil, errSkeleton }

package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"golang.org/x/sync/semaphore"
)

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
	tailLength     = 8 // the footer's length and the magic

	// maxFooter is the length of the longest footer, which takes several times its length in memory.
	maxFooter = 256 << 20
	// maxFooterBytes is how many bytes of footers are held in memory at a time.
	maxFooterBytes = 32 << 20
	// maxElements is the largest number of columns and groups in a schema, bounded because v15 reads it by recursion.
	maxElements = 100_000
)

// footer is the part of a file's footer about the columns to read.
type footer struct {
	file    ingest.SourceFile
	columns []column
	groups  []rowGroup
	legacy  legacy
}

// rowGroup is a row group and the positions of its columns.
type rowGroup struct {
	first, rows int64 // the number of its first row in the file, from 0
	start, size int64 // of all its columns in the file
	chunks      []chunk
}

// middle decides which split owns the row group, as in Java's ParquetInputFormat.
func (g *rowGroup) middle() int64 { return g.start + g.size/2 }

// chunk is a column in a row group.
type chunk struct {
	start, end int64
	codec      compress.Compression
}

// footerLimit bounds the bytes of footers that the process holds at a time, because parsing needs several times as
// much.
type footerLimit struct {
	bytes int64
	sem   *semaphore.Weighted
}

func newFooterLimit(bytes int64) footerLimit { return footerLimit{bytes, semaphore.NewWeighted(bytes)} }

// acquire waits until a footer may be read. A footer longer than the limit is read alone. free releases the memory.
func (r footerLimit) acquire(length int64) (free func()) {
	length = min(length, r.bytes)
	_ = r.sem.Acquire(context.Background(), length) // it never fails, since nothing ends this context
	return func() { r.sem.Release(length) }
}

var footers = newFooterLimit(maxFooterBytes)

// readFooter reads a file's footer for the columns of a form. The file must have its listed length.
func (f *FlatForm) readFooter(file storage.File, listed ingest.SourceFile) (foot *footer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its footer is damaged, or has types that this program does not know (%v)", p)
		}
		if err != nil {
			err = damagedUnlessRefused("read %s: %w", listed, err)
		}
	}()
	if file.Size() != listed.Size {
		return nil, errcode.InputChanged.Errorf(
			"it had %d bytes when it was listed and has %d now; start again when it is complete",
			listed.Size, file.Size())
	}
	end, length, err := findFooter(file, listed.Path)
	if err != nil {
		return nil, err
	}
	defer footers.acquire(length)()
	meta, odd, err := readMetaAt(file, end, length)
	if err != nil {
		return nil, err
	}
	foot = &footer{file: listed, legacy: legacyOf(meta)}
	if foot.columns, err = f.find(meta.Schema); err != nil {
		return nil, err
	}
	for _, c := range foot.columns {
		if odd[c.leaf] {
			return nil, refusef(errcode.ParquetUnsupported,
				"column %s: its type has an annotation that this program does not know, or that contradicts it; "+
					"write the file again with another type, or leave the column out", c.name)
		}
	}
	if foot.groups, err = rowGroups(meta, foot.columns, end); err != nil {
		return nil, err
	}
	return foot, nil
}

// readMetaAt reads and checks a footer's metadata. odd are the columns with an unknown annotation.
func readMetaAt(file storage.File, start, length int64) (meta *metadata.FileMetaData, odd map[int]bool, err error) {
	raw := make([]byte, length)
	if err := readAt(file, raw, start); err != nil {
		return nil, nil, err
	}
	if err := checkFooter(raw); err != nil {
		return nil, nil, err
	}
	return readMeta(raw)
}

// ColumnNames are the names of a file's readable columns, in order. Lists, maps and structures are not among them.
func ColumnNames(fsys storage.FS, listed ingest.SourceFile) (names []string, err error) {
	file, err := fsys.Open(listed.Path)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = file.Close() // it was only read
		if p := recover(); p != nil {
			err = fmt.Errorf("its footer is damaged, or has types that this program does not know (%v)", p)
		}
		if err != nil {
			err = damagedUnlessRefused("read %s: %w", listed, err)
		}
	}()
	end, length, err := findFooter(file, listed.Path)
	if err != nil {
		return nil, err
	}
	defer footers.acquire(length)()
	meta, _, err := readMetaAt(file, end, length)
	if err != nil {
		return nil, err
	}
	for i := range meta.Schema.NumColumns() {
		if c := meta.Schema.Column(i); len(c.ColumnPath()) == 1 && c.MaxRepetitionLevel() == 0 {
			names = append(names, c.ColumnPath()[0])
		}
	}
	if len(names) == 0 {
		return nil, refusef(errcode.ParquetUnsupported,
			"it has no column but lists, maps and structures; export their values as columns of their own")
	}
	return names, nil
}

// findFooter finds the position of the footer.
func findFooter(file storage.File, name string) (start, length int64, err error) {
	size := file.Size()
	if size < int64(len(magic)+tailLength) {
		return 0, 0, refusef(errcode.InputFormat, "it has %d bytes and is not a Parquet file", size)
	}
	var head [len(magic)]byte
	var tail [tailLength]byte
	if err := errors.Join(readAt(file, head[:], 0), readAt(file, tail[:], size-tailLength)); err != nil {
		return 0, 0, err
	}
	if string(tail[4:]) == magicEncrypted {
		return 0, 0, refusef(errcode.ParquetUnsupported,
			"it is encrypted, which this program can't read; export it without encryption")
	}
	if codec, err := compressed.Detect(name, head[:]); err == nil && codec != compressed.None {
		return 0, 0, refusef(errcode.InputFormat,
			"it is compressed with %s as a whole; unpack it first (what is in a Parquet file is compressed anyway)", codec)
	}
	if string(tail[4:]) != magic || string(head[:]) != magic {
		return 0, 0, refusef(errcode.InputFormat,
			"it is not a complete Parquet file: it begins with %q and ends with %q, not %q", head, tail[4:], magic)
	}
	length = int64(binary.LittleEndian.Uint32(tail[:]))
	start = size - tailLength - length
	if start < int64(len(magic)) || length > maxFooter {
		return 0, 0, fmt.Errorf("it is damaged: its footer claims %d bytes, the file has %d", length, size)
	}
	return start, length, nil
}

// checkFooter checks the footer (FileMetaData of parquet.thrift) before v15 reads it, because v15 allocates as many
// elements as a list claims to have.
func checkFooter(raw []byte) error {
	c := compact{bytes: raw}
	err := c.fields(func(id int16, kind byte) error {
		if id != 2 {
			return c.skip(kind)
		}
		ahead := compact{bytes: raw[c.at:]}
		if n, _, err := ahead.list(); err != nil || n > maxElements {
			return fmt.Errorf("a schema of %d elements: %w", n, errThrift)
		}
		return c.skip(kind)
	})
	if err != nil {
		return fmt.Errorf("its footer is damaged: %w", err)
	}
	return nil
}

// rowGroups collects the positions of each row group's columns, and refuses those that can't be read or can't be true.
// All pages must end before end.
func rowGroups(meta *metadata.FileMetaData, columns []column, end int64) ([]rowGroup, error) {
	groups := make([]rowGroup, len(meta.RowGroups))
	rows := int64(0)
	for i, raw := range meta.RowGroups {
		if raw.NumRows < 0 || raw.NumRows > math.MaxInt64-rows || len(raw.Columns) != meta.Schema.NumColumns() {
			return nil, fmt.Errorf("its footer is damaged: row group %d has %d rows in %d columns",
				i, raw.NumRows, len(raw.Columns))
		}
		g := &groups[i]
		g.first, g.rows = rows, raw.NumRows
		g.start, g.size = extent(meta, i, end)
		g.chunks = make([]chunk, len(columns))
		for j := range columns {
			var err error
			if g.chunks[j], err = columns[j].chunk(meta, i, end); err != nil {
				return nil, fmt.Errorf("row group %d, column %s: %w", i, columns[j].name, err)
			}
		}
		rows += raw.NumRows
	}
	if rows != meta.NumRows {
		return nil, fmt.Errorf("its footer is damaged: it says %d rows, its row groups have %d", meta.NumRows, rows)
	}
	return groups, nil
}

// extent is the range of the columns of a row group, including those that are not read.
func extent(meta *metadata.FileMetaData, group int, end int64) (start, size int64) {
	start = end
	for _, c := range meta.RowGroups[group].Columns {
		if c.MetaData == nil {
			continue
		}
		at := c.MetaData.DataPageOffset
		if d := c.MetaData.DictionaryPageOffset; d != nil && *d > 0 {
			at = min(at, *d)
		}
		start = min(start, max(at, 0))
		size += min(max(c.MetaData.TotalCompressedSize, 0), end)
		size = min(size, end)
	}
	return start, min(size, end-start)
}

// chunk finds the column in a row group.
func (c *column) chunk(meta *metadata.FileMetaData, group int, end int64) (chunk, error) {
	g := meta.RowGroups[group]
	raw := g.Columns[c.leaf]
	switch {
	case raw.IsSetCryptoMetadata():
		return chunk{}, refusef(errcode.ParquetUnsupported,
			"is encrypted, which this program can't read; export it without encryption")
	case raw.FilePath != nil && *raw.FilePath != "":
		return chunk{}, refusef(errcode.ParquetUnsupported, "is in another file, %q", *raw.FilePath)
	case raw.MetaData == nil:
		return chunk{}, errors.New("the footer has no metadata of it")
	}
	m := raw.MetaData
	codec := compress.Compression(m.Codec)
	if !codecReadable(codec) {
		return chunk{}, refusef(errcode.ParquetUnsupported,
			"codec %s can't be read; write the file with snappy, gzip, zstd, brotli or none", codecName(codec))
	}
	for _, e := range m.Encodings {
		if err := c.checkEncoding(int32(e)); err != nil {
			return chunk{}, err
		}
	}
	if int32(m.Type) != int32(c.descr.PhysicalType()) || m.NumValues != g.NumRows {
		return chunk{}, fmt.Errorf("the footer is damaged: it has %d values of %s, the row group %d rows",
			m.NumValues, m.Type, g.NumRows)
	}
	if g.NumRows == 0 {
		return chunk{}, nil // without pages, so it has no position
	}
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d != nil && *d > 0 && *d < start {
		start = *d
	}
	size := m.TotalCompressedSize
	if start < int64(len(magic)) || size < 0 || start > end || size > end-start {
		return chunk{}, fmt.Errorf("the footer is damaged: its pages are to be %d bytes from byte %d on, the footer "+
			"begins at %d", size, start, end)
	}
	if meta.WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		size = min(size+100, end-start) // PARQUET-816: such writers did not count the dictionary's header
	}
	return chunk{start: start, end: start + size, codec: codec}, nil
}

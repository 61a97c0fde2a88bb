// Package ingest turns exports into records: files are found, cut into splits, and read as records whose columns are
// views of the read buffer. It knows nothing of HBase.
package ingest

import (
	"errors"
	"time"

	"bulkload/internal/storage"
)

var errSkeleton = errors.New("not built yet")

// File is one input file. Its Ordinal is its place in the sorted list of the job's input, which decides which of two
// differing records for one row wins.
type File struct {
	Path    string // as the storage takes it
	Size    int64
	ModTime time.Time
	Ordinal int
}

// List finds the input files of a path: a file, a directory (all files directly in it and below, save names that begin
// with _ or .) or a glob. They come sorted by path. A path that names nothing is fs.ErrNotExist.
func List(fsys storage.FS, path string) ([]File, error) { return nil, errSkeleton }

// Delimited is the form of a delimited export, such as Sqoop's text: fields and records end at delimiters of one or
// more bytes, without quotes or escapes, so that values may hold newlines but no delimiter.
type Delimited struct {
	Columns         []string
	FieldDelimiter  []byte
	RecordDelimiter []byte
	Null            []byte // the text of a null; nil: there is none
}

// Split is a part of a file: the records that begin in [Start, End).
type Split struct {
	File       File
	Start, End int64
}

// Splits cuts files into parts of about size bytes that can be read side by side and together hold each record once.
func (d *Delimited) Splits(files []File, size int64) []Split { return nil }

// Open begins to read a split.
func (d *Delimited) Open(fsys storage.FS, split Split) (*Reader, error) { return nil, errSkeleton }

// Reader reads the records of one split. It is not safe for concurrent use.
type Reader struct{}

// Next is the next record, valid until the next call; io.EOF behind the last one; a *BadRecord for one that can't be
// used, after which reading can go on; any other error ends the reading.
func (r *Reader) Next() (*Record, error) { return nil, errSkeleton }

// Bytes is how many bytes of the split have been consumed.
func (r *Reader) Bytes() int64 { return 0 }

// Close gives the file back.
func (r *Reader) Close() error { return nil }

// Position is where a record stands.
type Position struct {
	File   File
	Offset int64 // of the record's first byte in the file
	Number int64 // 1 is the file's first record; 0 where a reader in the middle of a file can't know it, see CountRecords
}

// Record is one input record. Its bytes are valid until the reader's next call.
type Record struct {
	Fields [][]byte // a column each, in the order of the file; nil is a null, an empty non-nil slice is an empty value
	Raw    []byte   // the record as it stands in the file, without its delimiter
	Position
}

// BadRecord is a record that can't be used. Raw is a view of the reader's buffer, valid until its next call.
type BadRecord struct {
	Position
	Column string // the column at fault; "" where it is the record
	Reason string // e.g. "19 columns, want 18"
	Raw    []byte
}

func (b *BadRecord) Error() string { return b.Reason }

// Limit is how many rejects a run bears: max_rejects of the job file, a count such as 0 or a percentage such as 0.1%.
type Limit struct {
	Count   int64   // checked at once; used where Percent is 0
	Percent float64 // of the records read, checked at the end of reading
}

// LimitError says that there were more rejects than the limit.
type LimitError struct {
	Limit   Limit
	Rejects int64
	Read    int64     // 0 where reading did not end
	First   BadRecord // the first reject by file and offset among those seen, Raw cut to 200 bytes and copied
}

func (e *LimitError) Error() string { return "too many rejects" }

// Rejects keeps the bad records of a run: their raw bytes, each followed by the record delimiter, in rejects.dat, which
// can be read as input again, and one JSON object a reject in rejects.jsonl (file, offset, record, column, reason).
// Both are made with the first reject, mode 0600, and hold the rejects in order of file and offset.
type Rejects struct{}

// NewRejects keeps rejects in dir, which is made with the first one.
func NewRejects(fsys storage.FS, dir string, limit Limit, recordDelimiter []byte) *Rejects {
	return nil
}

// Add keeps a bad record; a *LimitError where a count is exceeded. It is safe for concurrent use.
func (r *Rejects) Add(b *BadRecord) error { return errSkeleton }

// Count is the number of rejects so far.
func (r *Rejects) Count() int64 { return 0 }

// Close finishes the files, with record numbers filled in, and applies a percentage to the records read. It keeps what
// there is when the run failed, too.
func (r *Rejects) Close(read int64) error { return errSkeleton }

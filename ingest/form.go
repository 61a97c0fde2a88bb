package ingest

import (
	"bulkload/ingest/compressed"
	"bulkload/internal/storage"
)

// Format is how the files of an input are written: delimited text, CSV, Parquet. It has all of the job file's settings
// for them, is immutable, and safe for concurrent use.
type Format interface {
	// Check says why the form is unusable, as far as that can be known without a file.
	Check() error
	// Splits cuts files into parts of about size bytes, in the order of the files, that can be read in parallel and
	// together hold each record once. It may open the files. A size of 0 or less cuts nothing.
	Splits(fsys storage.FS, files []SourceFile, size int64) ([]Split, error)
	// Open opens a split. The file must be as long as when it was listed.
	Open(fsys storage.FS, split Split) (Records, error)
	// Identity is all settings of the form as text, which becomes part of a run's identity. The same settings must give
	// the same text forever: otherwise earlier output would no longer be recognised as this run's. So it depends
	// neither on the name of the Go type nor on those of its fields, and a new setting adds nothing unless it is set.
	Identity() (string, error)
	// Codec is the compression of all files, as far as the form says: Auto if each file decides.
	Codec() compressed.Codec
	// RowOffsets reports whether a record's offset is its row's number from 0, rather than a byte offset.
	RowOffsets() bool
	// Warnings says, in a sentence each, where the files look different from the form's settings. No warning ends a
	// run. Files that can't be read are left out, because reading them will report it.
	Warnings(fsys storage.FS, files []SourceFile) []string
	// RejectDelimiter follows each rejected record in the file of rejects.
	RejectDelimiter() []byte
}

// Records are the records of one split. They are not safe for concurrent use.
type Records interface {
	// Next returns the next record, valid until the next call, or io.EOF after the last one. A *BadRecord is one that
	// can't be used, after which reading can continue; any other error ends the reading.
	Next() (*Record, error)
	// Bytes is how many bytes of the split, as stored in the file, were consumed.
	Bytes() int64
	// Close closes the file.
	Close() error
}

// Skipper is implemented by Records that skip lines which are not records, such as repeated headings.
type Skipper interface {
	// Skipped is how many lines were skipped so far, without empty ones.
	Skipped() int64
}

// Split is a part of a file: the records that begin in [Start, End).
type Split struct {
	File       SourceFile
	Start, End int64
}

package ingest

import (
	"bulkload/ingest/compressed"
	"bulkload/internal/storage"
)

// Form is how the files of an input are written: delimited text, CSV, Parquet. It holds all that the job file says of it,
// is immutable, and safe for concurrent use.
type Form interface {
	// Check says what makes the form unusable, as far as it shows without a file.
	Check() error
	// Splits cuts files into parts of about size bytes, in the order of the files, that can be read side by side and
	// together hold each record once. It may look into the files. A size of 0 or less cuts nothing.
	Splits(fsys storage.FS, files []File, size int64) ([]Split, error)
	// Open begins to read a split. The file must be as long as when it was listed.
	Open(fsys storage.FS, split Split) (Records, error)
	// Identity is all that the form says, as text: a part of what a run's identity is made of. That of a form stays the same
	// for ever, or no output that was written before would be known as this run's. So it depends neither on the name of
	// the Go type nor on those of its fields, and a new setting adds nothing to it where it is not set.
	Identity() (string, error)
	// Codec is what all files are compressed with, as far as the form says: Auto where each file tells.
	Codec() compressed.Codec
	// RowOffsets tells whether a record's offset is its row's number from 0, and not a byte's.
	RowOffsets() bool
	// Warnings are what the files look like, a sentence each, where that is hardly what the form says: nothing that ends a
	// run. Of files that can't be read it says nothing, since reading them will.
	Warnings(fsys storage.FS, files []File) []string
	// RejectDelimiter stands behind each rejected record in the file of the rejects.
	RejectDelimiter() []byte
}

// Records are the records of one split. They are not safe for concurrent use.
type Records interface {
	// Next is the next record, valid until the next call; io.EOF behind the last one; a *BadRecord for one that can't be
	// used, after which reading can go on; any other error ends the reading.
	Next() (*Record, error)
	// Bytes is how many bytes of the split, as it lies in the file, have been consumed.
	Bytes() int64
	// Close gives the file back.
	Close() error
}

// Split is a part of a file: the records that begin in [Start, End).
type Split struct {
	File       File
	Start, End int64
}

package ingest

import (
	"fmt"

	"bulkload/internal/storage"
	"bulkload/values"
)

// Position is where a record stands.
type Position struct {
	File   File
	Offset int64 // of the record's first byte in the file
	Number int64 // 1 is the file's first record; 0 where a reader in the middle of a file can't know it; Rejects finds it out
	Rows   bool  // Offset is not a byte's but the row's number from 0, as in Parquet

	// Heading is the line with the columns' names that the file begins with, as it stands there, without a mark before it or
	// a line break behind it; "" where the files have none. All files of an input have the same.
	Heading string

	fsys storage.FS // that holds File; nil in a position no reader made
}

// Location is the file and the byte, or the row from 1 on.
func (p Position) Location() string {
	if p.Rows {
		return fmt.Sprintf("%s, row %d", p.File.Path, p.Offset+1)
	}
	return fmt.Sprintf("%s, byte %d", p.File.Path, p.Offset)
}

// PositionIn is the position of a record as a reader of that file gives it.
func PositionIn(fsys storage.FS, file File, offset, number int64) Position {
	return Position{File: file, Offset: offset, Number: number, fsys: fsys}
}

// Record is one input record. Its bytes are valid until the reader's next call.
type Record struct {
	Fields []values.Value // a column each, in the order of the file
	Raw    []byte         // the record as it is in the file, without its delimiter
	Position
}

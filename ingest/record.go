package ingest

import (
	"fmt"

	"bulkload/internal/poison"
	"bulkload/internal/storage"
	"bulkload/values"
)

// Position is where a record is.
type Position struct {
	File   SourceFile
	Offset int64 // of the record's first byte in the file
	Number int64 // from 1; 0 if a reader in the middle of a file can't know it and Rejects determines it
	Rows   bool  // Offset is the row's number from 0, as in Parquet, rather than a byte offset

	// Heading is the line with the columns' names at the start of the file, without a byte order mark or line break;
	// "" if the files have none. All files of an input have the same.
	Heading string

	fsys storage.FS // the storage of File; nil in a position that no reader made
}

// Location is the file and the byte, or the row from 1.
func (p Position) Location() string {
	if p.Rows {
		return fmt.Sprintf("%s, row %d", p.File, p.Offset+1)
	}
	return fmt.Sprintf("%s, byte %d", p.File, p.Offset)
}

// PositionIn is the position of a record for a reader of that file.
func PositionIn(fsys storage.FS, file SourceFile, offset, number int64) Position {
	return Position{File: file, Offset: offset, Number: number, fsys: fsys}
}

// Record is one input record. Its bytes are valid until the reader's next call.
type Record struct {
	Fields []values.Value // one for each column, in the order of the file
	Raw    []byte         // the record as stored in the file, without its delimiter
	Position
}

// End ends the lifetime of a record, and of its reader's buffers in which fields are: with the build tag poison it
// overwrites them. The buffers become nil then, because the next record would overwrite the poison. Raw does, too,
// because its place in a window may get other bytes.
func (r *Record) End(buffers ...*[]byte) {
	if !poison.Enabled {
		return
	}
	poison.Bytes(r.Raw)
	for _, b := range buffers {
		poison.Bytes(*b)
		*b = nil
	}
	clear(r.Fields)
	r.Raw = nil
}

package partition

import "math"

// EntryOrigin orders entries of one key, and says where a record came from.
type EntryOrigin struct {
	File   uint32 // ordinal of the input file
	Offset int64  // of the record in it
}

// Entry is one record in the sort: its row key, its origin, and its columns packed by the caller.
type Entry struct {
	Key []byte
	EntryOrigin
	Payload []byte
}

// MaxKey is the length of the longest key, in bytes.
const MaxKey = math.MaxUint16

const maxEntry = 1 << 30 // bytes of a key and its payload

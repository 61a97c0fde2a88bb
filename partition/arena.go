package partition

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"sort"

	"bulkload/internal/poison"
)

// headerLen is the size of an entry's header in an arena: 4 bytes file, 8 offset, 2 key length, 4 payload length.
const headerLen = 4 + 8 + 2 + 4

// indexLen is the size of an indexEntry in bytes.
const indexLen = 16

// indexEntry represents an entry while it is sorted. It has no pointer for the garbage collector to follow.
type indexEntry struct {
	prefix uint64 // first 8 bytes of the key, big-endian, zeros after its end
	at     uint64 // chunk in the upper half, offset in it in the lower
}

// arena holds entries in chunks of plain bytes.
type arena struct {
	chunks     [][]byte // the last is being filled; len is the used part
	free       [][]byte // emptied chunks of the regular size
	index      []indexEntry
	chunkSize  int
	bytes      int64 // of all chunks, free ones too, and of the index
	limit      int64
	data       int64 // of keys and payloads
	sorted     int   // length of the index when it was sorted last
	prefetched prefetched
}

// tail is the unused end of the last chunk.
func (a *arena) tail() []byte {
	if len(a.chunks) == 0 {
		return nil
	}
	last := a.chunks[len(a.chunks)-1]
	return last[len(last):cap(last)]
}

// addChunk adds a chunk of at least size bytes.
func (a *arena) addChunk(size int) {
	if n := len(a.free); n > 0 && size <= a.chunkSize {
		a.chunks = append(a.chunks, a.free[n-1][:0])
		a.free = a.free[:n-1]
		return
	}
	size = max(size, a.chunkSize)
	for len(a.free) > 0 && a.bytes+int64(size) > a.limit {
		a.free = a.free[:len(a.free)-1]
		a.bytes -= int64(a.chunkSize)
	}
	a.chunks = append(a.chunks, make([]byte, 0, size))
	a.bytes += int64(size)
}

// fits reports whether a chunk of size bytes is within the limit.
func (a *arena) fits(size int) bool {
	if size <= a.chunkSize && len(a.free) > 0 {
		return true
	}
	return a.bytes-int64(len(a.free)*a.chunkSize)+int64(max(size, a.chunkSize)) <= a.limit
}

// growIndex makes space for one more index entry; false if the limit forbids it, unless it is forced.
func (a *arena) growIndex(forced bool) bool {
	if len(a.index) < cap(a.index) {
		return true
	}
	grown := cap(a.index)*3/2 + 256
	if !forced && len(a.index) > 0 && a.bytes+int64(grown)*indexLen > a.limit {
		return false
	}
	index := make([]indexEntry, len(a.index), grown)
	a.bytes += int64(cap(index)-cap(a.index)) * indexLen
	copy(index, a.index)
	a.index = index
	return true
}

// add adds the entry whose key and payload are in the tail, after headerLen bytes.
func (a *arena) add(keyLen, payloadLen int, pos EntryOrigin) {
	last := len(a.chunks) - 1
	chunk := a.chunks[last]
	at := len(chunk)
	chunk = chunk[:at+headerLen+keyLen+payloadLen]
	a.chunks[last] = chunk
	header := chunk[at:]
	binary.LittleEndian.PutUint32(header, pos.File)
	binary.LittleEndian.PutUint64(header[4:], uint64(pos.Offset))
	binary.LittleEndian.PutUint16(header[12:], uint16(keyLen))
	binary.LittleEndian.PutUint32(header[14:], uint32(payloadLen))
	a.index = append(a.index, indexEntry{prefixOf(header[headerLen : headerLen+keyLen]), uint64(last)<<32 | uint64(at)})
	a.data += int64(keyLen + payloadLen)
}

// prefixOf is the first 8 bytes of key as a number that sorts like them. A shorter key is padded with zeros.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (a *arena) bytesAt(at uint64) []byte { return a.chunks[at>>32][at&0xFFFFFFFF:] }

func (a *arena) key(at uint64) []byte {
	b := a.bytesAt(at)
	return b[headerLen : headerLen+int(binary.LittleEndian.Uint16(b[12:]))]
}

// cacheLine is the size of a cache line, or a divisor of it, on most machines.
const cacheLine = 64

// prefetched keeps the compiler from dropping prefetch's loads. Each goroutine that prefetches has its own.
type prefetched byte

// prefetch reads the first cache lines of entries, so that they are in the cache when they are used. Sorted entries are
// scattered over the arena, so each one would be waited for in turn; these loads do not wait for each other.
func (a *arena) prefetch(ix []indexEntry, lines int, to *prefetched) {
	var all byte
	for _, e := range ix {
		chunk, at := a.chunks[e.at>>32], int(e.at&0xFFFFFFFF)
		for range lines {
			all |= chunk[min(at, len(chunk)-1)]
			at += cacheLine
		}
	}
	*to = prefetched(all)
}

// read sets e to views of the entry.
func (a *arena) read(e *Entry, at uint64) {
	b := a.bytesAt(at)
	end := headerLen + int(binary.LittleEndian.Uint16(b[12:]))
	e.File = binary.LittleEndian.Uint32(b)
	e.Offset = int64(binary.LittleEndian.Uint64(b[4:]))
	e.Key = b[headerLen:end:end]
	last := end + int(binary.LittleEndian.Uint32(b[14:]))
	e.Payload = b[end:last:last]
}

// compare orders two entries whose keys share the first depth bytes.
func (a *arena) compare(x, y uint64, depth int) int {
	if c := bytes.Compare(a.key(x)[depth:], a.key(y)[depth:]); c != 0 {
		return c
	}
	var e, f Entry
	a.read(&e, x)
	a.read(&f, y)
	return compareAfterKey(&e, &f)
}

// search is how many of the sorted entries, counted from the given one, are before row.
func (a *arena) search(from int, row []byte) int {
	rest := a.index[from:]
	return sort.Search(len(rest), func(i int) bool { return bytes.Compare(a.key(rest[i].at), row) >= 0 })
}

// compareEntries orders entries by key, then as compareAfterKey does.
func compareEntries(e, f *Entry) int {
	if c := bytes.Compare(e.Key, f.Key); c != 0 {
		return c
	}
	return compareAfterKey(e, f)
}

// compareAfterKey orders entries of one key by position, and then by payload, so that the result never depends on
// chance. The order decides which of two records of a row wins, so it must be the same for every memory size, for any
// number of shards, and after every resume.
func compareAfterKey(e, f *Entry) int {
	if c := cmp.Compare(e.File, f.File); c != 0 {
		return c
	}
	if c := cmp.Compare(e.Offset, f.Offset); c != 0 {
		return c
	}
	return bytes.Compare(e.Payload, f.Payload)
}

// reset empties the arena and keeps its memory for the next entries.
func (a *arena) reset() {
	for _, c := range a.chunks {
		poison.Bytes(c)
		if cap(c) == a.chunkSize {
			a.free = append(a.free, c[:0])
		} else {
			a.bytes -= int64(cap(c))
		}
	}
	clear(a.chunks)
	a.chunks, a.index, a.data, a.sorted = a.chunks[:0], a.index[:0], 0, 0
}

// release frees the memory that holds no entry.
func (a *arena) release() {
	a.bytes -= int64(len(a.free) * a.chunkSize)
	a.free = nil
}

package partition

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// An arena holds a lane's entries as plain bytes, in chunks, and an index without pointers for the collector to walk. An
// entry in a chunk:
//
//	4 bytes key length, 4 bytes payload length, 4 bytes file, 8 bytes offset, key, payload
const (
	entryHeaderLen = 4 + 4 + 4 + 8
	refLen         = 16 // bytes of a ref; sorting takes as much again
)

// ref points at an entry; entries sort by prefix first.
type ref struct {
	prefix uint64 // the key's first 8 bytes, big-endian, zeros behind a shorter key
	at     uint64 // chunk number << 32 | offset in the chunk
}

type arena struct {
	chunkLen int
	chunks   [][]byte
	current  int   // chunk being filled
	used     int   // bytes of it
	passed   int64 // bytes of the chunks before it
	refs     []ref
	spare    []ref // for sorting
	bytes    int64 // of keys and payloads
}

// size is the memory taken, as counted against the budget.
func (a *arena) size() int64 {
	return a.passed + int64(a.used) + 2*refLen*int64(len(a.refs))
}

// buffer is where the next entry's key may be appended.
func (a *arena) buffer() []byte {
	if len(a.chunks) == 0 {
		a.chunks = append(a.chunks, make([]byte, a.chunkLen))
	}
	if len(a.chunks[a.current])-a.used <= entryHeaderLen {
		a.nextChunk(a.chunkLen)
	}
	at := a.used + entryHeaderLen
	return a.chunks[a.current][at:at]
}

// nextChunk goes on in a chunk of at least n bytes.
func (a *arena) nextChunk(n int) {
	a.passed += int64(len(a.chunks[a.current]))
	a.current++
	a.used = 0
	if a.current == len(a.chunks) {
		a.chunks = append(a.chunks, make([]byte, max(n, a.chunkLen)))
	} else if len(a.chunks[a.current]) < n {
		a.chunks[a.current] = make([]byte, n)
	}
}

// commit takes the entry that was appended to what buffer gave.
func (a *arena) commit(entry []byte, keyLen int, pos Position) {
	if b := a.buffer(); cap(b) < len(entry) || len(entry) > 0 && &b[:1][0] != &entry[0] {
		a.nextChunk(entryHeaderLen + len(entry))
		copy(a.chunks[a.current][entryHeaderLen:], entry)
	}
	b := a.chunks[a.current][a.used:]
	binary.LittleEndian.PutUint32(b, uint32(keyLen))
	binary.LittleEndian.PutUint32(b[4:], uint32(len(entry)-keyLen))
	binary.LittleEndian.PutUint32(b[8:], pos.File)
	binary.LittleEndian.PutUint64(b[12:], uint64(pos.Offset))
	a.refs = append(a.refs, ref{prefix: prefixOf(entry[:keyLen]), at: uint64(a.current)<<32 | uint64(a.used)})
	a.used += entryHeaderLen + len(entry)
	a.bytes += int64(len(entry))
}

// prefixOf is a key's first eight bytes as a number.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// entry gives the entry of a ref, as views of the arena.
func (a *arena) entry(r ref, e *Entry) {
	b := a.chunks[r.at>>32][uint32(r.at):]
	keyLen, payloadLen := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	e.File, e.Offset = binary.LittleEndian.Uint32(b[8:]), int64(binary.LittleEndian.Uint64(b[12:]))
	b = b[entryHeaderLen:]
	e.Key, e.Payload = b[:keyLen:keyLen], b[keyLen:keyLen+payloadLen:keyLen+payloadLen]
}

func (a *arena) key(r ref) []byte {
	b := a.chunks[r.at>>32][uint32(r.at):]
	return b[entryHeaderLen : entryHeaderLen+binary.LittleEndian.Uint32(b)]
}

func (a *arena) position(r ref) Position {
	b := a.chunks[r.at>>32][uint32(r.at):]
	return Position{binary.LittleEndian.Uint32(b[8:]), int64(binary.LittleEndian.Uint64(b[12:]))}
}

// sort orders the refs by key, then by position.
func (a *arena) sort() {
	a.spare = radixSort(a.refs, a.spare)
	for from := 0; from < len(a.refs); {
		to := from + 1
		for to < len(a.refs) && a.refs[to].prefix == a.refs[from].prefix {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(a.refs[from:to], a.compare)
		}
		from = to
	}
}

// compare orders entries whose prefixes are the same. A key of fewer than eight bytes may share its prefix with one that
// goes on in zeros, so whole keys are compared.
func (a *arena) compare(x, y ref) int {
	if c := bytes.Compare(a.key(x), a.key(y)); c != 0 {
		return c
	}
	return a.position(x).compare(a.position(y))
}

func (p Position) compare(q Position) int {
	if c := cmp.Compare(p.File, q.File); c != 0 {
		return c
	}
	return cmp.Compare(p.Offset, q.Offset)
}

// cut is where each region begins in the sorted refs, and behind the last one their number.
func (a *arena) cut(regions *Regions) []int {
	starts := make([]int, regions.Len()+1)
	for i := 1; i < regions.Len(); i++ {
		at, _ := slices.BinarySearchFunc(a.refs, regions.Start(i), func(r ref, start []byte) int { return bytes.Compare(a.key(r), start) })
		starts[i] = at
	}
	starts[regions.Len()] = len(a.refs)
	return starts
}

// reset empties the arena and keeps its memory; chunks made larger for one entry are given up.
func (a *arena) reset() {
	for i, c := range a.chunks {
		if len(c) > a.chunkLen {
			a.chunks[i] = make([]byte, a.chunkLen)
		}
	}
	a.current, a.used, a.passed, a.refs, a.bytes = 0, 0, 0, a.refs[:0], 0
}

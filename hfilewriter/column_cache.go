package hfilewriter

import (
	"bytes"
	"encoding/binary"

	"bulkload/cell"
)

// columnCache is a FAST_DIFF decoder's memory of a table's columns. Most rows of a table have the same columns in the
// same order, so the bytes between two values are mostly those of the row before. If they are equal, they need not be
// parsed again, and the checks of the key that they encode still hold.
//
// Only cells are cached that are Puts with the timestamp and type of the cell before them, in the same row. This makes
// the shortcut safe, because such a cell's key follows from the bytes compared, the row, and the timestamp, all of
// which are part of the comparison. Whatever doesn't match byte for byte is decoded in full.
type columnCache struct {
	columns []cachedColumn
	byName  map[string]int
	full    bool // the table has more columns than the cache holds
}

// cachedColumn is a qualifier, which never changes, and the last two transitions that were seen from it.
type cachedColumn struct {
	qualifier   []byte
	transitions [2]transition
}

// transition leads from one column to the next. As long as rows have the same length and timestamp, its bytes are the
// same.
type transition struct {
	to     int  // index of the column
	flag   byte // without the bits that describe the value
	shared int  // leading bytes of the qualifier that are equal

	qualifierAt   int    // in the keys that the bytes were made for; 0: no transition yet
	timestampByte byte   // last byte of the timestamp, likewise
	keyLen        int    // of those keys
	length        []byte // the key's length, if it differs from the last key's
	rest          []byte // common, rest of the qualifier, last byte of the timestamp

	// The same bytes as little-endian words, to be compared at once: flag and length, and the first 16 bytes of rest.
	head, headMask uint64
	words, masks   [2]uint64
}

// encodeFor makes the bytes for keys of another length or timestamp.
func (s *transition) encodeFor(qualifier []byte, qualifierAt int, stamp byte) {
	s.qualifierAt, s.timestampByte = qualifierAt, stamp
	s.keyLen = qualifierAt + len(qualifier) + timestampLen + typeLen
	s.length = s.length[:0]
	if s.flag&fastDiffSameKeyLen == 0 {
		s.length = appendCompressedInt(s.length, s.keyLen)
	}
	s.rest = append(appendCompressedInt(s.rest[:0], qualifierAt+s.shared), qualifier[s.shared:]...)
	s.rest = append(s.rest, stamp)
	s.head, s.headMask = maskedWord(append([]byte{s.flag}, s.length...))
	s.headMask &^= valueFlags
	for i := range s.words {
		s.words[i], s.masks[i] = maskedWord(s.rest[min(8*i, len(s.rest)):])
	}
}

// maskedWord returns the first eight bytes as a little-endian word, and a mask of those that exist.
func maskedWord(b []byte) (word, mask uint64) {
	for i, c := range b[:min(len(b), 8)] {
		word |= uint64(c) << (8 * i)
		mask |= 0xff << (8 * i)
	}
	return word, mask
}

// maxCachedColumns bounds the cache: a wide table may have any number of qualifiers.
const maxCachedColumns = 1024

// valueFlags describe the value, not the key.
const valueFlags = fastDiffSameValueLen | fastDiffSameValue

// column returns the index of a qualifier's column, which it adds if it is new; -1 if the cache is full.
func (l *columnCache) column(qualifier []byte, guess int) int {
	if guess < len(l.columns) && bytes.Equal(l.columns[guess].qualifier, qualifier) {
		return guess
	}
	if i, ok := l.byName[string(qualifier)]; ok {
		return i
	}
	if len(l.columns) == maxCachedColumns {
		l.full = true // the columns stay: their numbers are known to callers
		return -1
	}
	if l.byName == nil {
		l.byName = map[string]int{}
	}
	i := len(l.columns)
	l.columns = append(l.columns, cachedColumn{qualifier: bytes.Clone(qualifier)})
	l.byName[string(qualifier)] = i
	return i
}

// currentColumn is the last cell's column; -1 if it has none.
func (d *blockDecoder) currentColumn() int {
	if d.encoding != EncodeFastDiff {
		return -1
	}
	return d.column
}

// cacheRowStart handles the first cell of a row, which was decoded in full.
func (d *blockDecoder) cacheRowStart() {
	d.column = -1
	if d.kind == byte(cell.Put) && !d.tags && !d.cache.full {
		d.column = d.cache.column(d.cell.Qualifier, d.firstColumn)
		d.firstColumn = max(d.column, 0)
	}
}

// cacheTransition records how a cell of the same row, which was decoded in full, followed the one before. flag and
// rest are its flag and the rest of its qualifier, before the timestamp of the cell before it.
func (d *blockDecoder) cacheTransition(flag byte, rest []byte, before uint64) {
	from := d.column
	d.column = -1
	if from < 0 || flag&fastDiffTimestamp != fastDiffTimestamp || d.timestamp != before || flag&fastDiffSameType == 0 {
		return
	}
	to := d.cache.column(d.cell.Qualifier, from+1)
	if to < 0 {
		return
	}
	d.column = to
	transitions := &d.cache.columns[from].transitions
	transitions[0], transitions[1] = transitions[1], transitions[0]
	transitions[0].to, transitions[0].flag, transitions[0].shared = to, flag&^valueFlags, len(d.cell.Qualifier)-len(rest)
	transitions[0].encodeFor(d.cell.Qualifier, d.qualifierAt, byte(d.timestamp))
}

// nextCached decodes a cell that a known transition from the last cell's column leads to; false if there is none.
func (d *blockDecoder) nextCached() bool {
	if d.column < 0 {
		return false
	}
	transitions := &d.cache.columns[d.column].transitions
	return d.follow(&transitions[0]) || d.follow(&transitions[1])
}

func (d *blockDecoder) follow(s *transition) bool {
	b := d.in.b[d.in.at:]
	if s.qualifierAt == 0 || len(b) == 0 || b[0]&^valueFlags != s.flag {
		return false
	}
	qualifier := d.cache.columns[s.to].qualifier
	if s.qualifierAt != d.qualifierAt || s.timestampByte != byte(d.timestamp) {
		s.encodeFor(qualifier, d.qualifierAt, byte(d.timestamp))
	}
	flag, at := b[0], 1
	if len(s.length) > 0 {
		if !bytes.HasPrefix(b[at:], s.length) {
			return false
		}
		at += len(s.length)
	}
	value, valueLen := d.value, len(d.value)
	if flag&fastDiffSameValueLen == 0 {
		if at+1 >= len(b) {
			return false
		}
		valueLen = int(b[at])
		at++
		if valueLen >= 0x80 {
			valueLen = valueLen&0x7f | int(b[at])<<7
			if b[at] >= 0x80 { // values of 16 KiB and more are decoded in full
				return false
			}
			at++
		}
	}
	if !bytes.HasPrefix(b[at:], s.rest) {
		return false
	}
	at += len(s.rest)
	end := at + valueLen
	if flag&fastDiffSameValue != 0 {
		end = at
		if valueLen != len(value) {
			return false
		}
	}
	if end >= len(b) {
		return false
	}
	if end > at {
		value = b[at:end:end]
	} else if flag&fastDiffSameValue == 0 {
		value = b[at:at:at]
	}
	if d.mvcc {
		if b[end] != 0 {
			return false
		}
		end++
	}
	d.in.at += end
	d.value, d.column, d.keyStale = value, s.to, true
	d.cell.Qualifier, d.cell.Value = qualifier, value
	return true
}

// cachedRun holds consecutive cells of one row, each reached by a known transition from the one before.
type cachedRun struct {
	n                    int
	columns              [maxCachedRun]int32
	values               [maxCachedRun][]byte // views of the block
	keyBytes, valueBytes int64
	largest              int64 // length of the longest key and value together
}

// maxCachedRun bounds the cells decoded at a time.
const maxCachedRun = 256

func (k *cachedRun) clear() { k.n, k.keyBytes, k.valueBytes, k.largest = 0, 0, 0, 0 }

func (k *cachedRun) add(column, keyLen int, value []byte) {
	k.columns[k.n], k.values[k.n] = int32(column), value
	k.n++
	k.keyBytes += int64(keyLen)
	k.valueBytes += int64(len(value))
	k.largest = max(k.largest, int64(keyLen+len(value)))
}

// decodeCached appends the following cells as long as known transitions lead to them and there is space in k.
func (d *blockDecoder) decodeCached(k *cachedRun) {
	for d.column >= 0 {
		d.decodeFast(k)
		if k.n == maxCachedRun || !d.nextCached() {
			return
		}
		k.add(d.column, d.qualifierAt+len(d.cell.Qualifier)+timestampLen+typeLen, d.value)
	}
}

// transitionWindow is how many bytes of a transition decodeFast may read: flag, key length, value length, and rest as
// two words.
const transitionWindow = 1 + 5 + 1 + 16

// decodeFast does the work of nextCached by comparing words. It stops at the first cell that does not take the first
// of the two transitions, has a long name or value, or is near the block's end.
func (d *blockDecoder) decodeFast(k *cachedRun) {
	b, at, value, column, stamp := d.in.b, d.in.at, d.value, d.column, byte(d.timestamp)
	n, keyBytes, valueBytes, largest := k.n, k.keyBytes, k.valueBytes, k.largest
	for n < maxCachedRun && len(b)-at > transitionWindow {
		s := &d.cache.columns[column].transitions[0]
		p := b[at : at+transitionWindow]
		head := binary.LittleEndian.Uint64(p)
		if (head^s.head)&s.headMask != 0 || s.qualifierAt != d.qualifierAt || s.timestampByte != stamp || len(s.rest) > 16 {
			break
		}
		on, length := 1+len(s.length), len(value)
		if head&fastDiffSameValueLen == 0 {
			if length = int(p[on]); length >= 0x80 {
				break
			}
			on++
		}
		low, high := binary.LittleEndian.Uint64(p[on:]), binary.LittleEndian.Uint64(p[on+8:])
		if (low^s.words[0])&s.masks[0]|(high^s.words[1])&s.masks[1] != 0 {
			break
		}
		on += at + len(s.rest)
		next := value
		if head&fastDiffSameValue == 0 {
			if on+length >= len(b) {
				break
			}
			next = b[on : on+length : on+length]
			on += length
		} else if length != len(value) {
			break
		}
		if d.mvcc {
			if b[on] != 0 {
				break
			}
			on++
		}
		at, column, value = on, s.to, next
		k.columns[n], k.values[n] = int32(column), value
		n++
		keyBytes += int64(s.keyLen)
		valueBytes += int64(length)
		largest = max(largest, int64(s.keyLen+length))
	}
	if n > k.n {
		k.n, k.keyBytes, k.valueBytes, k.largest = n, keyBytes, valueBytes, largest
		d.in.at, d.column, d.value, d.keyStale = at, column, value, true
		d.cell.Qualifier, d.cell.Value = d.cache.columns[column].qualifier, value
	}
}

// materializeKey builds the key of the last cell, which cached cells skip. The next cell that is decoded in full is a
// difference to it: with a stale key it would get bytes of an older qualifier.
func (d *blockDecoder) materializeKey() {
	d.keyStale = false
	qualifier := d.cell.Qualifier
	d.resizeKey(d.qualifierAt+len(qualifier)+timestampLen+typeLen, d.qualifierAt)
	copy(d.key[d.qualifierAt:], qualifier)
	putBE64(d.key[len(d.key)-timestampLen-typeLen:], d.timestamp)
	d.key[len(d.key)-typeLen] = d.kind
}

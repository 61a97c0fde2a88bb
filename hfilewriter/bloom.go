package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// A compound bloom filter (CompoundBloomFilterWriter, BloomFilterChunk): chunks of bits among the data blocks, and a meta
// block near the file's end:
//
//	int 3             version
//	long              bytes of all chunks
//	int               hash functions
//	int 1             hash type: murmur
//	long              keys
//	long              keys that the chunks were made for, after folding
//	int n             chunks
//	vint, bytes       comparator's class name; empty for filters of rows
//	n times: long chunk's offset, int its size on disk, vint length, first key
//
// A chunk's payload is its bits alone: bit i is bit i%8 of byte i/8.
const (
	bloomVersion     = 3
	bloomMurmur      = 1
	rowColComparator = "org.apache.hadoop.hbase.CellComparatorImpl"
)

// bloomParams is what size, error rate and folding limit give (BloomFilterUtil.createBySize).
type bloomParams struct {
	bytes   int
	hashes  int
	maxKeys int
}

// newBloomParams computes a chunk's shape with Java's mix of floats and integers.
func newBloomParams(s *Settings, kind Bloom) bloomParams {
	errorRate := s.BloomErrorRate
	if kind == BloomRowCol { // two keys are asked for: a row's column, and the row
		errorRate = float32(1 - math.Sqrt(float64(1-errorRate)))
	}
	p := float64(errorRate)
	fold := 1 << s.BloomMaxFold
	size := (s.BloomBlockSize + fold - 1) / fold * fold
	bits := int64(size) * 8
	ideal := int64(float64(bits) * (math.Ln2 * math.Ln2 / -math.Log(p)))
	hashes := int64(math.Ceil(math.Ln2 * float64(bits/max(ideal, 1))))
	maxKeys := int64(-float64(bits) / float64(hashes) * math.Log(1-math.Exp(math.Log(p)/float64(hashes))))
	return bloomParams{size, int(hashes), int(maxKeys)}
}

// bloomWriter collects keys into chunks.
type bloomWriter struct {
	params bloomParams
	rowCol bool

	chunk   *bloomChunk   // being filled; nil before its first key
	ready   []*bloomChunk // full, to be written behind the data block at hand
	keys    int64
	lastKey []byte
	batch   bloomBatch // keys of the chunk whose bits are not yet set

	written  []indexEntry // chunks in the file, with their first keys; these are the assembler's
	bytes    int64
	capacity int64
}

// bloomChunk is a bloom filter of up to maxKeys keys.
type bloomChunk struct {
	buf      []byte // headerLen free bytes, then the bits
	keys     int
	maxKeys  int
	firstKey []byte
}

func (c *bloomChunk) bits() []byte { return c.buf[headerLen:] }

func newBloomWriter(s *Settings, kind Bloom) *bloomWriter {
	return &bloomWriter{params: newBloomParams(s, kind), rowCol: kind == BloomRowCol}
}

// add puts a key that differs from the last one into the filter.
func (b *bloomWriter) add(key []byte) {
	b.seal(false)
	if b.chunk == nil {
		b.chunk = b.newChunk(key)
	}
	if b.batch.add(key) {
		b.setBits()
	}
	b.chunk.keys++
	b.keys++
	b.lastKey = append(b.lastKey[:0], key...)
}

// setBits sets those of the keys in the batch, which are all of the chunk at hand.
func (b *bloomWriter) setBits() {
	bits := b.chunk.bits()
	probes, n := b.batch.probes(len(bits) * 8)
	for i := range probes[:n] {
		p := &probes[i]
		for range b.params.hashes {
			at := p.next()
			bits[at>>3] |= 1 << (at & 7)
		}
	}
}

// bloomBatch are keys that wait to be hashed. A hash is a long chain of steps, each of which waits for the one before; four
// side by side take not much longer than one.
type bloomBatch struct {
	n    int
	keys [murmurWidth][]byte // copies
}

// add takes a key, and tells whether the batch is full.
func (q *bloomBatch) add(key []byte) bool {
	q.keys[q.n] = append(q.keys[q.n][:0], key...)
	q.n++
	return q.n == len(q.keys)
}

// probes gives the places of the n keys among so many bits, and empties the batch. The keys stay until the next add.
func (q *bloomBatch) probes(bits int) (probes [murmurWidth]bitProbe, n int) {
	n, q.n = q.n, 0
	var hashes, steps [murmurWidth]int32
	murmurs(q.keys[:n], &hashes)
	steps = hashes
	murmurs(q.keys[:n], &steps)
	for i := range n {
		probes[i] = newBitProbe(hashes[i], steps[i], bits)
	}
	return probes, n
}

// bitProbe are the places of a key's bits among n (BloomFilterChunk.setHashLoc): hashes that are a step apart, each
// the remainder of Java's signed division without its sign.
type bitProbe struct {
	hash, step int32
	n, mask    uint32 // mask: n-1 where n is a power of two, as that of a chunk mostly is, else 0
}

func newBitProbe(hash, step int32, n int) bitProbe {
	p := bitProbe{hash: hash, step: step, n: uint32(n)}
	if n&(n-1) == 0 {
		p.mask = p.n - 1
	}
	return p
}

func (p *bitProbe) next() uint32 {
	sign := p.hash >> 31
	magnitude := uint32((p.hash ^ sign) - sign) // of the least number, too: its bits are those of 1<<31
	p.hash += p.step
	if p.mask != 0 {
		return magnitude & p.mask
	}
	return magnitude % p.n
}

func (b *bloomWriter) newChunk(firstKey []byte) *bloomChunk {
	n := headerLen + b.params.bytes
	return &bloomChunk{buf: make([]byte, n), maxKeys: b.params.maxKeys, firstKey: bytes.Clone(firstKey)}
}

// seal makes a chunk that is full, or the last one, ready to be written.
func (b *bloomWriter) seal(last bool) {
	if b.chunk == nil || b.chunk.keys < b.params.maxKeys && !last {
		return
	}
	b.setBits()
	b.chunk.fold()
	b.ready = append(b.ready, b.chunk)
	b.chunk = nil
}

// fold halves a chunk while its keys fit in half of it (BloomFilterChunk.compactBloom): the halves are joined by OR, so
// that a hash modulo the new size finds its bit.
func (c *bloomChunk) fold() {
	bits := c.bits()
	for len(bits)%2 == 0 && c.maxKeys > 2*c.keys {
		half := len(bits) / 2
		for i, b := range bits[half:] {
			bits[i] |= b
		}
		bits = bits[:half]
		c.maxKeys /= 2
	}
	c.buf = c.buf[:headerLen+len(bits)]
}

// takeReady hands over the chunks that are to stand behind the data block at hand; last: all that there are.
func (b *bloomWriter) takeReady(to []readyChunk, last bool) []readyChunk {
	b.seal(last)
	for _, c := range b.ready {
		to = append(to, readyChunk{b, c})
	}
	b.ready = b.ready[:0]
	return to
}

// writeChunk puts a chunk.
func (b *bloomWriter) writeChunk(blocks *blockWriter, c *bloomChunk) error {
	n := int64(len(c.bits()))
	h, err := blocks.write(blockBloomChunk, c.buf)
	b.written = append(b.written, indexEntry{c.firstKey, h})
	b.bytes += n
	b.capacity += int64(c.maxKeys)
	return err
}

// appendMeta encodes the meta block (CompoundBloomFilterWriter.MetaWriter.write).
func (b *bloomWriter) appendMeta(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, bloomVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.bytes))
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.params.hashes))
	dst = binary.BigEndian.AppendUint32(dst, bloomMurmur)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.keys))
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.capacity))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b.written)))
	comparator := ""
	if b.rowCol {
		comparator = rowColComparator
	}
	dst = appendVInt(dst, int64(len(comparator)))
	dst = append(dst, comparator...)
	return appendRoot(dst, b.written)
}

// bloomMeta is a meta block as read.
type bloomMeta struct {
	bytes      int64
	hashes     int
	hashType   int
	keys       int64
	capacity   int64
	comparator string
	chunks     []indexEntry
}

// parseBloomMeta decodes a meta block; the first keys are views of it.
func parseBloomMeta(payload []byte) (*bloomMeta, error) {
	c := cursor{b: payload}
	version := c.uint32()
	m := &bloomMeta{bytes: int64(c.uint64()), hashes: int(int32(c.uint32())), hashType: int(int32(c.uint32())), keys: int64(c.uint64()), capacity: int64(c.uint64())}
	n := int64(c.uint32())
	m.comparator = string(c.bytes(int(min(c.vlong(), 1<<16))))
	switch {
	case c.bad():
		return nil, c.err
	case version != bloomVersion:
		return nil, fmt.Errorf("%w: bloom filter of version %d", ErrCorrupt, version)
	case m.hashes < 1 || m.hashes > 1000:
		return nil, fmt.Errorf("%w: bloom filter of %d hash functions", ErrCorrupt, m.hashes)
	}
	var err error
	m.chunks, _, err = parseRoot(c.rest(), n, false)
	return m, err
}

// bloomContains asks one chunk's bits for a key (BloomFilterUtil.contains).
func bloomContains(bits, key []byte, hashes int) bool {
	hash := murmur(key, 0)
	probe := newBitProbe(hash, murmur(key, hash), len(bits)*8)
	return bloomHas(bits, &probe, hashes)
}

// bloomHas tells whether a chunk's bits are set at a key's places.
func bloomHas(bits []byte, probe *bitProbe, hashes int) bool {
	if len(bits) == 0 || len(bits) > math.MaxInt32/8 { // the number of bits is an int
		return false
	}
	for range hashes {
		at := probe.next()
		if bits[at>>3]&(1<<(at&7)) == 0 {
			return false
		}
	}
	return true
}

// appendRowColKey appends the key of a row's column in a ROWCOL filter (RowColBloomContext): a flat key without family,
// of the latest timestamp.
func appendRowColKey(dst, row, qualifier []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(append(append(dst, row...), 0), qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(indexKeyTimestamp))
	return append(dst, indexKeyType)
}

// murmur is MurmurHash2 as HBase computes it (org.apache.hadoop.hbase.util.MurmurHash): the bytes behind the last whole
// word are signed.
func murmur(key []byte, seed int32) int32 {
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		h = h*murmurM ^ murmurMix(key)
	}
	return murmurEnd(h, key)
}

const murmurM = 0x5bd1e995

// murmurMix is what the first word of b adds.
func murmurMix(b []byte) uint32 {
	k := binary.LittleEndian.Uint32(b) * murmurM
	k ^= k >> 24
	return k * murmurM
}

// murmurEnd adds the bytes behind the last whole word.
func murmurEnd(h uint32, rest []byte) int32 {
	if len(rest) > 0 {
		if len(rest) >= 3 {
			h ^= uint32(int32(int8(rest[2])) << 16)
		}
		if len(rest) >= 2 {
			h ^= uint32(int32(int8(rest[1])) << 8)
		}
		h ^= uint32(int32(int8(rest[0])))
		h *= murmurM
	}
	h ^= h >> 13
	h *= murmurM
	h ^= h >> 15
	return int32(h)
}

// murmurWidth is how many keys murmurs hashes side by side.
const murmurWidth = 4

// murmurs replaces seeds by the hashes of keys, which are murmurWidth at most.
func murmurs(keys [][]byte, seeds *[murmurWidth]int32) {
	if len(keys) < murmurWidth || len(keys[0]) != len(keys[1]) || len(keys[0]) != len(keys[2]) || len(keys[0]) != len(keys[3]) {
		for i, key := range keys {
			seeds[i] = murmur(key, seeds[i])
		}
		return
	}
	n := len(keys[0])
	a, b, c, d := keys[0], keys[1][:n], keys[2][:n], keys[3][:n]
	h0, h1, h2, h3 := uint32(seeds[0])^uint32(n), uint32(seeds[1])^uint32(n), uint32(seeds[2])^uint32(n), uint32(seeds[3])^uint32(n)
	i := 0
	for ; i+4 <= n; i += 4 {
		h0 = h0*murmurM ^ murmurMix(a[i:])
		h1 = h1*murmurM ^ murmurMix(b[i:])
		h2 = h2*murmurM ^ murmurMix(c[i:])
		h3 = h3*murmurM ^ murmurMix(d[i:])
	}
	*seeds = [murmurWidth]int32{murmurEnd(h0, a[i:]), murmurEnd(h1, b[i:]), murmurEnd(h2, c[i:]), murmurEnd(h3, d[i:])}
}

package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"bulkload/internal/poison"
)

// A compound bloom filter (CompoundBloomFilterWriter, BloomFilterChunk): chunks of bits between the data blocks, and
// a meta block near the file's end:
//
//	int 3             version
//	long              bytes of all chunks
//	int               hash functions
//	int 1             hash type: murmur
//	long              keys
//	long              capacity: keys that the chunks were made for, after folding
//	int n             chunks
//	vint, bytes       comparator's class name; empty for filters of rows
//	n times: long chunk's offset, int its size on disk, vint length, first key
//
// A chunk's payload is its bits alone: bit i is bit i%8 of byte i/8.
//
// A bloom filter must never deny a key that the file holds. A get trusts it: it skips the file, and the row is lost to
// readers although it is stored. The opposite mistake costs only one read. So each row is added before its cell is
// written, a chunk's bits are complete before it is folded and written, and the verifier looks up every row again.
// Chunks are found by bisection over their first keys, which therefore must ascend.
const (
	bloomVersion     = 3
	bloomMurmur      = 1
	rowColComparator = "org.apache.hadoop.hbase.CellComparatorImpl"
)

// bloomHashes are the hashes of keys that HBase knows, by their numbers (org.apache.hadoop.hbase.util.Hash). The
// writer's hbase.hash.type chooses one. This package has only the default, murmur.
var bloomHashes = [...]string{"jenkins", bloomMurmur: "murmur", "murmur3"}

// bloomParams follow from size, error rate and folding limit (BloomFilterUtil.createBySize). They must be HBase's to
// the bit: the number of bits is the modulus that a reader computes again from the chunk's size.
type bloomParams struct {
	bytes   int
	hashes  int
	maxKeys int
}

// newBloomParams computes them with Java's mix of float and integer arithmetic. A formula that is better
// mathematically would give other chunks than HBase's.
func newBloomParams(s *Settings, kind Bloom) bloomParams {
	errorRate := s.BloomErrorRate
	if kind == BloomRowCol { // two keys are looked up, a row's column and the row, so each may err half as often
		errorRate = float32(1 - math.Sqrt(float64(1-errorRate)))
	}
	// The order of these operations, and which of them are integers, is createBySize's. A rounding difference of one
	// key would move every chunk boundary after it.
	p := float64(errorRate)
	fold := 1 << s.BloomMaxFold
	// The size is a multiple of 1 << fold, so that it can be halved that often.
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
	ready   []*bloomChunk // full, to be written after the current data block
	keys    int64
	lastKey []byte
	batch   bloomBatch // keys of the current chunk whose bits are not yet set

	written  []indexEntry // chunks in the file, with their first keys
	bytes    int64
	capacity int64
}

// bloomChunk is a bloom filter of at most maxKeys keys.
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

// add adds a key, which must differ from the last one. A full chunk is sealed first, so the key is the first one of the
// new chunk.
//
// The caller ensures that keys differ. A repeated key would set no new bit but count twice: chunks would end at other
// keys than HBase's, and the meta block would count too many.
func (b *bloomWriter) add(key []byte) {
	// A full chunk is closed by the key that does not fit any more, not by the last one that does: so a chunk that is
	// exactly full at the end of the file is still open, and is folded like any last chunk.
	b.seal(false)
	if b.chunk == nil {
		b.chunk = b.newChunk(key)
	}
	// The hash is computed later; the key was copied.
	if b.batch.add(key) {
		b.setBits()
	}
	b.chunk.keys++
	b.keys++
	b.lastKey = append(b.lastKey[:0], key...)
}

// setBits sets the bits of the keys in the batch. All of them belong to the current chunk: seal calls it before the
// chunk changes.
func (b *bloomWriter) setBits() {
	// The modulus is the unfolded size. Folding keeps every set bit findable.
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

// bloomBatch holds keys that wait to be hashed. A hash is a long chain of dependent steps; four of them interleaved
// take little longer than one.
type bloomBatch struct {
	n     int
	keys  [murmurWidth][]byte   // copies
	mixes [][murmurWidth]uint32 // scratch space of murmurs
}

// add adds a key, and reports whether the batch is full.
func (q *bloomBatch) add(key []byte) bool {
	if poison.Enabled && q.n == 0 {
		for _, old := range q.keys {
			poison.Bytes(old)
		}
	}
	q.keys[q.n] = append(q.keys[q.n][:0], key...)
	q.n++
	return q.n == len(q.keys)
}

// probes returns the bit probes of the n keys in the batch, for filters of that many bits, and empties the batch. The
// keys stay valid until the next add.
func (q *bloomBatch) probes(bits int) (probes [murmurWidth]bitProbe, n int) {
	n, q.n = q.n, 0
	// Two hashes for each key: the second one, seeded by the first, is the step between its bits
	// (BloomFilterChunk.add).
	hashes, steps := murmurs(q.keys[:n], &q.mixes)
	for i := range n {
		probes[i] = newBitProbe(hashes[i], steps[i], bits)
	}
	return probes, n
}

// bitProbe yields the bits of one key in a filter of n bits (BloomFilterChunk.setHashLoc): hashes that are a step
// apart, each the absolute value of Java's signed remainder.
type bitProbe struct {
	hash, step int32
	n, mask    uint32 // mask: n-1 if n is a power of two, as a chunk's mostly is; otherwise 0
}

func newBitProbe(hash, step int32, n int) bitProbe {
	p := bitProbe{hash: hash, step: step, n: uint32(n)}
	if n&(n-1) == 0 {
		p.mask = p.n - 1
	}
	return p
}

func (p *bitProbe) next() uint32 {
	// Math.abs of an int: the remainder of a negative number is negative in Java, and its absolute value is taken
	// there.
	sign := p.hash >> 31
	magnitude := uint32((p.hash ^ sign) - sign) // for the smallest int too: its bits are those of 1<<31
	// Wraps around, as Java's int does.
	p.hash += p.step
	if p.mask != 0 {
		return magnitude & p.mask
	}
	return magnitude % p.n
}

func (b *bloomWriter) newChunk(firstKey []byte) *bloomChunk {
	n := headerLen + b.params.bytes
	// A copy: the caller reuses the key, and the meta block needs it when the file ends.
	return &bloomChunk{buf: make([]byte, n), maxKeys: b.params.maxKeys, firstKey: bytes.Clone(firstKey)}
}

// seal finishes the current chunk if it is full, or if it is the last one, and queues it to be written.
func (b *bloomWriter) seal(last bool) {
	// Also true after the last chunk was sealed, so that seal may be called twice.
	if b.chunk == nil || b.chunk.keys < b.params.maxKeys && !last {
		return
	}
	// The rest of the batch belongs to this chunk. Otherwise its last keys would be missing, and denied.
	b.setBits()
	b.chunk.fold()
	b.ready = append(b.ready, b.chunk)
	b.chunk = nil
}

// fold halves a chunk while its keys fit in half of it (BloomFilterChunk.compactBloom). The halves are joined by OR.
// A probe is a hash modulo the number of bits, and x mod n/2 = (x mod n) mod n/2: each bit that was set is found
// again at the new size.
func (c *bloomChunk) fold() {
	bits := c.bits()
	// Only while the chunk is not half full, because each fold up to doubles the share of set bits.
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

// takeReady appends the chunks to be written after the current data block to to; at the end (last) the unfinished one
// too.
func (b *bloomWriter) takeReady(to []readyChunk, last bool) []readyChunk {
	b.seal(last)
	// In the order in which they were sealed, which is that of their first keys. Readers bisect over the meta block, so
	// chunks in another order would be searched for keys that are elsewhere.
	for _, c := range b.ready {
		to = append(to, readyChunk{b, c})
	}
	b.ready = b.ready[:0]
	return to
}

// writeChunk writes a chunk and records it for the meta block, in the order of the keys.
func (b *bloomWriter) writeChunk(blocks *blockWriter, c *bloomChunk) error {
	n := int64(len(c.bits()))
	h, err := blocks.write(blockBloomChunk, c.buf)
	// Also after an error: the writer's error sticks, and no meta block is written then.
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
	// Only chunks in the file: a chunk still in memory here would be missing, with all of its keys.
	return appendRoot(dst, b.written)
}

// bloomMeta is a parsed meta block.
type bloomMeta struct {
	bytes      int64
	hashes     int
	hashType   int
	keys       int64
	capacity   int64
	comparator string
	chunks     []indexEntry
}

// parseBloomMeta decodes a meta block. The first keys are views of it. Limits on the counts keep a damaged block from
// costing more than its own length: 1,000 hashes are far beyond any error rate.
func parseBloomMeta(payload []byte) (*bloomMeta, error) {
	c := cursor{b: payload}
	version := c.uint32()
	m := &bloomMeta{bytes: int64(c.uint64()), hashes: int(int32(c.uint32())), hashType: int(int32(c.uint32())),
		keys: int64(c.uint64()), capacity: int64(c.uint64())}
	n := int64(c.uint32())
	m.comparator = string(c.bytes(int(min(c.vlong(), 1<<16))))
	switch {
	case c.bad():
		return nil, c.err
	// Another version has other fields: nothing of it could be used.
	case version != bloomVersion:
		return nil, fmt.Errorf("%w: bloom filter of version %d", ErrCorrupt, version)
	// HBase doesn't open such a file (CompoundBloomFilter: "Invalid hash type").
	case m.hashType < 0 || m.hashType >= len(bloomHashes):
		return nil, fmt.Errorf("%w: bloom filter with hash %d", ErrCorrupt, m.hashType)
	case m.hashes < 1 || m.hashes > 1000:
		return nil, fmt.Errorf("%w: bloom filter of %d hash functions", ErrCorrupt, m.hashes)
	}
	var err error
	// The chunks have the form of a root's entries; parseRoot checks n against the bytes that are left.
	m.chunks, _, err = parseRoot(c.rest(), n, false)
	return m, err
}

// known reports whether keys can be looked up in the filter: those of another hash have other bits.
func (m *bloomMeta) known() bool { return m.hashType == bloomMurmur }

// bloomContains reports whether one chunk's bits have a key (BloomFilterUtil.contains).
func bloomContains(bits, key []byte, hashes int) bool {
	// As in probes, one key at a time.
	hash := murmur(key, 0)
	probe := newBitProbe(hash, murmur(key, hash), len(bits)*8)
	return bloomHas(bits, &probe, hashes)
}

// bloomHas reports whether all bits of a key's probe are set.
func bloomHas(bits []byte, probe *bitProbe, hashes int) bool {
	if len(bits) == 0 || len(bits) > math.MaxInt32/8 { // the number of bits is an int in Java
		return false
	}
	for range hashes {
		// One bit that is not set proves that the key was never added.
		at := probe.next()
		if bits[at>>3]&(1<<(at&7)) == 0 {
			return false
		}
	}
	return true
}

// appendRowColKey appends the key of a row's column in a ROWCOL filter (RowColBloomContext): a flat key without a
// family, with the latest timestamp. Such keys are in the order of cells, which is not the order of their bytes:
// chunkOf compares them as keys.
func appendRowColKey(dst, row, qualifier []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	// A family length of 0: the filter is for one family.
	dst = append(append(append(dst, row...), 0), qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(indexKeyTimestamp))
	return append(dst, indexKeyType)
}

// murmur is MurmurHash2 as HBase computes it (org.apache.hadoop.hbase.util.MurmurHash): there, the bytes after the
// last whole word are sign-extended. A hash with unsigned bytes would deny every key with a tail byte of 0x80 or
// more.
func murmur(key []byte, seed int32) int32 {
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		h = h*murmurM ^ murmurMix(key)
	}
	return murmurEnd(h, key)
}

const murmurM = 0x5bd1e995

// murmurMix returns the contribution of the first word of b.
func murmurMix(b []byte) uint32 {
	k := binary.LittleEndian.Uint32(b) * murmurM
	k ^= k >> 24
	return k * murmurM
}

// murmurEnd mixes in the bytes after the last whole word.
func murmurEnd(h uint32, rest []byte) int32 {
	if len(rest) > 0 {
		if len(rest) >= 3 {
			// int8: Java's bytes are signed, and shifting keeps the sign in the higher bits.
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

// murmurWidth is how many keys murmurs hashes at a time.
const murmurWidth = 4

// murmurs hashes each of at most murmurWidth keys twice: with the seed 0, and with the first hash as the seed. Mixed
// words don't depend on the seed, so they are computed once and kept in mixes, which is scratch space. Only keys of
// equal length are interleaved. Others are hashed one by one, with the same results.
func murmurs(keys [][]byte, mixes *[][murmurWidth]uint32) (first, second [murmurWidth]int32) {
	if len(keys) < murmurWidth || len(keys[0]) != len(keys[1]) || len(keys[0]) != len(keys[2]) ||
		len(keys[0]) != len(keys[3]) {
		for i, key := range keys {
			first[i] = murmur(key, 0)
			second[i] = murmur(key, first[i])
		}
		return first, second
	}
	n := len(keys[0])
	// The slices tell the compiler that all lengths are equal, which saves 4% of the time of reading back.
	a, b, c, d := keys[0], keys[1][:n], keys[2][:n], keys[3][:n]
	h0, h1, h2, h3 := uint32(n), uint32(n), uint32(n), uint32(n)
	words := slices.Grow((*mixes)[:0], n/4)[:n/4]
	*mixes = words
	for w := range words {
		m, i := &words[w], 4*w
		m[0], m[1], m[2], m[3] = murmurMix(a[i:]), murmurMix(b[i:]), murmurMix(c[i:]), murmurMix(d[i:])
		h0, h1, h2, h3 = h0*murmurM^m[0], h1*murmurM^m[1], h2*murmurM^m[2], h3*murmurM^m[3]
	}
	whole := 4 * len(words)
	a, b, c, d = a[whole:], b[whole:], c[whole:], d[whole:]
	first = [murmurWidth]int32{murmurEnd(h0, a), murmurEnd(h1, b), murmurEnd(h2, c), murmurEnd(h3, d)}
	h0, h1, h2, h3 = uint32(first[0])^uint32(n), uint32(first[1])^uint32(n), uint32(first[2])^uint32(n),
		uint32(first[3])^uint32(n)
	for w := range words {
		m := &words[w]
		h0, h1, h2, h3 = h0*murmurM^m[0], h1*murmurM^m[1], h2*murmurM^m[2], h3*murmurM^m[3]
	}
	return first, [murmurWidth]int32{murmurEnd(h0, a), murmurEnd(h1, b), murmurEnd(h2, c), murmurEnd(h3, d)}
}

package compressed

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH32 (xxhash_spec.md).
const (
	prime1 uint32 = 2654435761
	prime2 uint32 = 2246822519
	prime3 uint32 = 3266489917
	prime4 uint32 = 668265263
	prime5 uint32 = 374761393
)

// xxh32 is the checksum of LZ4 frames, with seed 0. Call reset before the first use.
type xxh32 struct {
	lanes  [4]uint32
	total  uint64
	kept   [16]byte
	length int // of kept
}

func (x *xxh32) reset() {
	one, two := prime1, prime2 // as variables: the sums wrap
	*x = xxh32{lanes: [4]uint32{one + two, two, 0, -one}}
}

func (x *xxh32) write(b []byte) {
	x.total += uint64(len(b))
	if x.length > 0 {
		n := copy(x.kept[x.length:], b)
		x.length += n
		b = b[n:]
		if x.length < len(x.kept) {
			return
		}
		x.stripe(x.kept[:])
		x.length = 0
	}
	for ; len(b) >= 16; b = b[16:] {
		x.stripe(b)
	}
	x.length = copy(x.kept[:], b)
}

func (x *xxh32) stripe(b []byte) {
	for i := range x.lanes {
		lane := x.lanes[i] + binary.LittleEndian.Uint32(b[4*i:])*prime2
		x.lanes[i] = bits.RotateLeft32(lane, 13) * prime1
	}
}

func (x *xxh32) sum() uint32 {
	h := prime5
	if x.total >= 16 {
		h = bits.RotateLeft32(x.lanes[0], 1) + bits.RotateLeft32(x.lanes[1], 7) +
			bits.RotateLeft32(x.lanes[2], 12) + bits.RotateLeft32(x.lanes[3], 18)
	}
	h += uint32(x.total)
	b := x.kept[:x.length]
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

func sum32(b []byte) uint32 {
	var x xxh32
	x.reset()
	x.write(b)
	return x.sum()
}

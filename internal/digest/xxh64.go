package digest

import "math/bits"

// XXH64 (seed 0) of two and of four 8-byte little-endian words, without going through memory: a cell is hashed so
// twice in a run. https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5

	lane1 = prime1 + prime2 - 1<<64 // the four accumulators' beginnings, modulo 2^64
	lane2 = prime2
	lane3 = 0
	lane4 = 1<<64 - prime1
)

func hash2(a, b uint64) uint64 {
	h := uint64(prime5 + 16)
	h = bits.RotateLeft64(h^round(0, a), 27)*prime1 + prime4
	h = bits.RotateLeft64(h^round(0, b), 27)*prime1 + prime4
	return avalanche(h)
}

func hash4(a, b, c, d uint64) uint64 {
	v1, v2, v3, v4 := round(lane1, a), round(lane2, b), round(lane3, c), round(lane4, d)
	h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
	h = merge(merge(merge(merge(h, v1), v2), v3), v4)
	return avalanche(h + 32)
}

func round(lane, word uint64) uint64 { return bits.RotateLeft64(lane+word*prime2, 31) * prime1 }

func merge(h, lane uint64) uint64 { return (h^round(0, lane))*prime1 + prime4 }

func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

package keys

import (
	"crypto/md5"
	"encoding/binary"
	"math/bits"

	"bulkload/values"
)

// stringHash is String.hashCode of the text: over its UTF-16 units.
func stringHash(x []byte) int32 {
	var h int32
	n := ascii(x)
	for _, c := range x[:n] {
		h = 31*h + int32(c)
	}
	for i := n; i < len(x); {
		r, size := decode(x[i:])
		i += size
		if r > 0xFFFF {
			r -= 0x10000
			h = 31*h + (0xD800 + r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + r
	}
	return h
}

// longHash is Long.hashCode.
func longHash(x int64) int32 { return int32(x ^ int64(uint64(x)>>32)) }

// remainder is Math.abs(hash % n). The remainder is taken first, because Math.abs of the least int stays negative.
func remainder(hash int32, n int64) uint64 {
	r := int64(hash) % n
	return uint64(max(r, -r))
}

func applySalt(s *step, dst, x []byte) ([]byte, string) {
	return appendPadded(dst, remainder(stringHash(x), s.n), s.width), ""
}

func applyLongSalt(s *step, dst, x []byte) ([]byte, string) {
	v, problem := parseLong(x)
	if problem != "" {
		return dst, problem
	}
	return appendPadded(dst, remainder(longHash(v), s.n), s.width), ""
}

const hexDigits = "0123456789abcdef"

// applyMD5 hashes the bytes as they are, so it works for binary values too.
func applyMD5(s *step, dst, x []byte) ([]byte, string) {
	sum := md5.Sum(x)
	var text [2 * md5.Size]byte
	for i, b := range sum {
		text[2*i], text[2*i+1] = hexDigits[b>>4], hexDigits[b&15]
	}
	return append(dst, text[:s.width]...), ""
}

func applyMD5Bytes(_ *step, dst, x []byte) ([]byte, string) {
	sum := md5.Sum(x)
	return append(dst, sum[:]...), ""
}

// recordHash is the hash by which random_salt distributes records. It covers every column's length and bytes, so moving
// a byte to the next column, or a null in place of an empty value, changes it. Stored keys depend on it, so it must
// never change.
func recordHash(fields []values.Value) uint64 {
	h := uint64(len(fields))
	for _, field := range fields {
		if field.Null() {
			h = mix(h, ^uint64(0))
			continue
		}
		f := field.Bytes()
		h = mix(h, uint64(len(f)))
		for len(f) >= 8 {
			h = mix(h, binary.LittleEndian.Uint64(f))
			f = f[8:]
		}
		var tail uint64
		for i, c := range f {
			tail |= uint64(c) << (8 * i)
		}
		h = mix(h, tail)
	}
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

// mix folds a word into the hash: the two halves of a 128-bit product.
func mix(h, word uint64) uint64 {
	high, low := bits.Mul64(h^word^0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
	return bits.RotateLeft64(high^low, 23) + word
}

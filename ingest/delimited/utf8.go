package delimited

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"bulkload/ingest"
)

// validUTF8 is utf8.Valid for text that mixes ASCII and characters of three bytes, as Chinese does. After each such
// character it returns to eight bytes at a time.
func validUTF8(b []byte) bool {
	for len(b) >= 8 {
		word := binary.LittleEndian.Uint64(b)
		if high := word & highBits; high != 0 {
			b = b[bits.TrailingZeros64(high)/8:]
		} else {
			b = b[8:]
			continue
		}
		for len(b) >= 4 && b[0] >= utf8.RuneSelf {
			n := wideRune(binary.LittleEndian.Uint32(b))
			if n == 0 {
				if _, n = utf8.DecodeRune(b); n == 1 {
					return false
				}
			}
			b = b[n:]
		}
		if len(b) < 4 {
			break
		}
	}
	return utf8.Valid(b)
}

const highBits = 0x80 * ingest.EveryByte

// wideRune is 3 if a certainly valid character of three bytes begins the word, little-endian: its first byte is
// neither E0, which may begin an overlong form, nor ED, which may begin a surrogate. Otherwise it is 0.
func wideRune(word uint32) int {
	if first := byte(word); word&0xc0c0f0 != 0x8080e0 || first == 0xe0 || first == 0xed {
		return 0
	}
	return 3
}

package keys

import (
	"unicode"
	"unicode/utf8"
)

func applyUpper(_ *step, dst, x []byte) ([]byte, string) {
	return appendMapped(dst, x, 'a', 'z', unicode.ToUpper), ""
}

func applyLower(_ *step, dst, x []byte) ([]byte, string) {
	return appendMapped(dst, x, 'A', 'Z', unicode.ToLower), ""
}

// appendMapped appends x with its characters mapped; the ASCII letters from first to last change their case.
func appendMapped(dst, x []byte, first, last byte, to func(rune) rune) []byte {
	for i := 0; i < len(x); {
		if c := x[i]; c < utf8.RuneSelf {
			if c >= first && c <= last {
				c ^= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := decode(x[i:])
		dst = utf8.AppendRune(dst, to(r))
		i += size
	}
	return dst
}

package keys

import "unicode/utf8"

// decode returns the first character of x, which is not empty, as Java's UTF-8 decoder would. Invalid bytes become
// U+FFFD, and one U+FFFD stands for as many bytes as in java.lang.String (String.decodeUTF8_UTF16, malformed3,
// malformed4), which differs from Go.
func decode(x []byte) (r rune, size int) {
	r, size = utf8.DecodeRune(x)
	if r == utf8.RuneError && size == 1 {
		size = malformed(x)
	}
	return r, size
}

// malformed is how many bytes of x become one U+FFFD in Java; x doesn't begin with a character.
func malformed(x []byte) int {
	switch lead := x[0]; {
	case lead >= 0xE0 && lead <= 0xEF:
		return malformed3(x)
	case lead >= 0xF0 && lead <= 0xF4:
		return malformed4(x)
	}
	return 1
}

func malformed3(x []byte) int {
	switch {
	case len(x) > 1 && (!continues(x[1]) || x[0] == 0xE0 && x[1] < 0xA0):
		return 1
	case len(x) > 2 && !continues(x[2]):
		return 2
	}
	return min(len(x), 3) // cut off at the end, or a surrogate
}

func malformed4(x []byte) int {
	switch {
	case len(x) > 1 && (!continues(x[1]) || x[0] == 0xF0 && x[1] < 0x90 || x[0] == 0xF4 && x[1] > 0x8F):
		return 1
	case len(x) > 2 && !continues(x[2]):
		return 2
	}
	return min(len(x), 3)
}

func continues(c byte) bool { return c&0xC0 == 0x80 }

// ascii is the number of bytes at the start of x that are ASCII.
func ascii(x []byte) int {
	for i, c := range x {
		if c >= utf8.RuneSelf {
			return i
		}
	}
	return len(x)
}

// units is String.length of the text: its UTF-16 code units.
func units(x []byte) int {
	n := ascii(x)
	for i := n; i < len(x); {
		r, size := decode(x[i:])
		i += size
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// appendUnits appends x's UTF-16 units [from, to) in UTF-8, as String.substring and getBytes do: half of a surrogate
// pair becomes a question mark.
func appendUnits(dst, x []byte, from, to int) []byte {
	if ascii(x) == len(x) {
		return append(dst, x[from:to]...)
	}
	for i, at := 0, 0; i < len(x) && at < to; {
		r, size := decode(x[i:])
		n := unitsOf(r)
		switch inside := min(at+n, to) - max(at, from); {
		case inside == n:
			dst = utf8.AppendRune(dst, r)
		case inside > 0:
			dst = append(dst, '?')
		}
		i += size
		at += n
	}
	return dst
}

// appendText appends x with U+FFFD for invalid UTF-8.
func appendText(dst, x []byte) []byte {
	if utf8.Valid(x) {
		return append(dst, x...)
	}
	for i := 0; i < len(x); {
		r, size := decode(x[i:])
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}

// appendReversed appends the characters of x from the last to the first (StringBuilder.reverse).
func appendReversed(dst, x []byte) []byte {
	start := len(dst)
	dst = appendText(dst, x)
	added := dst[start:]
	reverseBytes(added)
	for i := 0; i < len(added); {
		n := i
		for continues(added[n]) {
			n++
		}
		reverseBytes(added[i : n+1])
		i = n + 1
	}
	return dst
}

func reverseBytes(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func applyReverse(s *step, dst, x []byte) ([]byte, string) {
	if s.width == 0 {
		return appendReversed(dst, x), ""
	}
	n := units(x)
	if n > s.width {
		return dst, problemWide
	}
	dst = appendReversed(dst, x)
	return appendRepeated(dst, s.pad, s.width-n), ""
}

func applyPad(s *step, dst, x []byte) ([]byte, string) {
	n := units(x)
	if n > s.width {
		return dst, problemWide
	}
	return appendText(appendRepeated(dst, s.pad, s.width-n), x), ""
}

const (
	problemWide  = "too wide"
	problemShort = "too short"
)

func appendRepeated(dst []byte, c byte, n int) []byte {
	for range n {
		dst = append(dst, c)
	}
	return dst
}

// applyRotate moves the last n units to the front (StringUtils.rotate of commons-lang3).
func applyRotate(s *step, dst, x []byte) ([]byte, string) {
	n := units(x)
	if n == 0 {
		return dst, ""
	}
	cut := n - int(s.n)%n
	return appendUnits(appendUnits(dst, x, cut, n), x, 0, cut), ""
}

func applySubstr(s *step, dst, x []byte) ([]byte, string) {
	n, from := units(x), int(s.n)
	to := from + s.width
	if s.width < 0 {
		to = n
	}
	if from > n || to > n {
		return dst, problemShort
	}
	return appendUnits(dst, x, from, to), ""
}

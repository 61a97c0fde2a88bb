package charset

import "unicode/utf8"

// validUTF8 is the number of bytes of valid UTF-8 at the start of text.
func validUTF8(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// appendCESU decodes CESU-8: UTF-8 in which a character beyond U+FFFF is written as its two UTF-16 surrogates of three
// bytes each, instead of four bytes.
func appendCESU(dst, text []byte) (out []byte, valid int) {
	for valid < len(text) {
		if n := asciiLength(text[valid:]); n > 0 {
			dst = append(dst, text[valid:valid+n]...)
			valid += n
			continue
		}
		r, n := decodeCESU(text[valid:])
		if n == 0 {
			break
		}
		dst = utf8.AppendRune(dst, r)
		valid += n
	}
	return dst, valid
}

func decodeCESU(text []byte) (r rune, length int) {
	if len(text) >= 6 && text[0] == 0xed && text[1]&0xf0 == 0xa0 && text[2]&0xc0 == 0x80 &&
		text[3] == 0xed && text[4]&0xf0 == 0xb0 && text[5]&0xc0 == 0x80 {
		high := rune(text[1]&0x0f)<<6 | rune(text[2]&0x3f)
		low := rune(text[4]&0x0f)<<6 | rune(text[5]&0x3f)
		return 0x10000 + high<<10 | low, 6
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n <= 1 || n == 4 {
		return 0, 0
	}
	return r, n
}

package keys

import (
	"unicode"
	"unicode/utf8"
)

// applyUpper is String.toUpperCase(Locale.ROOT).
func applyUpper(_ *step, dst, x []byte) ([]byte, string) {
	for i := 0; i < len(x); {
		if c := x[i]; c < utf8.RuneSelf {
			if c >= 'a' && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := decode(x[i:])
		if many, ok := manyUppers[r]; ok {
			dst = append(dst, many...)
		} else {
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		}
		i += size
	}
	return dst, ""
}

const (
	dottedI    = 'İ'
	sigma      = 'Σ'
	finalSigma = 'ς'
)

// applyLower is String.toLowerCase(Locale.ROOT), with a sigma at a word's end. Java asks a BreakIterator for the end
// of a word; here it is the next character that is not a letter, mark or digit.
func applyLower(_ *step, dst, x []byte) ([]byte, string) {
	wordHasLetter := false
	for i := 0; i < len(x); {
		r, size := decode(x[i:])
		i += size
		switch {
		case r == dottedI:
			dst = append(dst, "i\u0307"...)
		case r == sigma && wordHasLetter && !letterFollows(x[i:]):
			dst = utf8.AppendRune(dst, finalSigma)
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		wordHasLetter = inWord(r) && (wordHasLetter || isCased(r))
	}
	return dst, ""
}

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }
func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
}

// letterFollows reports whether the word that continues in x has a letter with a case.
func letterFollows(x []byte) bool {
	for len(x) > 0 {
		r, size := decode(x)
		if !inWord(r) {
			return false
		}
		if isCased(r) {
			return true
		}
		x = x[size:]
	}
	return false
}

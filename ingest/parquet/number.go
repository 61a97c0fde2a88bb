package parquet

import (
	"bytes"
	"math"
	"strconv"
)

// appendFloat appends a number as Java's Float.toString and Double.toString do since Java 19: the fewest digits that
// distinguish it from its neighbours, with at least one on each side of the point. If one digit would do, two are used,
// of the nearest number. There is an exponent below 10^-3 and from 10^7 on.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if abs := math.Abs(f); abs >= 1e-3 && abs < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
		return withPoint(dst, start)
	}
	return appendExponent(dst, f, bits)
}

// withPoint appends .0 if the number from start on has no point.
func withPoint(dst []byte, start int) []byte {
	for _, b := range dst[start:] {
		if b == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendExponent appends 1.0E10 for Go's 1e+10, and 1.5E-7 for 1.5e-07.
func appendExponent(dst []byte, f float64, bits int) []byte {
	var room [32]byte
	text := strconv.AppendFloat(room[:0], f, 'e', -1, bits)
	e := bytes.LastIndexByte(text, 'e')
	if bytes.IndexByte(text[:e], '.') < 0 {
		text = strconv.AppendFloat(room[:0], f, 'e', 1, bits) // 4.9E-324, not 5.0E-324
		e = bytes.LastIndexByte(text, 'e')
	}
	dst = append(dst, text[:e]...)
	dst = append(dst, 'E')
	if text[e+1] == '-' {
		dst = append(dst, '-')
	}
	digits := text[e+2:]
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	return append(dst, digits...)
}

// halfFloat decodes the 16 bits of a binary16 of IEEE 754.
func halfFloat(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, int(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0:
		f := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
}

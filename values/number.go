package values

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// parseWhole parses a number as Long.parseLong, Integer.parseInt and Short.parseShort do.
func parseWhole(x []byte, kind TypeKind) (n int64, problem string) {
	n, problem = ParseInt64(x)
	switch {
	case problem != "":
	case kind == KindInt32 && n != int64(int32(n)):
		problem = "number outside int32"
	case kind == KindInt16 && n != int64(int16(n)):
		problem = "number outside int16"
	}
	return n, problem
}

// The problems that ParseInt64 reports.
const (
	NoWhole      = "not a whole number"
	OutsideInt64 = "number outside int64"
)

// ParseInt64 parses a number as Long.parseLong does. The problem is "", NoWhole or OutsideInt64.
func ParseInt64(x []byte) (n int64, problem string) {
	negative, digits := CutSign(x)
	if len(digits) == 0 {
		return 0, NoWhole
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var u uint64
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 {
			return 0, NoWhole
		}
		if u > (limit-d)/10 {
			problem = OutsideInt64 // unless a character that is not a digit follows
			continue
		}
		u = 10*u + d
	}
	if negative {
		return -int64(u), problem
	}
	return int64(u), problem
}

// CutSign removes a number's sign, one optional plus or minus.
func CutSign(x []byte) (negative bool, unsigned []byte) {
	if len(x) > 0 && (x[0] == '-' || x[0] == '+') {
		return x[0] == '-', x[1:]
	}
	return false, x
}

// appendWhole is Bytes.toBytes of a short, an int or a long.
func appendWhole(dst, x []byte, kind TypeKind) ([]byte, string) {
	n, problem := parseWhole(x, kind)
	switch {
	case problem != "":
		return dst, problem
	case kind == KindInt16:
		return binary.BigEndian.AppendUint16(dst, uint16(n)), ""
	case kind == KindInt32:
		return binary.BigEndian.AppendUint32(dst, uint32(n)), ""
	}
	return binary.BigEndian.AppendUint64(dst, uint64(n)), ""
}

// parseFloat parses what Float.toString and Double.toString write, and other decimal numbers with or without an
// exponent. As in Java, numbers that are too small become 0. Numbers that are too large are refused, because they would
// silently become Infinity.
func parseFloat(x []byte, bits int) (float64, string) {
	if f, special := specialFloat(x); special {
		return f, ""
	}
	if _, problem := parseDecimal(x); problem != "" {
		return 0, "not a number"
	}
	f, err := strconv.ParseFloat(string(x), bits)
	if err != nil {
		if bits == 32 {
			return 0, "number outside float32"
		}
		return 0, "number outside float64"
	}
	return f, ""
}

// specialFloat parses NaN and the infinities as Java and SQL*Plus write them.
func specialFloat(x []byte) (float64, bool) {
	switch string(x) {
	case "NaN", "Nan":
		return math.NaN(), true
	case "Infinity", "+Infinity", "Inf":
		return math.Inf(1), true
	case "-Infinity", "-Inf":
		return math.Inf(-1), true
	}
	return 0, false
}

// appendFloat32 is Bytes.toBytes(float).
func appendFloat32(dst, x []byte) ([]byte, string) {
	f, problem := parseFloat(x, 32)
	if problem != "" {
		return dst, problem
	}
	bits := math.Float32bits(float32(f))
	if math.IsNaN(f) {
		bits = 0x7fc00000 // Float.NaN
	}
	return binary.BigEndian.AppendUint32(dst, bits), ""
}

// appendFloat64 is Bytes.toBytes(double).
func appendFloat64(dst, x []byte) ([]byte, string) {
	f, problem := parseFloat(x, 64)
	if problem != "" {
		return dst, problem
	}
	bits := math.Float64bits(f)
	if math.IsNaN(f) {
		bits = 0x7ff8000000000000 // Double.NaN
	}
	return binary.BigEndian.AppendUint64(dst, bits), ""
}

// Overflowed reports whether a text is what SQL*Plus writes for a number or a date that does not fit its column: two or
// more # and nothing else.
func Overflowed(x []byte) bool {
	if len(x) < 2 || x[0] != '#' {
		return false
	}
	for _, c := range x {
		if c != '#' {
			return false
		}
	}
	return true
}

// Rounded reports whether a text is a number with a positive exponent, as SQL*Plus writes those that have more digits
// than their column: 7.0000E+11. The other digits are lost.
func Rounded(x []byte) bool {
	_, x = CutSign(x)
	mantissa, exponent, found := bytes.Cut(x, exponentMark)
	if !found || !Digits(exponent) {
		return false
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	return Digits(whole) && (len(fraction) == 0 || Digits(fraction))
}

var exponentMark = []byte("E+")

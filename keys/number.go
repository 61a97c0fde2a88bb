package keys

import (
	"encoding/binary"

	"bulkload/values"
)

const (
	problemNumber = values.NoWhole
	problemRange  = "number out of range"
	problemBase   = "number below 0 or above the base"
)

// digits is how many decimal digits n has; n must not be negative.
func digits(n int64) int {
	count := 1
	for n >= 10 {
		n /= 10
		count++
	}
	return count
}

// appendPadded appends n in at least width decimal digits.
func appendPadded(dst []byte, n uint64, width int) []byte {
	var text [20]byte
	at := len(text)
	for n > 0 || width > 0 {
		at--
		text[at] = '0' + byte(n%10)
		n /= 10
		width--
	}
	return append(dst, text[at:]...)
}

// parseLong parses a number as Long.parseLong does.
func parseLong(x []byte) (n int64, problem string) {
	n, problem = values.ParseInt64(x)
	if problem == values.OutsideInt64 {
		problem = problemRange
	}
	return n, problem
}

// applyMod accepts numbers of any length, since Oracle's NUMBER(38) has more digits than a long.
func applyMod(s *step, dst, x []byte) ([]byte, string) {
	_, x = values.CutSign(x)
	if len(x) == 0 {
		return dst, problemNumber
	}
	var r uint64
	for _, c := range x {
		d := c - '0'
		if d > 9 {
			return dst, problemNumber
		}
		r = (10*r + uint64(d)) % uint64(s.n)
	}
	return appendPadded(dst, r, s.width), ""
}

func applyDesc(s *step, dst, x []byte) ([]byte, string) {
	n, problem := parseLong(x)
	if problem == problemRange || problem == "" && (n < 0 || n > s.n) {
		problem = problemBase
	}
	if problem != "" {
		return dst, problem
	}
	return appendPadded(dst, uint64(s.n-n), s.width), ""
}

// applyInt64 is Bytes.toBytes(long).
func applyInt64(_ *step, dst, x []byte) ([]byte, string) {
	n, problem := parseLong(x)
	if problem != "" {
		return dst, problem
	}
	return binary.BigEndian.AppendUint64(dst, uint64(n)), ""
}

// applyInt32 is Bytes.toBytes(int).
func applyInt32(_ *step, dst, x []byte) ([]byte, string) {
	n, problem := parseLong(x)
	if problem == "" && n != int64(int32(n)) {
		problem = problemRange
	}
	if problem != "" {
		return dst, problem
	}
	return binary.BigEndian.AppendUint32(dst, uint32(n)), ""
}

// applyUnhex accepts the same texts as a column of type hex.
func applyUnhex(_ *step, dst, x []byte) ([]byte, string) { return values.AppendHex(dst, x) }

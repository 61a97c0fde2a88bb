package values

import "bulkload/cell"

// ParseBoolean parses true and false as exports write them, in any case: true, t, yes, y, 1 and false, f, no, n, 0.
func ParseBoolean(x []byte) (value bool, problem string) {
	const longest = len("false")
	var lower [longest]byte
	if len(x) <= longest {
		for i, c := range x {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower[i] = c
		}
		switch string(lower[:len(x)]) {
		case "true", "t", "yes", "y", "1":
			return true, ""
		case "false", "f", "no", "n", "0":
			return false, ""
		}
	}
	return false, "neither true nor false"
}

// appendBoolean encodes a value as Bytes.toBytes(boolean) does.
func appendBoolean(dst, x []byte) ([]byte, string) {
	value, problem := ParseBoolean(x)
	switch {
	case problem != "":
		return dst, problem
	case value:
		return append(dst, 0xff), ""
	}
	return append(dst, 0), ""
}

const (
	problemHex = "not hex digits"
	problemOdd = "hex text with an odd number of digits"
)

// checkHex checks that AppendHex can read x.
func checkHex(x []byte) string {
	_, problem := scanHex(nil, x, false)
	return problem
}

// AppendHex decodes hex text as SQL*Plus writes a RAW (0A1F), and as Sqoop writes it, with a blank between the bytes
// (0a 1f).
func AppendHex(dst, x []byte) ([]byte, string) {
	out, problem := scanHex(dst, x, true)
	if problem != "" {
		return dst, problem
	}
	return out, ""
}

func scanHex(dst, x []byte, keep bool) ([]byte, string) {
	for i := 0; i < len(x); i += 2 {
		if i > 0 && x[i] == ' ' {
			i++
		}
		if i+1 >= len(x) {
			if i < len(x) && cell.HexValue(x[i]) >= 0 {
				return dst, problemOdd
			}
			return dst, problemHex
		}
		high, low := cell.HexValue(x[i]), cell.HexValue(x[i+1])
		if high < 0 || low < 0 {
			return dst, problemHex
		}
		if keep {
			dst = append(dst, byte(high<<4|low))
		}
	}
	return dst, ""
}

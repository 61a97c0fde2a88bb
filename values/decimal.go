package values

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// maxDigits bounds a decimal number. Oracle's have at most 40 digits, and a text of a million digits is not a number.
const maxDigits = 4096

// decimal is a parsed decimal number.
type decimal struct {
	negative bool
	digits   []byte // with a point among them, without zeros in front
	count    int    // number of digits in digits
	scale    int64  // the value is the whole number of the digits, times 10 to the power of -scale
}

// parseDecimal parses what BigDecimal(String) accepts: digits with or without a point, with or without an exponent.
func parseDecimal(x []byte) (d decimal, problem string) {
	const none = "not a decimal number"
	var rest []byte
	d.negative, rest = CutSign(x)
	n, point, digits := 0, -1, 0
	for ; n < len(rest); n++ {
		if c := rest[n]; c >= '0' && c <= '9' {
			digits++
		} else if c == '.' && point < 0 {
			point = n
		} else {
			break
		}
	}
	if digits == 0 {
		return d, none
	}
	exponent, ok := parseExponent(rest[n:])
	if !ok {
		return d, none
	}
	if point >= 0 {
		d.scale = int64(n - point - 1)
	}
	d.scale -= exponent
	d.digits = trimZeros(rest[:n])
	d.count = len(d.digits)
	if point >= n-len(d.digits) {
		d.count--
	}
	if d.count > maxDigits || d.scale != int64(int32(d.scale)) {
		return d, "decimal number too long"
	}
	return d, ""
}

// trimZeros removes leading zeros, and a point among them.
func trimZeros(digits []byte) []byte {
	for len(digits) > 0 && (digits[0] == '0' || digits[0] == '.') {
		digits = digits[1:]
	}
	return digits
}

// parseExponent parses an exponent with its e, if there is one.
func parseExponent(x []byte) (n int64, ok bool) {
	if len(x) == 0 {
		return 0, true
	}
	if x[0] != 'e' && x[0] != 'E' {
		return 0, false
	}
	n, problem := ParseInt64(x[1:])
	return n, problem == "" && n >= math.MinInt32 && n <= math.MaxInt32
}

// appendDecimal is Bytes.toBytes(BigDecimal): the scale, then BigInteger.toByteArray of the unscaled value.
func appendDecimal(dst, x []byte) ([]byte, string) {
	d, problem := parseDecimal(x)
	if problem != "" {
		return dst, problem
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(d.scale))
	if d.count > 38 { // 10^38 is below 2^127
		return d.appendLong(dst), ""
	}
	var high, low uint64
	for _, c := range d.digits {
		if c == '.' {
			continue
		}
		carry, product := bits.Mul64(low, 10)
		high = high*10 + carry
		low, carry = bits.Add64(product, uint64(c-'0'), 0)
		high += carry
	}
	if d.negative {
		low, high = -low, ^high
		if low == 0 {
			high++
		}
	}
	var all [16]byte
	binary.BigEndian.PutUint64(all[:], high)
	binary.BigEndian.PutUint64(all[8:], low)
	return append(dst, minimal(all[:])...), ""
}

// minimal removes leading bytes that a number in two's complement does not need. ingest/parquet repeats this condition
// where it reads decimals, because sharing three lines would tie the form to what this package exports.
func minimal(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// appendLong appends the unscaled value of a number with more digits than fit into 128 bits.
func (d *decimal) appendLong(dst []byte) []byte {
	digits := make([]byte, 0, len(d.digits))
	for _, c := range d.digits {
		if c != '.' {
			digits = append(digits, c)
		}
	}
	n, _ := new(big.Int).SetString(string(digits), 10)
	size := n.BitLen()/8 + 1 // one bit more than the value has, for the sign
	if d.negative {
		n.Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*size)), n)
	}
	return append(dst, minimal(n.FillBytes(make([]byte, size)))...)
}

package parquet

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
)

// decimals formats decimals, with a point before the fraction. Zero has no sign.
type decimals struct {
	scale int
	zeros bool // whether zeros at the end of the fraction are shown
}

// appendInt appends a decimal whose unscaled value is n.
func (d decimals) appendInt(dst []byte, n int64) []byte {
	magnitude := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	var room [20]byte
	return d.placePoint(dst, strconv.AppendUint(room[:0], magnitude, 10))
}

// appendBytes appends a decimal whose unscaled value is in big-endian two's complement, as in BigInteger.toByteArray.
// It allocates memory for a value above 16 bytes (38 digits).
func (d decimals) appendBytes(dst, b []byte) []byte {
	for len(b) > 16 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > 16 {
		return d.appendLong(dst, b)
	}
	var wide [16]byte
	if b[0] >= 0x80 {
		for i := range wide {
			wide[i] = 0xff
		}
	}
	copy(wide[16-len(b):], b)
	high, low := binary.BigEndian.Uint64(wide[:8]), binary.BigEndian.Uint64(wide[8:])
	if b[0] >= 0x80 {
		dst = append(dst, '-')
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	var room [40]byte
	return d.placePoint(dst, appendWide(room[:0], high, low))
}

// appendWide appends high·2^64 + low.
func appendWide(dst []byte, high, low uint64) []byte {
	const chunk = 1e18 // digits at a time
	if high == 0 {
		return strconv.AppendUint(dst, low, 10)
	}
	// high is divided by chunk first, since bits.Div64 requires it to be smaller than chunk.
	top, rest := high/chunk, high%chunk
	middle, last := bits.Div64(rest, low, chunk)
	dst = appendWide(dst, top, middle)
	at := len(dst)
	dst = append(dst, "000000000000000000"...)
	for i := at + 17; i >= at; i-- {
		dst[i] = byte('0' + last%10)
		last /= 10
	}
	return dst
}

func (d decimals) appendLong(dst, b []byte) []byte {
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		dst = append(dst, '-')
		n.Neg(n)
	}
	return d.placePoint(dst, n.Append(nil, 10))
}

// placePoint inserts the point into digits.
func (d decimals) placePoint(dst, digits []byte) []byte {
	whole := len(digits) - d.scale
	if whole > 0 {
		dst = append(dst, digits[:whole]...)
		digits = digits[whole:]
		whole = 0
	} else {
		dst = append(dst, '0')
	}
	if d.scale == 0 {
		return dst
	}
	end := len(digits)
	for !d.zeros && end > 0 && digits[end-1] == '0' {
		end--
	}
	if end == 0 && !d.zeros {
		return dst
	}
	dst = append(dst, '.')
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, digits[:end]...)
}

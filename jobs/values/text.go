package values

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"time"

	"bulkload/keys"
)

// AppendText appends for people what a value stands for that AppendBinary has made; false where it can't have. Moments are
// written in the type's zone, with their offset.
func (r *Reader) AppendText(dst, stored []byte) (out []byte, ok bool) {
	if size := binarySizes[r.kind]; size > 0 && len(stored) != size {
		return dst, false
	}
	switch r.kind {
	case keys.KindInt16:
		return strconv.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(stored))), 10), true
	case keys.KindInt32:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(stored))), 10), true
	case keys.KindInt64:
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(stored)), 10), true
	case keys.KindFloat32:
		return strconv.AppendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(stored))), 'g', -1, 32), true
	case keys.KindFloat64:
		return strconv.AppendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(stored)), 'g', -1, 64), true
	case keys.KindDecimal:
		return appendDecimalText(dst, stored)
	case keys.KindBoolean:
		return strconv.AppendBool(dst, stored[0] != 0), true // as Bytes.toBoolean
	case keys.KindDate, keys.KindTimestamp:
		return r.appendMomentText(dst, int64(binary.BigEndian.Uint64(stored))), true
	case keys.KindHex:
		return hex.AppendEncode(dst, stored), true
	}
	return append(dst, stored...), true
}

// binarySizes are the bytes of what AppendBinary makes, where it is always as many.
var binarySizes = map[keys.Kind]int{keys.KindInt16: 2, keys.KindInt32: 4, keys.KindInt64: 8, keys.KindFloat32: 4, keys.KindFloat64: 8,
	keys.KindBoolean: 1, keys.KindDate: 8, keys.KindTimestamp: 8}

func (r *Reader) appendMomentText(dst []byte, millis int64) []byte {
	t := time.UnixMilli(millis).UTC()
	if r.zone.location != nil {
		t = t.In(r.zone.location)
	}
	if r.kind == keys.KindDate {
		return t.AppendFormat(dst, time.DateOnly)
	}
	return t.AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
}

// appendDecimalText writes a BigDecimal with its digits behind the point, and with an exponent where there are too many.
func appendDecimalText(dst, stored []byte) ([]byte, bool) {
	if len(stored) < 5 {
		return dst, false
	}
	scale, size := int(int32(binary.BigEndian.Uint32(stored))), len(stored)-4
	n := new(big.Int).SetBytes(stored[4:])
	if stored[4] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	if scale < 0 || scale > maxDigits {
		dst = n.Append(dst, 10)
		return strconv.AppendInt(append(dst, 'E'), -int64(scale), 10), true
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := n.Abs(n).Append(nil, 10)
	for len(digits) <= scale {
		digits = append([]byte{'0'}, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	return dst, true
}

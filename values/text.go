package values

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"time"
)

// AppendText formats a value encoded by AppendBinary for people; false if the bytes can't be such a value. Timestamps
// are shown in the type's zone, with their offset.
func (r *ColumnParser) AppendText(dst, stored []byte) (out []byte, ok bool) {
	if size := binarySizes[r.kind]; size > 0 && len(stored) != size {
		return dst, false
	}
	switch r.kind {
	case KindInt16:
		return strconv.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(stored))), 10), true
	case KindInt32:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(stored))), 10), true
	case KindInt64:
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(stored)), 10), true
	case KindFloat32:
		return strconv.AppendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(stored))), 'g', -1, 32), true
	case KindFloat64:
		return strconv.AppendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(stored)), 'g', -1, 64), true
	case KindDecimal:
		return appendDecimalText(dst, stored)
	case KindBoolean:
		return strconv.AppendBool(dst, stored[0] != 0), true // as Bytes.toBoolean
	case KindDate, KindTimestamp:
		return r.appendMomentText(dst, int64(binary.BigEndian.Uint64(stored))), true
	case KindHex:
		return hex.AppendEncode(dst, stored), true
	}
	return append(dst, stored...), true
}

// binarySizes are the lengths of AppendBinary's results, for kinds with a fixed one.
var binarySizes = map[TypeKind]int{KindInt16: 2, KindInt32: 4, KindInt64: 8, KindFloat32: 4, KindFloat64: 8,
	KindBoolean: 1, KindDate: 8, KindTimestamp: 8}

func (r *ColumnParser) appendMomentText(dst []byte, millis int64) []byte {
	t := time.UnixMilli(millis).UTC()
	if r.zone.location != nil {
		t = t.In(r.zone.location)
	}
	if r.kind == KindDate {
		return t.AppendFormat(dst, time.DateOnly)
	}
	layout := "2006-01-02T15:04:05.000Z07:00"
	if _, offset := t.Zone(); offset%60 != 0 { // local mean time, used before the zone had standard time
		layout = "2006-01-02T15:04:05.000Z07:00:00"
	}
	return t.AppendFormat(dst, layout)
}

// appendDecimalText formats a BigDecimal with its fraction, or with an exponent if it has too many digits.
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

package values

import (
	"cmp"
	"math"
)

// Number is a number's text, ready for exact comparison, whatever its length. It is a view of the text.
type Number struct {
	special float64 // NaN or an infinity if it is not 0
	decimal
}

// ParseNumber parses a decimal number and, if float is set, NaN and the infinities.
func ParseNumber(x []byte, float bool) (n Number, problem string) {
	if float {
		if f, ok := specialFloat(x); ok {
			return Number{special: f}, ""
		}
	}
	n.decimal, problem = parseDecimal(x)
	return n, problem
}

// Compare orders numbers. ok is false if either is NaN, which compares with no number.
func (n Number) Compare(o Number) (order int, ok bool) {
	if n.special != 0 || o.special != 0 {
		return cmp.Compare(n.special, o.special), !math.IsNaN(n.special) && !math.IsNaN(o.special)
	}
	return n.decimal.compare(&o.decimal), true
}

func (d *decimal) sign() int {
	switch {
	case d.count == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d *decimal) compare(o *decimal) int {
	s := d.sign()
	if c := cmp.Compare(s, o.sign()); c != 0 || s == 0 {
		return c
	}
	return s * d.compareSize(o)
}

// compareSize orders the absolute values of two nonzero numbers: by the position of the first digit, then digit by
// digit.
func (d *decimal) compareSize(o *decimal) int {
	if c := cmp.Compare(int64(d.count)-d.scale, int64(o.count)-o.scale); c != 0 {
		return c
	}
	x, y := d.digits, o.digits
	for len(x) > 0 || len(y) > 0 {
		var a, b byte
		a, x = nextDigit(x)
		b, y = nextDigit(y)
		if a != b {
			return cmp.Compare(a, b)
		}
	}
	return 0
}

// nextDigit removes the next digit; it returns a zero if there are no more.
func nextDigit(x []byte) (byte, []byte) {
	if len(x) > 0 && x[0] == '.' {
		x = x[1:]
	}
	if len(x) == 0 {
		return '0', nil
	}
	return x[0], x[1:]
}

package parquet

import (
	"math"
	"testing"
)

// TestNumbers: the results of Double.toString and Float.toString of Java 19 to 25.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		value float64
		bits  int
		want  string
	}{
		{math.SmallestNonzeroFloat64, 64, "4.9E-324"}, {-1e-323, 64, "-9.9E-324"}, {2e-323, 64, "2.0E-323"}, {1.5e-322, 64, "1.5E-322"},
		{math.SmallestNonzeroFloat32, 32, "1.4E-45"}, {3e-45, 32, "2.8E-45"}, {4e-45, 32, "4.2E-45"}, {7e-45, 32, "7.0E-45"},
		{0x1p-1022, 64, "2.2250738585072014E-308"}, {0x1p-126, 32, "1.1754944E-38"}, {math.MaxFloat64, 64, "1.7976931348623157E308"},
		{math.MaxFloat32, 32, "3.4028235E38"}, {2e23, 64, "2.0E23"}, {1e23, 64, "1.0E23"}, {1e7, 32, "1.0E7"}, {9999999, 32, "9999999.0"},
		{0.001, 64, "0.001"}, {0.0009, 64, "9.0E-4"}, {-1.5e-7, 64, "-1.5E-7"}, {math.Copysign(0, -1), 64, "-0.0"}, {100, 64, "100.0"},
	} {
		value := c.value
		if c.bits == 32 {
			value = float64(float32(value))
		}
		if got := string(appendFloat(nil, value, c.bits)); got != c.want {
			t.Errorf("%g of %d bits: %s, want %s", c.value, c.bits, got, c.want)
		}
	}
}

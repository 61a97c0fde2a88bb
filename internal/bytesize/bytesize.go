// Package bytesize formats and parses numbers of bytes such as 64KiB.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// Parse parses a number of bytes: 65536, 64KiB, 10GiB, 1.5GB. Units may be in lower case.
func Parse(text string) (int64, error) {
	digits, factor := text, 1.0
	for _, u := range sizeUnits {
		if n := len(text) - len(u.suffix); n >= 0 && strings.EqualFold(text[n:], u.suffix) {
			digits, factor = strings.TrimSpace(text[:n]), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) || n*factor >= math.MaxInt64 || n*factor < 1 {
		return 0, fmt.Errorf("%q is not a size; write it as 65536, 64KiB or 10GiB", text)
	}
	return int64(n * factor), nil
}

// Exact formats a number of bytes as Parse reads it, without rounding.
func Exact(n int64) string {
	for i := 3; i >= 0; i-- {
		if u := int64(sizeUnits[i].bytes); n > 0 && n%u == 0 {
			return strconv.FormatInt(n/u, 10) + sizeUnits[i].suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// Format formats a number of bytes for people.
func Format(n int64) string {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%d B", n)
}

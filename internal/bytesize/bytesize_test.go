package bytesize

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "65536": 65536, "64KiB": 65536, "1.5GB": 1.5e9, "10GiB": 10 << 30, "2 MiB": 2 << 20, "5B": 5, "512mb": 512e6, "64kib": 65536, "3KB": 3000} {
		if n, err := Parse(text); err != nil || n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "KiB", "1e30", "NaN", "Inf", "0.1", "64K"} {
		if n, err := Parse(text); err == nil {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}

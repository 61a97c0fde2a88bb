package bytesize

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "65536": 65536, "64KiB": 65536, "1.5GB": 1.5e9, "10GiB": 10 << 30, "2 MiB": 2 << 20, "5B": 5, "512mb": 512e6, "64kib": 65536, "3KB": 3000} {
		if n, err := Parse(text); err != nil || n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 1000: "1000", 1 << 20: "1MiB", 1536 << 20: "1536MiB", 2 << 40: "2TiB"} {
		text := Exact(n)
		if again, err := Parse(text); text != want || n > 0 && (err != nil || again != n) {
			t.Errorf("%d is %q, read as %d, %v; want %q", n, text, again, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "KiB", "1e30", "NaN", "Inf", "0.1", "64K"} {
		if n, err := Parse(text); err == nil {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}

package editdistance

import (
	"math/rand/v2"
	"testing"
)

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"check_id", "chek_id", 1}, {"北京", "北海", 1}, {"ab", "ba", 2},
	} {
		if got := Between(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestMetric: the distance is a metric, and for short names equals that of the plain recursion.
func TestMetric(t *testing.T) {
	var plain func(a, b string) int
	plain = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return plain(a[1:], b[1:])
		}
		return 1 + min(plain(a[1:], b), plain(a, b[1:]), plain(a[1:], b[1:]))
	}
	r := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = 'a' + byte(r.IntN(3))
		}
		return string(b)
	}
	for range 2_000 {
		a, b := name(), name()
		if got, want := Between(a, b), plain(a, b); got != want || Between(b, a) != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}

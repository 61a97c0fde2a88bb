package timing

import (
	"testing"
	"time"
)

func TestApportion(t *testing.T) {
	t.Parallel()
	for _, c := range [][5]time.Duration{{90, 1, 2, 30, 60}, {90, 0, 0, 90, 0}, {-5, 1, 1, 0, 0}, {90, 0, 7, 0, 90}} {
		if a, b := apportion(c[0], c[1], c[2]); a != c[3] || b != c[4] {
			t.Errorf("%d by %d to %d is %d and %d, want %d and %d", c[0], c[1], c[2], a, b, c[3], c[4])
		}
	}
}

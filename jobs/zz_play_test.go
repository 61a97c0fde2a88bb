package jobs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	b := searchBaseOf(t, searchRows, "gp")
	n, bad := 0, map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		n++
		sch := schedule{Order: r.Uint32(), Command: r.IntN(2), Faults: []fault{{r.IntN(200), "second client", 1}}}
		if s := playSchedule(t, b, sch); s.wrong != "" {
			if bad[kindOfWrong.FindString(s.wrong)]++; bad[kindOfWrong.FindString(s.wrong)] < 3 {
				fmt.Fprintln(os.Stderr, s.failure(sch))
			}
		}
	}
	fmt.Fprintln(os.Stderr, n, bad)
}

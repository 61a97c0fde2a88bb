package load

import (
	"strings"
	"testing"
)

// TestReportsAreAdded: what several loads of an output did is added; the staging folder is the last one's.
func TestReportsAreAdded(t *testing.T) {
	t.Parallel()
	sum := Report{Files: 1, Regions: 2, Rounds: 3, Probed: 4, Staging: "one"}
	sum.Add(&Report{Files: 10, Regions: 20, Rounds: 30, Probed: 40})
	if sum != (Report{Files: 11, Regions: 22, Rounds: 33, Probed: 44}) {
		t.Errorf("%+v", sum)
	}
}

// TestFilesThatWereServedBefore: the mark is for a file all of whose known cells were there. One of which no cell is
// known has none.
func TestFilesThatWereServedBefore(t *testing.T) {
	t.Parallel()
	for marks, want := range map[string]bool{"": false, "before": true, "before before": true, "before new": false, "new": false} {
		var f HFile
		for _, mark := range strings.Fields(marks) {
			f.Probes = append(f.Probes, Probe{Before: mark == "before"})
		}
		if f.ServedBefore() != want {
			t.Errorf("cells %q: %t", marks, !want)
		}
	}
}

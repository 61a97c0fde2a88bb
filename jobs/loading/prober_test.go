package loading

import (
	"strings"
	"testing"

	"bulkload/load"
)

// TestLostHow: a cause is named only if the table's identity agrees with it.
func TestLostHow(t *testing.T) {
	table := &load.Table{Name: "ns:t"}
	for identity, want := range map[string]string{
		"":               "Most likely the table was truncated",
		"another":        "The table was changed after the load",
		table.Identity(): "The table was neither created again nor truncated as a whole",
	} {
		got := adviceFor(load.Missing, lostHow(table, identity))
		if !strings.HasPrefix(got, want) || !strings.Contains(got, "--force writes and loads them again") {
			t.Errorf("identity %q: %s", identity, got)
		}
	}
	if got := adviceFor(load.Expired, lostSomehow); strings.Contains(got, "truncated") {
		t.Errorf("expired cells: %s", got)
	}
}

package stats

import (
	"os"
	"strings"
	"testing"
)

// TestChecksAreDocumented: docs/plan.md explains every check.
func TestChecksAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !strings.Contains(string(page), "\n| `"+c.code+"` | ") {
			t.Errorf("docs/plan.md does not explain %s", c.code)
		}
	}
}

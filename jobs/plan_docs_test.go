package jobs

import (
	"os"
	"strings"
	"testing"

	"bulkload/keys"
)

// TestKeyFindingsAreDocumented: docs/plan.md explains what follows from an expression alone.
func TestKeyFindingsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{keys.FindingMonotonic, keys.FindingCycle, keys.FindingRandomSalt, keys.FindingOpenSalt, keys.FindingLateSalt,
		keys.FindingNoSeparator, keys.FindingOpenPrefix, keys.FindingUnusedQuery, keys.FindingReversedUnfixed, keys.FindingUnpadded,
		keys.FindingComplement, keys.FindingSignedBinary, keys.FindingConstant} {
		if !strings.Contains(string(page), "\n| `key-"+code+"` | ") {
			t.Errorf("docs/plan.md does not explain key-%s", code)
		}
	}
}

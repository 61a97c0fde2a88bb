package jobs

import (
	"reflect"
	"testing"

	"bulkload/internal/storednames"
)

// TestStoredNames: what is stored as JSON, or promised as the answer of a command, has a name for each field that is not the
// one of Go's.
func TestStoredNames(t *testing.T) {
	unnamed, n := storednames.Check(reflect.TypeFor[manifest](), reflect.TypeFor[keptHead](), reflect.TypeFor[journalLine](),
		reflect.TypeFor[loggedReject](), reflect.TypeFor[owner](), reflect.TypeFor[Summary](), reflect.TypeFor[PlanReport]())
	if len(unnamed) > 0 || n < 25 {
		t.Errorf("of %d structs, without a name: %v", n, unnamed)
	}
}

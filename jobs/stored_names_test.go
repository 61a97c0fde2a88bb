package jobs

import (
	"reflect"
	"testing"

	"bulkload/internal/storednames"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/dirlock"
	"bulkload/jobs/manifest"
	"bulkload/jobs/plan"
)

// TestStoredNames: what is stored as JSON, or promised as the answer of a command, has a name for each field that is not the
// one of Go's.
func TestStoredNames(t *testing.T) {
	unnamed, n := storednames.Check(reflect.TypeFor[manifest.Manifest](), reflect.TypeFor[checkpoint.Header](), reflect.TypeFor[checkpoint.Line](),
		reflect.TypeFor[dirlock.Owner](), reflect.TypeFor[Summary](), reflect.TypeFor[plan.Report]())
	if len(unnamed) > 0 || n < 25 {
		t.Errorf("of %d structs, without a name: %v", n, unnamed)
	}
}

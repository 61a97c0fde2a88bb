package jobs

import (
	"reflect"
	"testing"

	"bulkload/internal/test/storednames"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run/summary"
)

// TestStoredNames: what is stored as JSON, or promised as the answer of a command, has a name for each field that is not the
// one of Go's.
func TestStoredNames(t *testing.T) {
	unnamed, n := storednames.Check(reflect.TypeFor[manifest.Manifest](), reflect.TypeFor[checkpoint.Header](), reflect.TypeFor[checkpoint.Line](),
		reflect.TypeFor[lock.Owner](), reflect.TypeFor[summary.Summary](), reflect.TypeFor[plan.Report]())
	if len(unnamed) > 0 || n < 25 {
		t.Errorf("of %d structs, without a name: %v", n, unnamed)
	}
}

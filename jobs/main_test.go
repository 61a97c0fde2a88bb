package jobs

import (
	"testing"

	"bulkload/internal/test/runtest"
)

// TestMain: no goroutine of a run, a load, a verification or a look-up goes on when all tests are over.
func TestMain(m *testing.M) { runtest.Main(m) }

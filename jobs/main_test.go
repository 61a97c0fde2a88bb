package jobs

import (
	"testing"

	"bulkload/internal/test/testleak"
)

// TestMain: no goroutine of a run, a load, a verification or a look-up goes on when all tests are over.
func TestMain(m *testing.M) { testleak.Main(m) }

package load

import (
	"testing"

	"bulkload/internal/test/testleak"
)

// TestMain: no goroutine of a connection, a load or a probe goes on when all tests are over.
func TestMain(m *testing.M) { testleak.Main(m) }

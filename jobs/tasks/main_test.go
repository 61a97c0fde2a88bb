package tasks_test

import (
	"testing"

	"bulkload/internal/test/runtest"
)

// TestMain: some tests kill runs; and no goroutine goes on when all tests are over.
func TestMain(m *testing.M) { runtest.Main(m) }

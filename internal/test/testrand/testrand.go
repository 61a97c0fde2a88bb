// Package testrand returns random numbers for tests, such that a failing test can be repeated.
package testrand

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable with the seed for repeating a test.
const Variable = "BULKLOAD_SEED"

// New returns random numbers from a new seed, which a failing test shows, or from the seed in Variable.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", Variable, seed)
	return rand.New(rand.NewPCG(seed, 1))
}

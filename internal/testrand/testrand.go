// Package testrand gives tests random numbers that a failing test can be repeated with.
package testrand

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that gives the seed of a test that is to be repeated.
const Variable = "BULKLOAD_SEED"

// New returns random numbers of a new seed, which a failing test shows, or of the seed in Variable.
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

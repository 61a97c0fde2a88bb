// Package parallel divides work among goroutines.
package parallel

import "runtime"

// Workers is the number of goroutines that compute in parallel.
func Workers() int { return runtime.GOMAXPROCS(0) }

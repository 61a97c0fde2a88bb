// Package parallel shares work out to goroutines.
package parallel

import "runtime"

// Workers is how many goroutines compute in parallel.
func Workers() int { return runtime.GOMAXPROCS(0) }

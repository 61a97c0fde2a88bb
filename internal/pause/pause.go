// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until the context ends: then the error is the context's, also if d is over by then.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

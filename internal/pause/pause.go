// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until the context ends. If the context has ended, the error is the context's, even if d is over,
// too.
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

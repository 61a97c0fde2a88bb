package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"
)

// TestRewrite: what a failed DataNode ends is written again, with pauses that grow, and what ends otherwise is not.
func TestRewrite(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("%w: %w", ErrUnavailable, ErrDataNode)
	for what, c := range map[string]struct {
		err    error // of the first tries
		tries  int   // with that error
		calls  int
		took   time.Duration
		failed bool
	}{
		"no failure":      {nil, 0, 1, 0, false},
		"one":             {lost, 1, 2, time.Second, false},
		"several":         {lost, 7, 8, (1 + 2 + 4 + 8 + 16 + 30 + 30) * time.Second, false},
		"always":          {lost, 100, 12, (1 + 2 + 4 + 8 + 16 + 6*30) * time.Second, true},
		"another failure": {fs.ErrPermission, 100, 1, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, calls, heard := time.Now(), 0, 0
			err := Rewrite(t.Context(), func() error {
				if calls++; calls <= c.tries {
					return c.err
				}
				return nil
			}, func(err error) {
				if heard++; !errors.Is(err, c.err) {
					t.Errorf("%s: heard %v", what, err)
				}
			})
			if calls != c.calls || heard != c.calls-1 || time.Since(begun) != c.took || (err != nil) != c.failed {
				t.Errorf("%s: %d calls, %d heard, in %v: %v", what, calls, heard, time.Since(begun), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := Rewrite(ctx, func() error { return lost }, func(error) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

package tasks

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// TestHanded: what is joined to a HandedOver, at any depth, stays.
func TestHanded(t *testing.T) {
	t.Parallel()
	over := &Pending{}
	failed := fmt.Errorf("release the lock: %w", io.ErrClosedPipe)
	for what, c := range map[string]struct {
		err        error
		over, rest bool
	}{
		"nothing":       {nil, false, false},
		"alone":         {over, true, false},
		"joined alone":  {errors.Join(errors.Join(over), nil), true, false},
		"wrapped":       {fmt.Errorf("output a: %w", errors.Join(over)), true, false},
		"with an error": {errors.Join(fmt.Errorf("output a: %w", errors.Join(over, nil)), failed), true, true},
		"inside":        {fmt.Errorf("output a: %w", errors.Join(failed, over)), true, true},
		"an error":      {failed, false, true},
	} {
		got, rest := SplitPending(c.err)
		if (got != nil) != c.over || (rest != nil) != c.rest || c.rest && !errors.Is(rest, io.ErrClosedPipe) {
			t.Errorf("%s: %v, %v", what, got, rest)
		}
		if errors.As(rest, &got) {
			t.Errorf("%s: %v still hands over", what, rest)
		}
	}
}

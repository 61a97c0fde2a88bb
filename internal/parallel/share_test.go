package parallel

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestShare: each item is given out once; a worker never has two at a time.
func TestShare(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	given, busy := map[int]int{}, map[string]bool{}
	items := make([]int, 1000)
	for i := range items {
		items[i] = i
	}
	err := Share(t.Context(), []string{"a", "b", "c"}, items, func(_ context.Context, worker string, item int) error {
		mu.Lock()
		if busy[worker] {
			t.Errorf("%s has two items", worker)
		}
		busy[worker] = true
		given[item]++
		mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		busy[worker] = false
		return nil
	})
	if err != nil || len(given) != len(items) {
		t.Errorf("%d of %d items, %v", len(given), len(items), err)
	}
	for item, n := range given {
		if n != 1 {
			t.Errorf("item %d was given out %d times", item, n)
		}
	}
}

// TestShareThen: each worker is done once, after its last item; none is if an item fails.
func TestShareThen(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var failed error
	last := map[int]string{}
	do := func(_ context.Context, worker, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		if last[worker] == "done" {
			t.Errorf("worker %d was done, and gets an item", worker)
		}
		last[worker] = "item"
		return failed
	}
	then := func(worker int) {
		mu.Lock()
		defer mu.Unlock()
		if last[worker] == "done" {
			t.Errorf("worker %d is done twice", worker)
		}
		last[worker] = "done"
	}
	if err := ShareThen(t.Context(), []int{1, 2}, make([]int, 100), do, then); err != nil || last[1] != "done" || last[2] != "done" {
		t.Errorf("%v, %v", last, err)
	}
	clear(last)
	failed = errors.New("broken")
	if err := ShareThen(t.Context(), []int{1}, make([]int, 1), do, then); !errors.Is(err, failed) || last[1] != "item" {
		t.Errorf("%v, %v", last, err)
	}
}

// TestShareEnds: after an error, or the end of the context, no further item is given out.
func TestShareEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	n := 0
	err := Share(t.Context(), []int{0}, make([]int, 10), func(context.Context, int, int) error {
		if n++; n == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || n != 3 {
		t.Errorf("%d items, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	err = Share(ctx, []int{0}, make([]int, 10), func(context.Context, int, int) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%d items, %v", n, err)
	}
	if err := Share(t.Context(), []int{0, 1}, []int(nil), func(context.Context, int, int) error { return broken }); err != nil {
		t.Error(err)
	}
}

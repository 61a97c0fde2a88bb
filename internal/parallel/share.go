package parallel

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Share gives items to workers in order, each to the next free worker. A worker has its own goroutine and one item at a
// time. Share ends with the first error of do or of ctx.
func Share[W, T any](ctx context.Context, workers []W, items []T,
	do func(ctx context.Context, worker W, item T) error) error {
	return ShareThen(ctx, workers, items, do, func(W) {})
}

// ShareThen is Share, and calls then with each worker as soon as there is no further item for it, unless an item has
// failed or ctx has ended.
func ShareThen[W, T any](ctx context.Context, workers []W, items []T,
	do func(ctx context.Context, worker W, item T) error, then func(worker W)) error {
	group, ctx := errgroup.WithContext(ctx)
	var given atomic.Int64
	for _, w := range workers {
		group.Go(func() error {
			for ctx.Err() == nil {
				i := given.Add(1) - 1
				if i >= int64(len(items)) {
					break
				}
				if err := do(ctx, w, items[i]); err != nil {
					return err
				}
			}
			if ctx.Err() == nil {
				then(w)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

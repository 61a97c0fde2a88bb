package storage

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/pause"
)

// rewriteTries is how often something is written if DataNodes fail. Those that failed get no new block: it needs several tries
// only if DataNodes fail one after the other, or all are gone for some minutes.
const rewriteTries = 12

// The pauses between two tries.
const (
	firstRewritePause = time.Second
	lastRewritePause  = 30 * time.Second
)

// Rewrite calls write, which writes files from their beginning or leaves none, and calls it again if a DataNode fails meanwhile: a
// file of HDFS ends with the first DataNode that fails. failed hears of each try that is followed by another one.
func Rewrite(ctx context.Context, write func() error, failed func(error)) error {
	wait := firstRewritePause
	for try := 1; ; try++ {
		err := write()
		if !errors.Is(err, ErrDataNode) || try == rewriteTries || ctx.Err() != nil {
			return err
		}
		failed(err)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastRewritePause)
	}
}

package storage

import (
	"context"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
)

// rewriteTries bounds the calls of write by Rewrite. A DataNode that has failed gets no new block, so several tries are
// needed only if DataNodes fail one after another, or if all are gone for some minutes.
const rewriteTries = 12

// The pauses between two tries.
const (
	firstRewritePause = time.Second
	lastRewritePause  = 30 * time.Second
)

// Rewrite calls write, and repeats it if a DataNode fails (ErrDataNode), because a half-written HDFS file can't be
// continued after that. write must start its files from the beginning each time, and leave none if it fails. failed is
// called with the error of each try that another one follows.
func Rewrite(ctx context.Context, write func() error, failed func(error)) error {
	return rewrite(ctx, rewriteTries, write, failed)
}

// rewrite is Rewrite with another number of tries.
func rewrite(ctx context.Context, tries int, write func() error, failed func(error)) error {
	wait := firstRewritePause
	for try := 1; ; try++ {
		err := write()
		if !errcode.Is(err, ErrDataNode) || try == tries || ctx.Err() != nil {
			return err
		}
		failed(err)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastRewritePause)
	}
}

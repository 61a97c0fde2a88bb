// Package throttle bounds how many bytes a second a command moves to and from a cluster, and how many rows it looks up.
package throttle

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"bulkload/internal/bytesize"

	"golang.org/x/time/rate"
)

// Minimum is the lowest rate, in bytes a second. At lower rates, DataNodes and region servers would end connections
// that carry nothing for a minute.
const Minimum = 1_000_000

// Limit is a number of bytes a second that all goroutines of a command share. A nil Limit limits nothing.
type Limit struct {
	ctx     context.Context // file systems are called without one
	limiter *rate.Limiter
	moved   atomic.Int64
}

// Parse reads a rate such as 50MB/s, in bytes a second.
func Parse(text string) (int64, error) {
	size, ok := strings.CutSuffix(text, "/s")
	n, err := bytesize.Parse(size)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a rate; write it as 50MB/s or 20MiB/s", text)
	}
	if n < Minimum {
		return 0, fmt.Errorf("%s is too low: servers close connections that are too slow; give at least 1MB/s", text)
	}
	return n, nil
}

// New returns a Limit of perSecond bytes, which must be positive. After ctx has ended it limits nothing, so that a
// command that is interrupted ends soon.
func New(ctx context.Context, perSecond int64) *Limit {
	// An eighth of a second: short enough for an even flow, long enough that timers don't cost much.
	burst := max(perSecond/8, 64<<10)
	return &Limit{ctx: ctx, limiter: rate.NewLimiter(rate.Limit(perSecond), int(burst))}
}

// NewCount is New for things that are counted, such as rows.
func NewCount(ctx context.Context, perSecond int64) *Limit {
	return &Limit{ctx: ctx, limiter: rate.NewLimiter(rate.Limit(perSecond), int(max(perSecond/8, 1)))}
}

// PerSecond is the limit in bytes a second; 0 if there is none.
func (l *Limit) PerSecond() int64 {
	if l == nil {
		return 0
	}
	return int64(l.limiter.Limit())
}

// Moved returns the number of bytes that Wait was called for; tests compare it with the expected traffic.
func (l *Limit) Moved() int64 { return l.moved.Load() }

// Wait waits until n more bytes may be moved, or until n bytes that were already moved are allowed.
//
// It asks for small pieces, so that goroutines alternate and a few bytes, such as those of a lock, need not wait until
// another goroutine has moved megabytes.
func (l *Limit) Wait(n int) {
	if l == nil {
		return
	}
	l.moved.Add(int64(n))
	for n > 0 {
		piece := min(n, l.limiter.Burst())
		if l.limiter.WaitN(l.ctx, piece) != nil { // the context has ended
			return
		}
		n -= piece
	}
}

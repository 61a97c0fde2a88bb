package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/parallel"
	"bulkload/internal/throttle"

	"github.com/tsuna/gohbase/pb"
)

// reader reads rows from the region servers that serve them.
type reader struct {
	servers   *servers
	limits    settings
	locations locations
	metaScans atomic.Int64 // of all regions of a table
	closing   atomic.Int64 // scanners that are being closed
	rate      *throttle.Limit
	parents   sync.Map // encoded names of regions that were split, by those of their daughters
	replica   int      // which replica of each region is read; 0: the region itself
}

func newReader(servers *servers, limits settings) *reader {
	return &reader{servers: servers, limits: limits}
}

// longestPause is how many seconds may pass between two answers to a scan if all scans read as fast as the rate allows:
// far less than a scanner's lease, which is a minute.
const longestPause = 10

// throttle bounds the bytes a second that scans read. The more scans share the rate, the smaller each answer is, so
// that the pauses between a scan's answers stay far below its scanner's lease.
func (r *reader) throttle(limit *throttle.Limit) {
	if limit == nil {
		return
	}
	r.rate = limit
	second := uint64(limit.PerSecond())
	r.limits.scanBytes = min(r.limits.scanBytes, second, longestPause*second/uint64(Scans()))
}

// Scans is how many scans of a table a command may make in parallel: a scan mostly waits for its server.
func Scans() int { return 2 * parallel.Workers() }

// closeGrace is how long Close waits for scanners that are being closed, so that their servers need not wait for the
// leases to expire.
const closeGrace = time.Second

func (r *reader) close() {
	for end := time.Now().Add(closeGrace); r.closing.Load() > 0 && time.Now().Before(end); {
		time.Sleep(closeGrace / 100)
	}
}

// get reads one row.
func (r *reader) get(ctx context.Context, table string, get *pb.Get) (row []cell.Cell, err error) {
	tries := r.newTries()
	for {
		row, err = r.getOnce(ctx, tries, table, get)
		if err == nil {
			return row, nil
		}
		if err = tries.wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (r *reader) getOnce(ctx context.Context, tries *retries, table string, get *pb.Get) (row []cell.Cell, err error) {
	ctx, cancel := tries.limit(ctx, r.limits.call)
	defer cancel()
	region, err := r.locate(ctx, table, get.Row, false)
	if err != nil {
		return nil, err
	}
	conn, err := r.servers.region(ctx, region.Server)
	if err == nil {
		row, err = conn.Get(ctx, region.Name, get)
	}
	r.invalidate(table, region, conn, err)
	return row, err
}

// invalidate forgets a region's location if a failure says that it has moved, and drops a connection that did not
// answer.
func (r *reader) invalidate(table string, region *Region, conn *hbase.Conn, err error) {
	if remedyOf(err) == relocate {
		r.locations.drop(table, region)
	}
	r.servers.overdue(conn, err)
}

// retries bounds how often and how long a failed read is retried.
type retries struct {
	timeout  time.Duration // without an answer
	answered time.Time     // time of the last answer, or of the start
	failures int           // exceptions since the read last progressed
	pause    backoff
	usable   func(context.Context) error // checks that the table exists and is enabled; nil: not checked
}

// maxFailures is how many consecutive exceptions are considered transient.
const maxFailures = 10

func (r *reader) newTries() *retries {
	return &retries{timeout: r.limits.idle, answered: time.Now(), pause: r.servers.backoff("a read")}
}

// limit bounds the time of one try.
func (t *retries) limit(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	end := t.answered.Add(t.timeout)
	if soon := time.Now().Add(most); soon.Before(end) {
		end = soon
	}
	return context.WithDeadline(ctx, end)
}

// progressed records progress.
func (t *retries) progressed() {
	t.failures, t.pause.next = 0, 0
}

// wait waits before the next try. It returns an error if there should not be one.
//
// Only exceptions with the remedy reopenScanner are counted. Those of moving regions or busy servers pass by
// themselves, and are bounded by the time without an answer. The regions of a table that was disabled or dropped never
// come back.
func (t *retries) wait(ctx context.Context, err error) error {
	remedy := remedyOf(err)
	if remedy == reopenScanner {
		t.failures++
	}
	switch {
	case ctx.Err() != nil, remedy == noRetry:
		return err
	case t.failures >= maxFailures || time.Since(t.answered) >= t.timeout:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !t.pause.wait(ctx):
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", ctx.Err(), err) // which names the server
		}
		return ctx.Err()
	case remedy == relocate && t.usable != nil:
		if gone := t.usable(ctx); errors.Is(gone, ErrRefused) || errors.Is(gone, ErrNotFound) {
			return gone
		}
	}
	return nil
}

func remedyOf(err error) remedy {
	var remote *hbase.RemoteError
	var conn *hbase.ConnError
	switch {
	case err == nil, errors.Is(err, hbase.ErrMalformed), errors.Is(err, context.Canceled), isLogin(err):
		return noRetry
	case errors.Is(err, hbase.ErrScannerClosed):
		return reopenScanner
	case errors.As(err, &remote):
		return remedyOfException(remote)
	case errors.As(err, &conn), errors.Is(err, ErrUnavailable), errors.Is(err, errInTransition),
		errors.Is(err, context.DeadlineExceeded):
		return relocate
	}
	return noRetry
}

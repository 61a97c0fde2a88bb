package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
)

// reader reads rows, from the region servers that have them open.
type reader struct {
	servers   *servers
	limits    settings
	locations locations
	metaScans atomic.Int64 // of all regions of a table
	closing   atomic.Int64 // scanners that are being closed
}

func newReader(servers *servers, limits settings) *reader {
	return &reader{servers: servers, limits: limits}
}

// farewell is how long scanners that were given up are waited for, so that their servers need not wait for their leases.
const farewell = time.Second

func (r *reader) close() {
	for end := time.Now().Add(farewell); r.closing.Load() > 0 && time.Now().Before(end); {
		time.Sleep(farewell / 100)
	}
}

// get reads one row.
func (r *reader) get(ctx context.Context, table string, get *pb.Get) (row hbase.Row, err error) {
	tries := r.newTries()
	for {
		row, err = r.getOnce(ctx, tries, table, get)
		if err == nil {
			return row, nil
		}
		if err = tries.again(ctx, err); err != nil {
			return hbase.Row{}, err
		}
	}
}

func (r *reader) getOnce(ctx context.Context, tries *tries, table string, get *pb.Get) (row hbase.Row, err error) {
	ctx, cancel := tries.limit(ctx, r.limits.call)
	defer cancel()
	region, err := r.locate(ctx, table, get.Row)
	if err != nil {
		return hbase.Row{}, err
	}
	conn, err := r.servers.region(ctx, region.Server)
	if err == nil {
		row, err = conn.Get(ctx, region.Name, get)
	}
	r.learn(table, region, conn, err)
	return row, err
}

// learn forgets where a region is, where a failure says that it is elsewhere, and a connection that has not answered.
func (r *reader) learn(table string, region *Region, conn *hbase.Conn, err error) {
	if remedyOf(err) == lookAgain {
		r.locations.drop(table, region)
	}
	r.servers.overdue(conn, err)
}

// tries bounds how often and how long a read that fails is tried again.
type tries struct {
	patience time.Duration // without an answer
	answered time.Time     // the last answer, or the beginning
	stuck    int           // failures that a server answers with, since the read got further
	pause    backoff
}

// maxStuck is how many exceptions one after the other are believed to pass.
const maxStuck = 10

func (r *reader) newTries() *tries {
	return &tries{patience: r.limits.idle, answered: time.Now(), pause: r.servers.backoff("a read")}
}

// limit gives one try the time it may take.
func (t *tries) limit(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	end := t.answered.Add(t.patience)
	if soon := time.Now().Add(most); soon.Before(end) {
		end = soon
	}
	return context.WithDeadline(ctx, end)
}

// gotFurther says that there is progress.
func (t *tries) gotFurther() {
	t.stuck, t.pause.next = 0, 0
}

// again waits before the next try. It returns an error where there should be none.
func (t *tries) again(ctx context.Context, err error) error {
	remedy := remedyOf(err)
	if remedy == reopen {
		t.stuck++
	}
	switch {
	case ctx.Err() != nil, remedy == giveUp:
		return err
	case t.stuck >= maxStuck || time.Since(t.answered) >= t.patience:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !t.pause.wait(ctx):
		return ctx.Err()
	}
	return nil
}

func remedyOf(err error) remedy {
	var remote *hbase.RemoteError
	var conn *hbase.ConnError
	switch {
	case err == nil, errors.Is(err, hbase.ErrMalformed), errors.Is(err, context.Canceled), isLogin(err):
		return giveUp
	case errors.Is(err, hbase.ErrScannerClosed):
		return reopen
	case errors.As(err, &remote):
		return remedyOfException(remote)
	case errors.As(err, &conn), errors.Is(err, ErrUnavailable), errors.Is(err, errInTransition), errors.Is(err, context.DeadlineExceeded):
		return lookAgain
	}
	return giveUp
}

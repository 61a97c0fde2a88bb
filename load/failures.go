package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/kerberos"
)

// passing are exceptions of a server that can't do it now, or not any more (regions move): asking again, after a
// look at where the region is, will help.
var passing = []string{
	"NotServingRegionException", "RegionMovedException", "RegionOpeningException", "RegionTooBusyException",
	"RegionServerStoppedException", "RegionServerAbortedException", "WrongRegionException",
	"ServerNotRunningYetException", "PleaseHoldException", "MasterNotRunningException", "MasterStoppedException",
	"MasterRegistryFetchException", "NotAllMetaRegionsOnlineException",
	"CallQueueTooBigException", "CallDroppedException", "CallTimeoutException", "RpcThrottlingException", "RetryImmediatelyException",
}

func isPassing(err error) bool { return hbase.IsRemote(err, passing...) }

// classify adds what kind of error it is, for callers to decide on. ctx is the caller's: where it ended, that is the
// reason.
func classify(ctx context.Context, err error) error {
	var conn *hbase.ConnError
	var remote *hbase.RemoteError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w (%v)", ctx.Err(), err)
	case isClassified(err):
		return err
	case isLogin(err):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case isPassing(err), errors.As(err, &conn), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case hbase.IsRemote(err, "TableNotFoundException", "NoSuchColumnFamilyException"):
		return errcode.TableMissing.Errorf("%w: %w", ErrNotFound, err)
	case hbase.IsRemote(err, "TableExistsException"):
		return errcode.TableExists.Errorf("%w: %w", ErrExists, err)
	case errors.As(err, &remote):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// isLogin tells of a failure to prove who we are that will not pass: of a KDC's or a server's refusal, not of one that
// does not answer.
func isLogin(err error) bool {
	var ticket *kerberos.Error
	var server *hbase.AuthError
	if errors.As(err, &ticket) {
		return !errors.Is(err, kerberos.ErrNoKDC) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
	}
	return errors.As(err, &server)
}

func isClassified(err error) bool {
	for _, kind := range []error{ErrUnavailable, ErrNotFound, ErrExists, ErrRefused} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// backoff is the wait between two tries.
type backoff struct{ next time.Duration }

const (
	firstWait = 100 * time.Millisecond
	lastWait  = 3 * time.Second
)

// wait waits, every time longer, and tells whether ctx is still alive.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(2*b.next, firstWait), lastWait)
	select {
	case <-time.After(b.next):
		return true
	case <-ctx.Done():
		return false
	}
}

// onMaster makes a call of the active master, again while the master says that it can't now.
func (c *Cluster) onMaster(ctx context.Context, call func(context.Context, *hbase.Conn) error) error {
	var pause backoff
	for {
		conn, err := c.servers.master(ctx)
		if err != nil {
			return err
		}
		err = c.withTimeout(ctx, conn, func(ctx context.Context) error { return call(ctx, conn) })
		if !isPassing(err) {
			return err
		}
		c.servers.forget(conn) // another one may be the active one by now
		if !pause.wait(ctx) {
			return err
		}
	}
}

// withTimeout gives a call that is answered at once its time. A connection on which it was not answered gets no more calls.
func (c *Cluster) withTimeout(ctx context.Context, conn *hbase.Conn, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.call)
	defer cancel()
	err := call(ctx)
	c.servers.overdue(conn, err)
	return err
}

package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bulkload/internal/calllog"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/kerberos"
	"bulkload/internal/pause"
)

// remedy is the reaction to a failure.
type remedy int

const (
	noRetry       remedy = iota // permanent
	reopenScanner               // the scanner is useless, but the region has not moved: open another one
	backOff                     // the server is overloaded
	relocate                    // the region, or its server, has moved or gone
)

// remedies are the reactions to HBase's exceptions, by class name without package.
var remedies = map[string]remedy{
	"UnknownScannerException":        reopenScanner, // its lease ran out, or the server was started again
	"LeaseException":                 reopenScanner, // the same, within a call
	"OutOfOrderScannerNextException": reopenScanner, // the previous answer was lost
	"ScannerResetException":          reopenScanner, // the server could not continue with it

	"CallDroppedException":      backOff,
	"CallQueueTooBigException":  backOff,
	"CallTimeoutException":      backOff,
	"MultiActionResultTooLarge": backOff, // the first reads of the call were answered
	"PleaseHoldException":       backOff,
	"RegionTooBusyException":    backOff,
	"RetryImmediatelyException": backOff,
	"RpcThrottlingException":    backOff,
	"ServerTooBusyException":    backOff,
	"TimeoutIOException":        backOff,

	// Errors of the server's own HDFS client while a NameNode or a DataNode is away, or in safe mode.
	"BlockMissingException":   backOff,
	"ConnectException":        backOff,
	"ConnectTimeoutException": backOff,
	"EOFException":            backOff,
	"NoRouteToHostException":  backOff,
	"RetriableException":      backOff,
	"SafeModeException":       backOff,
	"SocketException":         backOff,
	"SocketTimeoutException":  backOff,
	"StandbyException":        backOff,

	"MasterNotRunningException":        relocate,
	"MasterRegistryFetchException":     relocate,
	"MasterStoppedException":           relocate,
	"NotAllMetaRegionsOnlineException": relocate,
	"NotServingRegionException":        relocate,
	"RegionMovedException":             relocate,
	"RegionOpeningException":           relocate,
	"RegionServerAbortedException":     relocate,
	"RegionServerStoppedException":     relocate,
	"ServerNotRunningYetException":     relocate,
	"WrongRegionException":             relocate,

	"AccessDeniedException":       noRetry,
	"DoNotRetryIOException":       noRetry,
	"FatalConnectionException":    noRetry,
	"NoSuchColumnFamilyException": noRetry,
	"TableNotEnabledException":    noRetry,
	"TableNotFoundException":      noRetry,

	// Refusals by HDFS, and faults of a request or of the server, that HBase does not forbid to try again.
	"AccessControlException":              noRetry,
	"DSQuotaExceededException":            noRetry,
	"IllegalArgumentException":            noRetry,
	"InvalidPathException":                noRetry,
	"NSQuotaExceededException":            noRetry,
	"NullPointerException":                noRetry,
	"ParentNotDirectoryException":         noRetry,
	"QuotaByStorageTypeExceededException": noRetry,
	"UnsupportedOperationException":       noRetry,
}

// remedyOfException is the reaction to an exception. Unknown ones, such as an IOException of HDFS, are retried unless
// the server forbids it.
func remedyOfException(e *hbase.RemoteError) remedy {
	r, known := remedies[e.ShortClass()]
	if !known && !e.DoNotRetry {
		return reopenScanner
	}
	return r
}

// isTransient reports whether err says that a server can't do it now, or not any more because regions move. Asking
// again, after looking up the region, will help.
//
// An exception that is not in remedies is not transient: a read tries a few more times (reopenScanner), and a load goes
// on (see mayPass). Whoever adds one to the list must be sure that the server did nothing, or that doing it twice is
// harmless.
func isTransient(err error) bool {
	var remote *hbase.RemoteError
	if !errors.As(err, &remote) {
		return false
	}
	r := remedyOfException(remote)
	return r == backOff || r == relocate
}

// mayPass reports whether the same request of a load may succeed later: after isTransient errors, and after any
// unlisted exception, such as an IOException of the server's own HDFS client, unless the server forbids a retry. It is
// for requests that may be sent twice and whose retries are bounded. For BulkLoadHFile, attempt looks for the files
// first.
func mayPass(err error) bool {
	var remote *hbase.RemoteError
	return isTransient(err) || errors.As(err, &remote) && remedyOfException(remote) != noRetry
}

// classify marks an error with its kind, for callers to decide on. ctx is the caller's: if it is done, its error takes
// precedence.
//
// An exception that is not in remedies says that the same question may be answered later, unless the server forbids to
// ask it again.
func classify(ctx context.Context, err error) error { return classifyBy(ctx, err, mayPass) }

// classifyBy is classify with another rule for which exceptions may pass. HBase answers a wrong argument of a change
// with a plain IOException, which never passes: for changes the rule is isTransient.
func classifyBy(ctx context.Context, err error, passes func(error) bool) error {
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
	case hbase.IsRemote(err, "TableNotFoundException", "NoSuchColumnFamilyException"):
		return errcode.TableMissing.Errorf("%w: %w", ErrNotFound, err)
	case hbase.IsRemote(err, "TableExistsException"):
		return errcode.TableExists.Errorf("%w: %w", ErrExists, err)
	case passes(err), errors.As(err, &conn), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.As(err, &remote):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// isLogin reports a permanent failure to authenticate: a KDC or a server refused, rather than did not answer.
func isLogin(err error) bool {
	var ticket *kerberos.Error
	var server *hbase.AuthError
	if errors.As(err, &ticket) {
		return !errors.Is(err, kerberos.ErrNoKDC) && !errors.Is(err, context.DeadlineExceeded) &&
			!errors.Is(err, context.Canceled)
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

// backoff is the pause between two tries.
type backoff struct {
	next time.Duration
	what string       // the operation that is tried again, for the log
	log  *slog.Logger // nil: no log
}

// backoff returns a backoff whose waits are logged.
func (s *servers) backoff(what string) backoff {
	return backoff{what: what, log: s.options.Log}
}

const (
	firstWait = 100 * time.Millisecond
	lastWait  = 3 * time.Second
)

// wait waits, longer each time, and reports whether ctx is still alive.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(2*b.next, firstWait), lastWait)
	calllog.Again(ctx, b.log, b.what, b.next, nil)
	return pause.For(ctx, b.next) == nil
}

// onMaster calls the active master, and repeats the call while the master says that it can't serve it now.
//
// The call may be sent more than once. So it must change nothing, lead to the same result when repeated, or carry a
// nonce.
func (c *Cluster) onMaster(ctx context.Context, call func(context.Context, *hbase.Conn) error) error {
	backoff := c.servers.backoff("a call of the master")
	for {
		conn, err := c.servers.master(ctx)
		if err != nil {
			return err
		}
		err = c.withTimeout(ctx, conn, func(ctx context.Context) error { return call(ctx, conn) })
		if !isTransient(err) {
			return err
		}
		c.servers.forget(conn) // another master may be active by now
		if !backoff.wait(ctx) {
			return err
		}
	}
}

// withTimeout limits a call that should be answered at once. A connection that did not answer in time gets no more
// calls.
func (c *Cluster) withTimeout(ctx context.Context, conn *hbase.Conn, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.call)
	defer cancel()
	err := call(ctx)
	c.servers.overdue(conn, err)
	return err
}

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"

	"golang.org/x/sync/errgroup"
)

// grace is how long a request in flight may still take after the caller's context ends. Learning its outcome costs less
// than recovering from an unknown one.
const grace = 20 * time.Second

// outcome is the result of one request. Each of its files is in exactly one of loaded, left and lost.
type outcome struct {
	loaded    []*pendingFile
	left      []*pendingFile // at their source, unless they are in doubt
	lost      []ProbeResult
	transient error // an error after which to try again
	err       error // an error after which not to try again
}

// round sends the groups' requests, several at a time, and collects the outcomes. If another round may load the
// remaining files, transient says why they remain.
//
// After an error, or the end of ctx, no request is begun. But every group has an outcome, sent or not, and all of them
// are collected, because the files of a sent request would otherwise be in neither list. Loaded files are reported even
// if their request or another one failed: they are in the table, and a later search for their sources would fail. An
// error of the hook ends the load, but does not undo anything: recovery finds these files in the table.
func (l *loadRun) round(ctx context.Context, groups []group) (transient, err error) {
	going, halt := context.WithCancel(ctx)
	defer halt()
	l.left = nil // filled again by the outcomes
	// guards the outcomes, l's knowledge of the files, and Hooks.Done, which one goroutine calls at a time
	mu := parallel.NewLock()
	var requests errgroup.Group
	requests.SetLimit(l.cluster.limits.parallel)
	for _, g := range groups {
		requests.Go(func() error {
			o := outcome{left: g.files}
			if going.Err() == nil {
				o = l.attempt(going, g)
			}
			mu.Lock()
			defer mu.Unlock()
			l.left = append(l.left, o.left...)
			l.lost = append(l.lost, o.lost...)
			if len(o.loaded) > 0 {
				l.report.Regions++
				l.report.Files += len(o.loaded)
				if l.hooks.Done != nil {
					o.err = cmp.Or(o.err, l.hooks.Done(hfilesOf(o.loaded)))
				}
			}
			if o.err != nil && err == nil { // the first error is returned
				err = o.err
				halt()
			}
			if o.transient != nil {
				transient = o.transient
			}
			return nil
		})
	}
	_ = requests.Wait() // the first error is in err
	if err == nil {
		err = ctx.Err()
	}
	return transient, err
}

// attempt sends one request and determines what became of its files.
//
// The order is the protocol: first the result of an earlier request, then the files' sources, the token, the output's
// lock, and the request. After any answer but a certain yes it looks for the files again, and then asks the table.
func (l *loadRun) attempt(ctx context.Context, g group) outcome {
	// The server may have finished an earlier request after we gave up, and a second request would hide that. There is
	// no wait until nothing moves (unclear is false), because the wait after the earlier request is over. If the server
	// takes a file later, the next request finds it missing and fails instead of loading it twice.
	if slices.ContainsFunc(g.files, func(f *pendingFile) bool { return f.inDoubt }) {
		o, err := l.recover(ctx, g.files, false)
		if err != nil || len(o.left) < len(g.files) {
			return o.failed(err) // the rest of the group forms a new one in the next round
		}
	}
	// HBase answers a missing file like any other failure, so it is checked here, where the reason is known.
	for _, f := range g.files {
		switch err := l.checkSource(f); {
		case f.inDoubt && errors.Is(err, fs.ErrNotExist): // a server that hung with an earlier request has taken it just now
			return outcome{left: g.files, transient: err}
		case err != nil:
			return outcome{left: g.files, err: err}
		}
	}
	conn, err := l.cluster.servers.region(ctx, g.region.Server)
	if isLogin(err) {
		return outcome{left: g.files, err: err}
	}
	if err != nil {
		return outcome{left: g.files, transient: err}
	}
	// The token is fetched before each request, because a load may outlast one. It is nil only if HBase has no
	// Kerberos.
	token, err := l.rights.forRequest(ctx)
	if err == nil && token == nil && l.cluster.secured {
		err = errNoToken
	}
	if errors.Is(err, storage.ErrUnavailable) {
		return outcome{left: g.files, transient: err}
	}
	if err != nil {
		return outcome{left: g.files, err: err}
	}
	request := &hbase.BulkLoadHFileRequest{Way: l.way, Region: g.region.Name, Bulk: l.token, Token: token}
	for _, f := range g.files {
		request.Files = append(request.Files, hbase.FamilyPath{Family: f.Family, Path: f.URI})
	}
	// The output's lock comes last before the request: a process that lost it during the waits above must not send.
	if l.hooks.Before != nil {
		if err := l.hooks.Before(); err != nil {
			return outcome{left: g.files, err: err}
		}
	}
	limited, cancel := l.withGrace(ctx)
	defer cancel()
	watched, unwatch := l.withWatch(limited, &g.region)
	defer unwatch()
	// From here on the files may be moving, whatever is returned.
	loaded, answer := conn.BulkLoadHFile(watched, request)
	var noAnswer *hbase.ConnError
	// The caller must not take it for an interruption that the request was cancelled here.
	if errors.As(answer, &noAnswer) && context.Cause(watched) == errElsewhere {
		answer = &hbase.ConnError{Addr: noAnswer.Addr, Method: noAnswer.Method, Sent: noAnswer.Sent, Err: errElsewhere}
	}
	if answer == nil && loaded {
		if answer = l.checkYes(limited, g); answer == nil {
			return outcome{loaded: g.files}
		}
	}
	// The only failure after which nothing can have moved.
	if neverSent(answer) {
		return outcome{left: g.files, transient: answer}
	}
	// An answer from the server, even an exception, ends its work on the request; with a clear no (answer is nil) it
	// has moved the files back. Without an answer it may still be working on them: recover then waits, and the
	// remaining files are in doubt.
	unclear := errors.As(answer, &noAnswer)
	o, err := l.recover(ctx, g.files, unclear)
	switch {
	case err != nil:
		// This error takes precedence over the answer: while the files' place is unknown, nothing else matters.
		if answer == nil {
			answer = fmt.Errorf("region server %s did not load files into %s", g.region.Server, &g.region)
		}
		return o.failed(fmt.Errorf("after %v: %w", answer, err))
	case len(o.left) == 0:
	case answer == nil:
		// A clear no gives no reason, so files are offered again for some time.
		o.err = l.refused(g.region, o.left)
	case mayPass(answer), unclear:
		o.transient = answer
	default:
		o.err = answer
	}
	return o
}

// failed returns the outcome with an error of recover; trying again may help if it is ErrUnavailable.
func (o outcome) failed(err error) outcome {
	if errcode.Is(err, ErrUnavailable) {
		o.transient = err
	} else {
		o.err = err
	}
	return o
}

// checkYes returns an error if a server's yes proves nothing.
//
// Some files can't be probed at the end of the load: either the table returned equal cells before it, or they have only
// delete markers, of which nobody can say whether they never came or were compacted away. For them the server's answer
// is the only evidence, and it is worthless if another server has meanwhile opened the region. If hbase:meta can't be
// read, that is unknown, and the files are in doubt. ctx is the request's, which may outlive the caller's.
func (l *loadRun) checkYes(ctx context.Context, g group) error {
	if !slices.ContainsFunc(g.files, func(f *pendingFile) bool { return f.ServedBefore() || f.OnlyMarkers() }) {
		return nil
	}
	elsewhere, err := l.openedElsewhere(ctx, &g.region)
	if err == nil && elsewhere {
		err = errElsewhere
	}
	if err == nil {
		return nil
	}
	return &hbase.ConnError{Addr: g.region.Server, Method: "BulkLoadHFile", Sent: true, Err: err}
}

// errElsewhere is why a request is given up, or why its yes proves nothing: another server serves the region.
var errElsewhere = errors.New("the region is open elsewhere by now")

// errNoToken refuses every request without a token to an HBase with Kerberos, whatever the reason.
var errNoToken = errcode.KerberosToken.Errorf(
	"%w: no delegation token for a request to HBase with Kerberos, which would move the files in its own name; "+
		"nothing was sent", ErrRefused)

// withGrace returns a context for a request. It has the request's own deadline, and ends grace after ctx does.
//
// A request that is given up is not withdrawn: the server continues with it. So it is given up late, and its outcome is
// determined afterwards.
func (l *loadRun) withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cluster.limits.load)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-limited.Done():
		}
	})
	return limited, func() { stop(); cancel() }
}

// refused counts a region's refusal of files. The server hides the reason, even one that passes, so files are offered
// again until both the configured number of tries and some minutes are used up. Then it is an error, with a likely
// reason if one can be seen from here.
func (l *loadRun) refused(r Region, files []*pendingFile) error {
	limits := &l.cluster.limits
	enough := false
	for _, f := range files {
		if f.refusals++; f.refusals == 1 {
			f.refused = time.Now()
		}
		enough = enough || f.refusals >= limits.rounds && time.Since(f.refused) >= limits.refusal
	}
	if !enough {
		return nil
	}
	var names []string
	for _, f := range files[:min(len(files), 3)] {
		names = append(names, f.URI)
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	kind, reason := ErrUnavailable, ""
	for _, f := range files {
		if info, err := l.fs.Stat(f.path); err == nil && info.Owner != "" && info.Owner != l.cluster.user {
			kind = ErrRefused // waiting does not help
			reason = fmt.Sprintf("; a likely reason: %s belongs to %s in HDFS, but HBase is asked as %s",
				f.URI, info.Owner, l.cluster.user)
			break
		}
	}
	return errcode.HBaseRefused.Errorf(
		"%w: region server %s did not load %s into %s, asked %d times in %v, and does not say "+
			"why: see its log for \"Failed to complete bulk load\"; the files are still where they were%s", kind, r.Server,
		strings.Join(names, ", "), &r, files[0].refusals, time.Since(files[0].refused).Round(time.Second), reason)
}

// neverSent reports whether an error came before the server could see the request. Only then is it certain that
// nothing moves.
//
// A wrong true would be worse than a wrong false: files would be sent again while a server may be moving them. Hence
// only an error of the connection that says so counts, not every error before an answer.
func neverSent(err error) bool {
	var conn *hbase.ConnError
	return errors.As(err, &conn) && !conn.Sent
}

package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// grace is how long a request in flight may still take after the caller's context ends. A known outcome is cheaper
// than the recovery of an unknown one.
const grace = 20 * time.Second

// rounds sends files until none is left. The regions of the first round are known; each later round looks them up
// again.
//
// Invariant: a file is in l.left until it is certain that the table has it or that HBase lost it. Only notifyDone and
// l.lost take files off; an error or a timeout never does. A file that was dropped here too early would be missing
// from the table, and
// one that stays too long is offered again, until checkSource ends the load.
func (l *loadRun) rounds(ctx context.Context) error {
	pause := l.cluster.servers.backoff("a round of load requests")
	progress := time.Now()
	first := l.regions
	for len(l.left) > 0 {
		regions, err := l.currentRegions(ctx, first)
		if err != nil {
			return err
		}
		first = nil
		// Every split of a region may cost one round, so there are more rounds than the property says if there are
		// many regions.
		limit := max(l.cluster.limits.rounds, len(regions)+1)
		if l.report.Rounds >= limit && time.Since(progress) > l.cluster.limits.outage {
			return errcode.HBaseRegion.Errorf("%w: %d files are left after %d rounds (hbase.bulkload.retries.number), such as %s: the regions keep moving",
				ErrUnavailable, len(l.left), limit, l.left[0].URI)
		}
		// A region that split since makes files ErrStraddles. That ends the load: the caller cuts them
		// (loading.loadAndCut).
		groups, err := assign(l.left, regions, l.cluster.limits.filesPerFamily)
		if err != nil {
			return err
		}
		before := len(l.left)
		transient, err := l.round(ctx, groups)
		if err != nil {
			return err
		}
		if len(l.left) < before {
			progress, pause.next = time.Now(), 0
		}
		if transient == nil {
			l.report.Rounds++ // a round in which HBase answered yes or no
		} else if time.Since(progress) > l.cluster.limits.outage {
			return fmt.Errorf("%w: %d files are left: %w", ErrUnavailable, len(l.left), transient)
		}
		if len(l.left) > 0 && !pause.wait(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// currentRegions returns the table's regions, which it looks up unless they are known. It waits for regions whose
// server has died.
func (l *loadRun) currentRegions(ctx context.Context, known []Region) ([]Region, error) {
	if known != nil {
		return known, nil
	}
	limited, cancel := context.WithTimeout(ctx, l.cluster.limits.outage)
	defer cancel()
	regions, err := l.cluster.regionsThrough(limited, l.table)
	l.regions = regions
	return regions, classify(ctx, err)
}

// outcome is the result of one request. Each of its files is in exactly one of loaded, left and lost.
type outcome struct {
	loaded    []*pendingFile
	left      []*pendingFile
	lost      []Finding
	transient error // why to try again
	err       error // why not to try again
}

// round sends the groups' requests, several at a time, and collects the outcomes. transient is why files are left if
// another round may load them.
//
// It drains all outcomes, also after an error: files of a request that was sent would otherwise be in neither list, and a
// worker would wait forever.
func (l *loadRun) round(ctx context.Context, groups []group) (transient, err error) {
	going, halt := context.WithCancel(ctx)
	defer halt()
	outcomes := l.send(going, groups)
	// Filled again by the outcomes, of which every group has one.
	l.left = nil
	for o := range outcomes {
		l.left = append(l.left, o.left...)
		l.lost = append(l.lost, o.lost...)
		// Record loaded files even if this request or another one failed: they are in the table, and would be sought
		// in vain later.
		if len(o.loaded) > 0 {
			l.report.Regions++
		}
		if o.err == nil {
			o.err = l.notifyDone(o.loaded)
		} else {
			_ = l.notifyDone(o.loaded) // the first error is returned
		}
		if o.err != nil && err == nil {
			err = o.err
			halt()
		}
		if o.transient != nil {
			transient = o.transient
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return transient, err
}

// notifyDone reports the loaded files of one request.
//
// An error of the hook ends the load, but does not undo anything: the table has the files, and recovery finds them there.
func (l *loadRun) notifyDone(files []*pendingFile) error {
	l.report.Files += len(files)
	if l.hooks.Done == nil || len(files) == 0 {
		return nil
	}
	loaded := make([]HFile, len(files))
	for i, f := range files {
		loaded[i] = f.HFile
	}
	return l.hooks.Done(loaded)
}

// send attempts all groups, but starts none after ctx has ended. Every group gives one outcome, sent or not, so that
// round accounts for each file.
func (l *loadRun) send(ctx context.Context, groups []group) <-chan outcome {
	work := make(chan group)
	outcomes := make(chan outcome)
	var workers sync.WaitGroup
	for range min(l.cluster.limits.parallel, len(groups)) {
		workers.Go(func() {
			for g := range work {
				if ctx.Err() != nil {
					outcomes <- outcome{left: g.files}
					continue
				}
				outcomes <- l.attempt(ctx, g)
			}
		})
	}
	go func() {
		for _, g := range groups {
			work <- g
		}
		close(work)
		workers.Wait()
		close(outcomes)
	}()
	return outcomes
}

// attempt sends one request and determines what happened to its files.
//
// The order is the protocol. Files in doubt are looked for first, because the server may have loaded them since, and
// a second request would hide that. Then the sources are checked, and the output's lock (hooks.Before) comes last
// before the request: a process that lost its lock while it waited here must not send.
func (l *loadRun) attempt(ctx context.Context, g group) outcome {
	// A part of the group is loaded or lost, so the rest is a new group for the next round.
	if o, moved := l.recheckInDoubt(ctx, g); moved {
		return o
	}
	// HBase answers a missing file like any other failure, so it is checked here, where the reason is known.
	for _, f := range g.files {
		if err := l.checkSource(f); err != nil {
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
	token, err := l.tokenForRequest(ctx)
	if errors.Is(err, storage.ErrUnavailable) {
		return outcome{left: g.files, transient: err}
	}
	if err != nil {
		return outcome{left: g.files, err: err}
	}
	request := &hbase.BulkLoadHFileRequest{Region: g.region.Name, Bulk: l.token, Token: token}
	for _, f := range g.files {
		request.Files = append(request.Files, hbase.FamilyPath{Family: f.Family, Path: f.URI})
	}
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
	loaded, err := conn.BulkLoadHFile(watched, request)
	if err == nil && loaded {
		if err = l.checkYes(limited, g); err == nil {
			return outcome{loaded: g.files}
		}
	}
	return l.resolveOutcome(ctx, g, err)
}

// checkYes returns an error if a server's yes proves nothing.
//
// Files that were served before can't be probed at the end of the load: the table returned equal cells before it. For them
// the server's answer is the only evidence, and it is worthless if another server has opened the region meanwhile. If
// hbase:meta can't be read, that is unknown, and the files are in doubt. ctx is the request's, which may outlive the
// caller's.
func (l *loadRun) checkYes(ctx context.Context, g group) error {
	if !slices.ContainsFunc(g.files, func(f *pendingFile) bool { return f.ServedBefore() }) {
		return nil
	}
	elsewhere, err := l.openedElsewhere(ctx, &g.region)
	if err == nil && elsewhere {
		err = errors.New("the region is open elsewhere by now")
	}
	if err == nil {
		return nil
	}
	return &hbase.ConnError{Addr: g.region.Server, Method: "BulkLoadHFile", Sent: true, Err: err}
}

// errNoToken refuses any request to HBase with Kerberos that has no token, whatever the reason.
var errNoToken = errcode.KerberosToken.Errorf("%w: no delegation token for a request to HBase with Kerberos, which would move the files in its own name; "+
	"nothing was sent", ErrRefused)

// tokenForRequest returns the token for a request that is sent now; nil only if HBase has no Kerberos.
//
// It is asked before each request, since a load may outlast a token.
func (l *loadRun) tokenForRequest(ctx context.Context) (*hbase.DelegationToken, error) {
	token, err := l.rights.forRequest(ctx)
	if err == nil && token == nil && l.cluster.secured {
		return nil, errNoToken
	}
	return token, err
}

// recheckInDoubt checks files in doubt again: the server of an earlier request may have finished it after we gave up.
//
// It does not wait until nothing moves (unclear is false): the wait after the earlier request is over. A file that the
// server takes later is missing for the next request, which then fails instead of loading it twice.
func (l *loadRun) recheckInDoubt(ctx context.Context, g group) (o outcome, moved bool) {
	if !slices.ContainsFunc(g.files, func(f *pendingFile) bool { return f.inDoubt }) {
		return o, false
	}
	found, err := l.recover(ctx, g.files, false)
	o = outcome{loaded: found.loaded, left: found.left, lost: found.lost}
	o.transient, o.err = l.retryOrFail(err)
	return o, len(o.left) < len(g.files) || err != nil
}

// retryOrFail returns err as transient if trying again may help, and as final otherwise.
func (l *loadRun) retryOrFail(err error) (transient, final error) {
	if errcode.Is(err, ErrUnavailable) {
		return err, nil
	}
	return nil, err
}

// withGrace returns a context for a request. It has the request's own deadline, and ends grace after ctx does.
//
// A request that is given up is not withdrawn: the server goes on with it. So it is given up late, and what it did is
// found out afterwards.
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

// resolveOutcome determines where the files of an unsuccessful request are, and moves those in staging back. answer
// is nil if the server said that it did not load them.
//
// A clear no means that the server has moved the files back. Any lost answer means that it may still
// be working on them: then recover waits, and what is left is in doubt.
func (l *loadRun) resolveOutcome(ctx context.Context, g group, answer error) outcome {
	// The only failure after which nothing can have moved.
	if neverSent(answer) {
		return outcome{left: g.files, transient: answer}
	}
	var lost *hbase.ConnError
	// An answer from the server, even an exception, ends its work on the request. Without one it may still be
	// working.
	unclear := errors.As(answer, &lost)
	// Errors of recover win over the answer: while it is unknown where files are, nothing else matters.
	found, err := l.recover(ctx, g.files, unclear)
	o := outcome{loaded: found.loaded, left: found.left, lost: found.lost}
	if err != nil {
		err = fmt.Errorf("after %s: %w", describe(answer, &g.region), err)
	}
	o.transient, o.err = l.retryOrFail(err)
	switch {
	case err != nil:
	case len(o.left) == 0:
	case answer == nil:
		// A clear no. It says nothing about the reason, so files are offered again for some time.
		o.err = l.refused(g.region, o.left)
	case mayPass(answer), unclear:
		o.transient = answer
	default:
		o.err = answer
	}
	return o
}

func describe(answer error, r *Region) string {
	if answer == nil {
		return fmt.Sprintf("region server %s did not load files into %s", r.Server, r)
	}
	return answer.Error()
}

// refused counts a region's refusal of files. The server hides the reason, even one that passes, so files are offered
// again until both the configured number of tries and some minutes are used up. Then it is an error.
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
	kind, reason := ErrUnavailable, l.suspect(files)
	if reason != "" {
		kind = ErrRefused // waiting does not help
	}
	return errcode.LoadRefused.Errorf("%w: region server %s did not load %s into %s, asked %d times in %v, and does not say why: see its log for \"Failed to complete bulk load\"; the files are still where they were%s",
		kind, r.Server, strings.Join(names, ", "), &r, files[0].refusals, time.Since(files[0].refused).Round(time.Second), reason)
}

// suspect returns a likely reason that can be seen from here.
func (l *loadRun) suspect(files []*pendingFile) string {
	for _, f := range files {
		if info, err := l.fs.Stat(f.path); err == nil && info.Owner != "" && info.Owner != l.cluster.user {
			return fmt.Sprintf("; a likely reason: %s belongs to %s in HDFS, but HBase is asked as %s", f.URI, info.Owner, l.cluster.user)
		}
	}
	return ""
}

// neverSent reports whether an error came before the server could see the request. Only then is it certain that
// nothing moves.
//
// A wrong true would be worse than a wrong false: files would be sent again while a server may be moving them. Hence only
// an error of the connection that says so counts, not every error before an answer.
func neverSent(err error) bool {
	var conn *hbase.ConnError
	return errors.As(err, &conn) && !conn.Sent
}

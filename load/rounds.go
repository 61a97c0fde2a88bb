package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hbase"
)

const (
	// grace is what a request under way gets when the caller's context ends: how it ends is better known than guessed.
	grace = 20 * time.Second
	// stuck is how long a load goes on without any file loaded while servers say, or seem, that they can't now.
	stuck = 40 * time.Second
	// maxRefusals is how often the same region is asked: files moved back from staging deserve a second try.
	maxRefusals = 2
)

// rounds sends files until none is left. Regions are looked up again in each round.
func (l *loading) rounds(ctx context.Context) error {
	var pause backoff
	progress := time.Now()
	for len(l.left) > 0 {
		regions, err := l.lookUp(ctx)
		if err != nil {
			return err
		}
		if limit := max(l.cluster.limits.rounds, len(regions)+1); l.report.Rounds >= limit {
			return fmt.Errorf("%w: %d files are left after %d rounds (hbase.bulkload.retries.number), such as %s: the regions don't come to rest",
				ErrUnavailable, len(l.left), limit, l.left[0].URI)
		}
		groups, err := assign(l.left, regions, l.cluster.limits.filesPerFamily)
		if err != nil {
			return err
		}
		before := len(l.left)
		passing, err := l.round(ctx, groups)
		if err != nil {
			return err
		}
		if len(l.left) < before {
			progress, pause = time.Now(), backoff{}
		}
		if passing == nil {
			l.report.Rounds++ // one in which HBase said yes or no
		} else if time.Since(progress) > stuck {
			return fmt.Errorf("%w: %d files are left: %w", ErrUnavailable, len(l.left), passing)
		}
		if len(l.left) > 0 && !pause.wait(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

func (l *loading) lookUp(ctx context.Context) ([]Region, error) {
	limited, cancel := l.cluster.limit(ctx)
	defer cancel()
	regions, err := l.cluster.regions(limited, l.table)
	return regions, classify(ctx, err)
}

// outcome is what became of one request.
type outcome struct {
	loaded  []*handover
	left    []*handover
	passing error // why another try makes sense
	err     error // why it does not
}

// round sends the groups' requests, several at a time, and takes stock. It returns why files are left: passing where
// another round may do it.
func (l *loading) round(ctx context.Context, groups []group) (passing, err error) {
	going, halt := context.WithCancel(ctx)
	defer halt()
	outcomes := l.send(going, groups)
	l.left = nil
	for o := range outcomes {
		l.left = append(l.left, o.left...)
		if len(o.loaded) > 0 {
			l.report.Regions++
		}
		if o.err == nil {
			o.err = l.tell(o.loaded)
		} else {
			_ = l.tell(o.loaded) // the first error counts
		}
		if o.err != nil && err == nil {
			err = o.err
			halt()
		}
		if o.passing != nil {
			passing = o.passing
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return passing, err
}

// tell reports the loaded files of one request.
func (l *loading) tell(files []*handover) error {
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

// send attempts all groups, none any more once ctx has ended.
func (l *loading) send(ctx context.Context, groups []group) <-chan outcome {
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

// attempt sends one request and finds out what became of its files.
func (l *loading) attempt(ctx context.Context, g group) outcome {
	if o, moved := l.catchUp(ctx, g); moved {
		return o
	}
	for _, f := range g.files {
		if err := l.checkSource(f); err != nil {
			return outcome{left: g.files, err: err}
		}
	}
	conn, err := l.cluster.servers.region(ctx, g.region.Server)
	if err != nil {
		return outcome{left: g.files, passing: err}
	}
	request := &hbase.BulkLoadHFileRequest{Region: g.region.Name, Bulk: l.token}
	for _, f := range g.files {
		request.Files = append(request.Files, hbase.FamilyPath{Family: f.Family, Path: f.URI})
	}
	patient, cancel := l.outlast(ctx)
	defer cancel()
	loaded, err := conn.BulkLoadHFile(patient, request)
	if err == nil && loaded {
		return outcome{loaded: g.files}
	}
	return l.takeStock(ctx, g, err)
}

// catchUp looks after files that an earlier request may have brought on since: a server can outlive our patience.
func (l *loading) catchUp(ctx context.Context, g group) (o outcome, moved bool) {
	if !slices.ContainsFunc(g.files, func(f *handover) bool { return f.adrift }) {
		return o, false
	}
	o.loaded, o.left, o.err = l.recover(ctx, g.files, false)
	return o, len(o.loaded) > 0 || o.err != nil
}

// outlast is a context for a request: it has the request's own deadline, and grace when ctx ends.
func (l *loading) outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cluster.limits.load)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-patient.Done():
		}
	})
	return patient, func() { stop(); cancel() }
}

// takeStock looks where the files of a request are that did not end well, and brings those in staging back. answer is
// nil where the server said that it did not load them.
func (l *loading) takeStock(ctx context.Context, g group, answer error) outcome {
	if neverSent(answer) {
		return outcome{left: g.files, passing: answer}
	}
	var lost *hbase.ConnError
	unclear := errors.As(answer, &lost)
	var o outcome
	o.loaded, o.left, o.err = l.recover(ctx, g.files, unclear)
	switch {
	case o.err != nil:
		o.err = fmt.Errorf("after %s: %w", describe(answer, &g.region), o.err)
	case len(o.left) == 0:
	case answer == nil:
		o.err = l.refused(g.region, o.left)
	case isPassing(answer), unclear:
		o.passing = answer
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

// refused counts a refusal of files by a region; it is an error at the second one.
func (l *loading) refused(r Region, files []*handover) error {
	again := false
	for _, f := range files {
		if f.refusedBy != string(r.Name) {
			f.refusedBy, f.refusals = string(r.Name), 0
		}
		f.refusals++
		again = again || f.refusals >= maxRefusals
	}
	if !again {
		return nil
	}
	var names []string
	for _, f := range files[:min(len(files), 3)] {
		names = append(names, f.URI)
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("%w: region server %s did not load %s into %s, asked %d times, and does not say why: see its log at \"Failed to complete bulk load\"; the files are at their place%s",
		ErrRefused, r.Server, strings.Join(names, ", "), &r, maxRefusals, l.suspect(files))
}

// suspect names a likely reason that can be seen from here.
func (l *loading) suspect(files []*handover) string {
	for _, f := range files {
		if info, err := l.fs.Stat(f.path); err == nil && info.Owner != "" && info.Owner != l.cluster.user {
			return fmt.Sprintf("; a likely reason: %s belongs to %s in HDFS, but HBase is asked as %s", f.URI, info.Owner, l.cluster.user)
		}
	}
	return ""
}

// neverSent tells of an error that came before the server could see the request.
func neverSent(err error) bool {
	var conn *hbase.ConnError
	return errors.As(err, &conn) && !conn.Sent
}

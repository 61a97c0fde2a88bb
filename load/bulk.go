package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// HFile is a finished file to be loaded.
type HFile struct {
	Family   string
	URI      string // hdfs://…
	FirstRow []byte
	LastRow  []byte
	Oldest   int64   // least timestamp of its cells, in epoch milliseconds; 0: that of one of Probes, or unknown
	Probes   []Probe // cells by which a region proves that it serves the file
	// the regions of its rows, and their openings, when it was last known to be served, or about to be loaded: see
	// Table.OpeningsOf
	Opening string
}

// ServedBefore reports whether the table returned all known cells of the file before the file was loaded, so that none
// of them can prove the load.
func (f *HFile) ServedBefore() bool {
	return len(f.Probes) > 0 && !slices.ContainsFunc(f.Probes, func(p Probe) bool { return !p.Before })
}

// Report describes the result of a load; after an error, how far it got.
//
// Files counts only files reported to Hooks.Done. It is never too high, because files in doubt are not counted.
type Report struct {
	Files   int           `json:"files"`   // files that are in the table now
	Regions int           `json:"regions"` // requests that loaded something
	Rounds  int           `json:"rounds"`
	Probed  time.Duration `json:"-"` // time for probes before the first request
	// Staging is the staging folder if it still exists. After an error it must not be deleted unseen, because files may
	// be in it or still arrive there. After success it is set because HBase did not delete the folder.
	Staging string `json:"staging,omitempty"`
}

// Add adds the result of a further load of the same files.
func (r *Report) Add(o *Report) {
	r.Files += o.Files
	r.Regions += o.Regions
	r.Rounds += o.Rounds
	r.Probed += o.Probed
	r.Staging = o.Staging
}

// Hooks are called as a load progresses; each may be nil. An error of a hook ends the load.
//
// They are called in this order, and each return is a barrier: ServedBefore, Staging, then for each request Before and
// Done. Whatever Staging and ServedBefore save must be on the disk when they return, because the first request may
// follow at once. Done is called by one goroutine at a time.
type Hooks struct {
	// Folder is the staging folder of an interrupted load of these files, or "". It is used again if it still exists: a
	// region server that hung may still put files there when it wakes up, and recovery looks in one folder only.
	Folder string
	// Staging gets the URI of the staging folder before the first request. RecoverStaging needs it to bring back the
	// files that an interrupted load leaves there. A folder that was not recorded before the first request could not be
	// found after a kill. It gets "" before HBase is asked to delete the folder, which a server that hangs may do much
	// later. So it must fail if another process may have read the record before.
	Staging func(folder string) error
	// ServedBefore gets, before the first request, the files with cells that the table already returns, with new marks
	// on these cells.
	ServedBefore func([]HFile) error
	// Looked gets, before the first request, how many more files the table was asked about. It saves nothing.
	Looked func(files int)
	// Before is called before each request, from several goroutines. If it returns an error, the request is not sent.
	Before func() error
	// Done gets a request's files once it is certain that the table has them.
	Done func([]HFile) error
}

// LoadFrom loads files into the regions that hold their rows: one request for each region, with all its files. fs is
// the file system that all of them are on.
//
// HBase moves the files, so afterwards they are not at their sources. A file counts as loaded if a region server
// clearly said so. After any other answer the open region is asked for the file's cells (see Probe), and files that it
// does not serve become a *LostError at the end. Even after success the caller must Probe all files: see there. A file
// that can't be loaded stays at its source, or is moved back. Nothing is sent if it is clear beforehand that the load
// would fail: a family that the table lacks (ErrNotFound), a file that does not exist (fs.ErrNotExist), one with rows
// of more than one region, or too many files for one region (ErrRefused). When ctx ends, requests in flight are given
// 20 seconds.
func (c *Cluster) LoadFrom(ctx context.Context, fsys storage.FS, name string, files []HFile, hooks Hooks) (
	report *Report, err error) {
	l := newLoadRun(c, fsys)
	l.hooks, report = hooks, &l.report
	if len(files) == 0 {
		return report, nil
	}
	defer func() { err = l.explain(ctx, name, err) }()

	// Everything that can be refused is refused before anything is sent or created.
	table, err := c.Table(ctx, name)
	if err != nil {
		return report, err
	}
	if l.table, err = parseName(name); err != nil {
		return report, err
	}
	if err := l.check(table, files); err != nil {
		return report, err
	}
	l.regions = table.Regions // for the first round and the staging calls: they were just looked up

	// This must precede the first request, after which equal cells could be the files' own.
	start := time.Now()
	err = l.findServedBefore(ctx, table)
	report.Probed = time.Since(start)
	if err != nil {
		return report, err
	}

	// HBase creates and deletes the staging folder. A kill before the hook returns leaves an empty, unrecorded folder.
	// As no request was sent, it holds no rows. The token is fetched on the way, which may fail after the folder was
	// made.
	defer l.cancelToken(ctx)
	if err := l.requestStaging(ctx, table, c.limits.outage); err != nil {
		return report, err
	}
	l.keep = l.reused // then the record names it already
	defer l.cleanup(ctx)
	if err := l.checkStaging(table); err != nil {
		return report, err
	}
	l.keep = true
	if hooks.Staging != nil {
		if err := hooks.Staging(l.token); err != nil {
			return report, err
		}
	}

	// Rounds of requests, until no file is left. A file is in l.left until it is certain that the table has it or that
	// HBase lost it: only round removes it, and never because of an error or a timeout. A file dropped too early would
	// be missing from the table, and one that stays too long is offered again, until checkSource ends the load.
	pause := c.servers.backoff("a round of load requests")
	progress := time.Now()
	for isFirst := true; len(l.left) > 0; isFirst = false {
		if !isFirst {
			// Regions may have moved or split. This waits for those whose server has died.
			limited, cancel := context.WithTimeout(ctx, c.limits.outage)
			l.regions, err = c.regionsThrough(limited, l.table)
			cancel()
			if err != nil {
				return report, err // explain classifies it
			}
		}
		// Every split of a region may cost one round, so a table with many regions gets more rounds than the property
		// says.
		limit := max(c.limits.rounds, len(l.regions)+1)
		if report.Rounds >= limit && time.Since(progress) > c.limits.outage {
			return report, errcode.HBaseRegion.Errorf("%w: %d files are left after %d rounds (hbase.bulkload.retries.number), "+
				"such as %s: the regions keep moving", ErrUnavailable, len(l.left), limit, l.left[0].URI)
		}
		// A region that split since makes files ErrStraddles. That ends the load: the caller cuts them
		// (loading.OutputLoad.Load).
		groups, err := assign(l.left, l.regions, c.limits.filesPerFamily)
		if err != nil {
			return report, err
		}
		before := len(l.left)
		transient, err := l.round(ctx, groups)
		if err != nil {
			return report, err
		}
		if len(l.left) < before {
			progress, pause.next = time.Now(), 0
		}
		if transient == nil {
			report.Rounds++ // a round in which HBase answered yes or no
		} else if time.Since(progress) > c.limits.outage {
			return report, fmt.Errorf("%w: %d files are left: %w", ErrUnavailable, len(l.left), transient)
		}
		if len(l.left) > 0 && !pause.wait(ctx) {
			return report, ctx.Err()
		}
	}
	ended := len(l.lost) == 0
	if ended && l.reused {
		_, folder := storage.SplitURI(l.token)
		if ended, err = l.emptyStaging(folder); err == nil && !ended {
			err = l.goesOn()
		}
	}
	if err == nil && ended && hooks.Staging != nil && l.way != hbase.PlainLoad { // a plain load has no folder
		err = hooks.Staging("")
	}
	l.keep = err != nil || !ended
	return report, err
}

// explain completes the error of a load: it adds files that HBase lost, and names a staging folder that remains.
func (l *loadRun) explain(ctx context.Context, table string, err error) error {
	if err == nil && len(l.lost) > 0 {
		err = &LostError{Table: table, Files: l.lost}
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("load into table %s: %w", table, classify(ctx, err))
	if l.report.Staging != "" && len(l.left)+len(l.lost) > 0 {
		err = fmt.Errorf("%w; files may be left in the staging folder %s: keep it, the next try brings them back", err,
			l.report.Staging)
	}
	return err
}

// loadRun is the state of one load.
type loadRun struct {
	cluster *Cluster
	fs      storage.FS
	hooks   Hooks
	table   hbase.TableName
	way     hbase.LoadWay
	token   string // the staging folder's URI
	reused  bool   // it is that of an interrupted load
	keep    bool   // the caller's record may name it, and files may be in it
	rights  *delegation
	regions []Region // as last looked up; only for decisions that a change of regions can't spoil
	left    []*pendingFile
	lost    []ProbeResult
	report  Report
	// resolve determines, for files that are neither at their source nor in staging, which ones the table serves. It is
	// prove, except in tests.
	resolve func(ctx context.Context, files []*pendingFile) (loaded []*pendingFile, lost []ProbeResult, err error)
}

func newLoadRun(c *Cluster, fsys storage.FS) *loadRun {
	l := &loadRun{cluster: c, fs: fsys}
	l.resolve = l.prove
	return l
}

// pendingFile is a file that is not yet loaded.
//
// inDoubt is never cleared: it is decided only when the file leaves l.left, as loaded or lost. Time alone proves
// nothing, because a server may be suspended for longer than any timeout.
type pendingFile struct {
	HFile
	path     string    // in the file system
	staged   string    // where a region server puts it before it moves it into the region
	refusals int       // times that a region did not load it
	refused  time.Time // time of the first refusal
	inDoubt  bool      // a server may still move it, or its place is unknown
}

// hfilesOf returns the callers' descriptions of files.
func hfilesOf(files []*pendingFile) []HFile {
	var all []HFile
	for _, f := range files {
		all = append(all, f.HFile)
	}
	return all
}

// cancelToken cancels the token, unless a server may still be moving files with it. Then it expires by itself, within
// a day.
func (l *loadRun) cancelToken(ctx context.Context) {
	if l.anyInDoubt() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_ = l.rights.cancel(ctx) // it expires by itself, too
}

// anyInDoubt reports whether a server may still move a file.
func (l *loadRun) anyInDoubt() bool {
	return slices.ContainsFunc(l.left, func(f *pendingFile) bool { return f.inDoubt })
}

// findServedBefore marks the cells that the table returns before the load (Probe.Before): they can't prove later that
// their file was loaded.
//
// It must be complete and saved before the first request, because after a request equal cells in the table could be the
// file's own. A cell that another writer adds between this look and the request would count as the file's, if it has
// the same timestamp and the same value.
func (l *loadRun) findServedBefore(ctx context.Context, table *Table) error {
	var asked []HFile
	for _, f := range l.left {
		if len(f.Probes) > 0 {
			asked = append(asked, f.HFile)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	findings, err := l.cluster.ProbeTable(ctx, table, asked, l.hooks.Looked)
	if err != nil {
		return err
	}
	var known []HFile
	for i := range findings {
		f := &findings[i]
		found := false
		for k := range f.Probes {
			p := &f.Probes[k] // shared with l.left
			absent := f.Answers[k].Serving == Missing || f.Answers[k].Serving == Superseded && p.isMarker()
			if !absent && !p.Before {
				p.Before, found = true, true
			}
		}
		if found {
			known = append(known, f.HFile)
		}
	}
	if len(known) == 0 || l.hooks.ServedBefore == nil {
		return nil
	}
	return l.hooks.ServedBefore(known)
}

// LostError says that HBase took files that the table does not serve, and may never serve: a region server that died,
// or that wrongly believes it is alive, moved them to an unknown place. They must be written and loaded again. It is
// ErrUnavailable.
type LostError struct {
	Table string
	Files []ProbeResult
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("table %s does not serve %d files that HBase took: %s", e.Table, len(e.Files), e.Files[0].String())
	if more := len(e.Files) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Unwrap returns ErrUnavailable: the cluster does not say what happened to the files.
func (e *LostError) Unwrap() error { return ErrUnavailable }

// check refuses, before anything is sent, files that can't be loaded.
//
// It looks at all files before the first request, because a load that is refused halfway leaves a table with some rows.
func (l *loadRun) check(table *Table, files []HFile) error {
	// Two files with the same name would overwrite each other in staging.
	names := make(map[string]string) // family and base name, which identify a file in the staging folder
	for _, f := range files {
		if !table.hasFamily(f.Family) {
			return errcode.TableSettings.Errorf("%w: the table has no family %s, which %s is for", ErrNotFound, f.Family, f.URI)
		}
		_, p := storage.SplitURI(f.URI)
		name := f.Family + "/" + path.Base(p)
		if other, ok := names[name]; ok {
			return errcode.LoadFiles.Errorf("%w: %s and %s have the same name and family: HBase can't load them together",
				ErrRefused, other, f.URI)
		}
		names[name] = f.URI
		l.left = append(l.left, &pendingFile{HFile: f, path: p})
	}
	if _, err := assign(l.left, table.Regions, l.cluster.limits.filesPerFamily); err != nil {
		return err
	}
	for _, f := range l.left {
		if err := l.checkSource(f); err != nil {
			return err
		}
	}
	return nil
}

// goneSince is the error for a file that was at its source when this command began.
func goneSince(uri string, err error) error {
	return errcode.RunAgain.Errorf("%s is gone since this command found it: a region server that hung with an earlier "+
		"load has taken it, or somebody has moved or deleted it; run this again, which finds out: %w", uri, err)
}

// checkSource checks that a file is at its source.
func (l *loadRun) checkSource(f *pendingFile) error {
	info, err := l.fs.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return goneSince(f.URI, err)
	case err != nil:
		return fmt.Errorf("look at file %s: %w", f.URI, err)
	case info.Dir:
		return errcode.HFileMissing.Errorf("%w: %s is a folder", ErrRefused, f.URI)
	case info.Size == 0:
		return errcode.HFileMissing.Errorf("%w: %s is empty, so it is not an HFile", ErrRefused, f.URI)
	}
	return nil
}

// requestStaging has HBase create the staging folder, and gets the token for the requests if the cluster has Kerberos.
func (l *loadRun) requestStaging(ctx context.Context, table *Table, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var err error
	if l.rights, err = newDelegation(l.cluster, l.fs); err == nil {
		_, err = l.rights.forRequest(ctx)
	}
	if err != nil {
		return err
	}
	old, err := l.cluster.isHBase1(ctx, l.table)
	if err != nil {
		return err
	}
	if l.way = hbase.StagedLoad; old {
		l.way = hbase.EndpointLoad
	}
	if l.reused, err = l.reuseStaging(); err != nil || l.reused {
		return err
	}
	err = l.onFirstRegion(ctx, func(ctx context.Context, conn *hbase.Conn, region []byte) (err error) {
		l.token, err = conn.PrepareBulkLoad(ctx, l.way, l.table, region)
		return err
	})
	if old && hbase.IsRemote(err, "UnknownProtocolException") {
		return l.preparePlain()
	}
	if hbase.IsRemote(err, "AccessDeniedException") {
		return errcode.HBasePermission.Errorf(
			"%w: user %s may not load into table %s: grant '%s', 'C', '%s' in the HBase shell (%w)",
			ErrRefused, l.cluster.user, table.Name, l.cluster.user, table.Name, err)
	}
	if mayPass(err) {
		return fmt.Errorf("%w: prepare: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	// From here on the folder exists, and is reported unless cleanup deletes it.
	l.report.Staging = l.token
	return nil
}

// reuseStaging takes the staging folder of an interrupted load, if it still exists.
func (l *loadRun) reuseStaging() (bool, error) {
	folder := l.hooks.Folder
	if folder == "" || isPlain(folder) {
		return false, nil
	}
	_, name := storage.SplitURI(folder)
	if _, err := l.fs.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil && !errors.Is(err, fs.ErrPermission) { // enterStaging explains that
		return false, fmt.Errorf("look at staging folder: %w", err)
	}
	l.token, l.report.Staging = folder, folder
	return true, nil
}

// checkStaging checks that the files can pass through the staging folder, and sets where each will be in it.
//
// The staged path is the one that HBase's SecureBulkLoadManager chooses: folder, family, base name. If a version chose
// another one, recovery would not find files there, and would ask the table about them in vain.
func (l *loadRun) checkStaging(table *Table) error {
	for _, f := range l.left {
		if err := l.checkPlace(f.URI); err != nil {
			return err
		}
	}
	info, err := l.enterStaging()
	if err != nil {
		return err
	}
	if l.way == hbase.PlainLoad {
		var names []string
		for _, f := range l.left {
			names = append(names, f.path)
		}
		if err := l.checkPlain(info.Owner, names...); err != nil {
			return err
		}
		return l.checkTracker(table, info.Owner)
	}
	_, folder := storage.SplitURI(l.token)
	for _, f := range l.left {
		f.staged = path.Join(folder, f.Family, path.Base(f.path))
	}
	return l.checkTracker(table, info.Owner)
}

// checkPlace refuses a file or folder that is not on HBase's file system.
func (l *loadRun) checkPlace(uri string) error {
	authority, _ := storage.SplitURI(l.token)
	if from, _ := storage.SplitURI(uri); from != "" && authority != "" && !storage.SameNameNode(from, authority) {
		return errcode.FileSystem.Errorf("%w: %s is not on HBase's file system, which is named hdfs://%s: the region "+
			"servers would have to copy it", ErrRefused, uri, authority)
	}
	return nil
}

// enterStaging describes the staging folder, which the user must be allowed to enter; for a plain load, which has none,
// HBase's root folder, whose owner is HBase's user in both cases.
func (l *loadRun) enterStaging() (storage.Info, error) {
	_, folder := storage.SplitURI(l.token)
	if l.way == hbase.PlainLoad {
		folder = path.Dir(folder)
	}
	info, err := l.fs.Stat(folder)
	if l.way == hbase.PlainLoad && errors.Is(err, fs.ErrNotExist) {
		return info, errcode.SiteProperty.Errorf("%w: %s is %s, which does not exist: copy the property from the cluster's "+
			"hbase-site.xml", ErrRefused, rootProperty, l.fs.URI(folder))
	}
	if errors.Is(err, fs.ErrPermission) {
		return info, errcode.LoadStaging.Errorf(
			"%w: %s may not enter HBase's staging folder, through which the files pass: %w", ErrRefused, l.cluster.user, err)
	}
	if err != nil {
		return info, fmt.Errorf("look at staging folder: %w", err)
	}
	return info, nil
}

// checkTracker refuses a table whose store file tracker takes only files of HBase's own user, which is owner, the owner
// of staging.
func (l *loadRun) checkTracker(table *Table, owner string) error {
	tracker := fileTracker(table)
	if tracker == "" || owner == l.cluster.user {
		return nil
	}
	return errcode.LoadTracker.Errorf(
		"%w: the table's %s is %s, which accepts only files of HBase's own user: run as %s, not %s",
		ErrRefused, trackerProperty, tracker, owner, l.cluster.user)
}

const trackerProperty = "hbase.store.file-tracker.impl"

// fileTracker is the table's or a family's store file tracker if it is not the default one.
func fileTracker(table *Table) string {
	all := []map[string]string{table.Attributes}
	for _, f := range table.Families {
		all = append(all, f.Attributes)
	}
	for _, attributes := range all {
		if value := attributes[trackerProperty]; value != "" && !strings.EqualFold(value, "DEFAULT") {
			return value
		}
	}
	return ""
}

// cleanup has HBase delete the staging folder with everything in it. It does so only after a load that has ended, or
// before the folder was recorded. Otherwise a file may be there, or may still come, as the only copy of its rows. The
// next load then uses the folder again. RecoverStaging calls it after it has found the folder empty.
//
// The record has forgotten the folder before. The request may be carried out much later, when a load that still used
// the folder would lose its files.
//
// An error of the call is not an error of the load, because every file is accounted for. The folder stays in the
// report.
func (l *loadRun) cleanup(ctx context.Context) {
	if l.way == hbase.PlainLoad || l.keep {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := l.onFirstRegion(ctx, func(ctx context.Context, conn *hbase.Conn, region []byte) error {
		return conn.CleanupBulkLoad(ctx, l.way, l.token, region)
	})
	if err == nil {
		l.report.Staging = ""
	}
}

// onFirstRegion calls the region server of the table's first region, which is in charge of staging. If the answer was
// lost, the call is repeated: that creates another staging folder, or deletes one that is already gone.
//
// It is only for calls that may be repeated. BulkLoadHFile may not: a repeated request could not tell a loaded file
// from a missing one.
func (l *loadRun) onFirstRegion(ctx context.Context, call func(context.Context, *hbase.Conn, []byte) error) error {
	pause := l.cluster.servers.backoff("a call of the first region")
	for regions := l.regions; ; {
		if len(regions) == 0 {
			var err error
			if regions, err = l.cluster.regions(ctx, l.table); err != nil {
				return err
			}
		}
		first := &regions[0]
		conn, err := l.cluster.servers.region(ctx, first.Server)
		if err == nil {
			err = l.cluster.withTimeout(ctx, conn, func(ctx context.Context) error { return call(ctx, conn, first.Name) })
		}
		var lost *hbase.ConnError
		if err == nil || !mayPass(err) && !errors.As(err, &lost) || !pause.wait(ctx) {
			return err
		}
		if remedyOf(err) == relocate {
			regions = nil
		}
	}
}

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

// HFile is a finished file to hand over.
type HFile struct {
	Family   string
	URI      string // hdfs://…
	FirstRow []byte
	LastRow  []byte
	Probes   []Probe // cells by which a region shows that it serves the file
	// Known says that the table returned these cells before the file was loaded: they prove nothing then.
	Known bool
}

// Report says what a load did. After an error it says how far it came.
type Report struct {
	Files   int // that the table has
	Regions int // requests that loaded something
	Rounds  int
	Probed  time.Duration // how long the table was asked for cells before the first request
	// Staging is the staging folder where it is still there: after an error because files may be in it still or may yet
	// come there, so that it must not be deleted unseen; after success because HBase did not delete it.
	Staging string
}

// Add adds what a further load of the same files did.
func (r *Report) Add(o *Report) {
	r.Files += o.Files
	r.Regions += o.Regions
	r.Rounds += o.Rounds
	r.Probed += o.Probed
	r.Staging = o.Staging
}

// Hooks are told how a load goes on; each may be nil. An error of theirs ends the load.
type Hooks struct {
	// Staging is told the URI of the staging folder before the first request: what files an interrupted load leaves
	// there, RecoverStaging brings back.
	Staging func(folder string) error
	// Known is given, before the first request, the files whose cells the table returns already.
	Known func([]HFile) error
	// Before is called before each request, from several goroutines: where it is an error, the request is not sent.
	Before func() error
	// Done is told of a request's files once it is certain that the table has them.
	Done func([]HFile) error
}

// LoadFrom hands files to the regions that hold their rows: one request a region, with all its files. fs is the file
// system that all of them are on.
//
// HBase moves the files: afterwards they are not where they were. A file counts as loaded where a region server said so
// clearly; after any other answer the open region is asked for the file's cells (see Probe), and files that it does not
// serve are a *LostError at the end. Where all went well Probe is still to be asked for all files: see there. A file that can't be loaded stays there, or is moved
// back. Nothing is sent where it is known before that the load would fail: a family that the table lacks (ErrNotFound),
// a file that is not there (fs.ErrNotExist), one whose rows are in more than one region, or too many for one region
// (ErrRefused). Requests under way when ctx ends are waited for, for 20 seconds.
func (c *Cluster) LoadFrom(ctx context.Context, fsys storage.FS, table string, files []HFile, hooks Hooks) (*Report, error) {
	l := newLoading(c, fsys)
	l.hooks = hooks
	err := l.run(ctx, table, files)
	if err == nil && len(l.lost) > 0 {
		err = &LostError{Table: table, Files: l.lost}
	}
	if err == nil {
		return &l.report, nil
	}
	err = fmt.Errorf("load into table %s: %w", table, classify(ctx, err))
	if l.report.Staging != "" {
		err = fmt.Errorf("%w; look for files in the staging folder %s, which is kept", err, l.report.Staging)
	}
	return &l.report, err
}

// loading is one load.
type loading struct {
	cluster *Cluster
	fs      storage.FS
	hooks   Hooks
	table   hbase.TableName
	token   string // the staging folder's URI
	rights  *delegation
	regions []Region // as they were at the last look, for what does no harm where they have changed
	left    []*pendingFile
	lost    []Finding
	report  Report
	// decide finds out which files the table serves of those that are neither at their place nor in the staging folder:
	// prove, but for tests.
	decide func(ctx context.Context, files []*pendingFile) (loaded []*pendingFile, lost []Finding, err error)
}

func newLoading(c *Cluster, fsys storage.FS) *loading {
	l := &loading{cluster: c, fs: fsys}
	l.decide = l.prove
	return l
}

// pendingFile is a file on its way.
type pendingFile struct {
	HFile
	path     string    // in the file system
	staged   string    // where a region server puts it before it is the region's
	refusals int       // how often a region did not load it
	refused  time.Time // when the first of them was
	adrift   bool      // a server may still be at it, or it is not known where the file is
}

func (l *loading) run(ctx context.Context, name string, files []HFile) error {
	if len(files) == 0 {
		return nil
	}
	table, err := l.cluster.Table(ctx, name)
	if err != nil {
		return err
	}
	if l.table, err = parseName(name); err != nil {
		return err
	}
	if err := l.check(table, files); err != nil {
		return err
	}
	l.regions = table.Regions
	start := time.Now()
	err = l.markKnown(ctx, table)
	l.report.Probed = time.Since(start)
	if err != nil {
		return err
	}
	defer func() { l.cancelToken(ctx) }()
	if err := l.prepare(ctx, table, l.cluster.limits.outage); err != nil {
		return err
	}
	err = l.rounds(ctx)
	l.cleanup(ctx)
	return err
}

// cancelToken ends the token, unless a server may still be moving files by it: then it ends by itself, within a day.
func (l *loading) cancelToken(ctx context.Context) {
	if l.adrift() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_ = l.rights.cancel(ctx) // it ends by itself, too
}

// adrift tells whether a server may still be at a file.
func (l *loading) adrift() bool {
	return slices.ContainsFunc(l.left, func(f *pendingFile) bool { return f.adrift })
}

// markKnown finds the files whose cells the table returns already: of those the cells can't show later that the file was
// loaded.
//
// One cell that is not there is enough, so the other ones are asked for only where the first is.
func (l *loading) markKnown(ctx context.Context, table *Table) error {
	p, err := l.cluster.probingOf(table)
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(slices.Clone(l.left), func(f *pendingFile) bool { return f.Known || len(f.Probes) == 0 })
	files, err = p.present(ctx, files, func(all []Probe) []Probe { return all[:1] })
	if err != nil {
		return err
	}
	if p.seen != nil {
		l.regions, p.regions = p.seen, p.seen
	}
	var known, several []*pendingFile
	for _, f := range files {
		if len(f.Probes) == 1 {
			known = append(known, f)
		} else {
			several = append(several, f)
		}
	}
	several, err = p.present(ctx, several, func(all []Probe) []Probe { return all[1:] })
	if err != nil {
		return err
	}
	return l.setKnown(append(known, several...))
}

// setKnown marks files whose cells the table returns before they are loaded.
func (l *loading) setKnown(files []*pendingFile) error {
	var known []HFile
	for _, f := range files {
		f.Known = true
		known = append(known, f.HFile)
	}
	if len(known) == 0 || l.hooks.Known == nil {
		return nil
	}
	return l.hooks.Known(known)
}

// present keeps the files of which the table returns certain probes.
func (p *probing) present(ctx context.Context, files []*pendingFile, which func([]Probe) []Probe) ([]*pendingFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	asked := make([]HFile, len(files))
	for i, f := range files {
		asked[i] = f.HFile
		asked[i].Probes = which(f.Probes)
	}
	findings, err := p.probe(ctx, asked)
	var found []*pendingFile
	for i := range findings {
		if findings[i].Serving != Missing {
			found = append(found, files[i])
		}
	}
	return found, err
}

// LostError says that HBase took files and the table does not serve them, and may never do so: a region server that died,
// or that takes itself for alive, has moved them somewhere. They are to be written and loaded again. It is ErrUnavailable.
type LostError struct {
	Table string
	Files []Finding
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("table %s does not serve %d files that HBase took: %s", e.Table, len(e.Files), e.Files[0].String())
	if more := len(e.Files) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Unwrap is ErrUnavailable: the cluster does not say what became of the files.
func (e *LostError) Unwrap() error { return ErrUnavailable }

// check refuses, before anything is sent, what can't be loaded.
func (l *loading) check(table *Table, files []HFile) error {
	names := make(map[string]string) // family and base name, by which files are told apart in the staging folder
	for _, f := range files {
		if !table.hasFamily(f.Family) {
			return errcode.TableFamily.Errorf("%w: the table has no family %s, which %s is for", ErrNotFound, f.Family, f.URI)
		}
		_, p := splitURI(f.URI)
		name := f.Family + "/" + path.Base(p)
		if other, ok := names[name]; ok {
			return errcode.LoadNames.Errorf("%w: %s and %s have the same name and family: HBase can't load them together", ErrRefused, other, f.URI)
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

// checkSource checks that a file is at its place.
func (l *loading) checkSource(f *pendingFile) error {
	info, err := l.fs.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("look at file %s: %w", f.URI, err)
	case info.Dir:
		return errcode.HFileNone.Errorf("%w: %s is a folder", ErrRefused, f.URI)
	case info.Size == 0:
		return errcode.HFileNone.Errorf("%w: %s is empty, so it is not an HFile", ErrRefused, f.URI)
	}
	return nil
}

// prepare makes the staging folder and checks that files can go through it.
func (l *loading) prepare(ctx context.Context, table *Table, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := l.delegate(ctx)
	if err != nil {
		return err
	}
	err = l.onFirstRegion(ctx, func(ctx context.Context, conn *hbase.Conn, region []byte) (err error) {
		l.token, err = conn.PrepareBulkLoad(ctx, l.table, region)
		return err
	})
	if hbase.IsRemote(err, "AccessDeniedException") {
		return errcode.HBasePermission.Errorf("%w: user %s may not load into table %s: grant '%s', 'C', '%s' in the HBase shell (%w)",
			ErrRefused, l.cluster.user, table.Name, l.cluster.user, table.Name, err)
	}
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	l.report.Staging = l.token
	if err := l.checkStaging(table); err != nil {
		l.cleanup(ctx)
		return err
	}
	if l.hooks.Staging == nil {
		return nil
	}
	if err := l.hooks.Staging(l.token); err != nil {
		l.cleanup(ctx)
		return err
	}
	return nil
}

// delegate gets the token for the requests, where the cluster has Kerberos.
func (l *loading) delegate(ctx context.Context) (err error) {
	if l.rights, err = newDelegation(l.cluster, l.fs); err == nil {
		_, err = l.rights.forRequest(ctx)
	}
	return err
}

func (l *loading) checkStaging(table *Table) error {
	authority, folder := splitURI(l.token)
	for _, f := range l.left {
		if from, _ := splitURI(f.URI); from != "" && authority != "" && withPort(from) != withPort(authority) {
			return errcode.LoadPlace.Errorf("%w: %s is not on HBase's file system, which is named hdfs://%s: the region servers would have to copy it", ErrRefused, f.URI, authority)
		}
		f.staged = path.Join(folder, f.Family, path.Base(f.path))
	}
	info, err := l.fs.Stat(folder)
	if errors.Is(err, fs.ErrPermission) {
		return errcode.LoadStaging.Errorf("%w: %s may not enter HBase's staging folder, through which the files pass: %w", ErrRefused, l.cluster.user, err)
	}
	if err != nil {
		return errcode.LoadStaging.Errorf("look at staging folder: %w", err)
	}
	tracker := fileTracker(table)
	if tracker == "" {
		return nil
	}
	if info.Owner != l.cluster.user {
		return errcode.LoadTracker.Errorf("%w: the table's %s is %s, which takes files from HBase's own user only: run as %s, not %s",
			ErrRefused, trackerProperty, tracker, info.Owner, l.cluster.user)
	}
	return nil
}

const trackerProperty = "hbase.store.file-tracker.impl"

// fileTracker is the table's or a family's store file tracker where it is not the default one.
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

// cleanup has the staging folder deleted, with what is in it: only where every file is accounted for.
func (l *loading) cleanup(ctx context.Context) {
	if l.adrift() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := l.onFirstRegion(ctx, func(ctx context.Context, conn *hbase.Conn, region []byte) error {
		return conn.CleanupBulkLoad(ctx, l.token, region)
	})
	if err == nil {
		l.report.Staging = ""
	}
}

// onFirstRegion makes a call of the region server that holds the table's first region, the one that knows of staging. A
// call that was lost is made again: it makes another staging folder, or deletes one that is gone.
func (l *loading) onFirstRegion(ctx context.Context, call func(context.Context, *hbase.Conn, []byte) error) error {
	pause := l.cluster.servers.backoff("a call of the first region")
	for regions := l.regions; ; regions = nil {
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
		if err == nil || !isPassing(err) && !errors.As(err, &lost) || !pause.wait(ctx) {
			return err
		}
	}
}

// splitURI takes "scheme://authority/path", "scheme:/path" or "/path" apart. Hadoop escapes nothing in them.
func splitURI(uri string) (authority, name string) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || strings.Contains(scheme, "/") {
		return "", uri
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return "", rest
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return rest, "/"
	}
	return rest[:slash], rest[slash:]
}

// withPort adds the NameNode's default port, for comparing. (It does so to a name service, too, on both sides.)
func withPort(authority string) string {
	if strings.Contains(authority, ":") {
		return authority
	}
	return authority + ":8020"
}

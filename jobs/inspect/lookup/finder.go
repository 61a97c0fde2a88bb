package lookup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bulkload/cell"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Finder answers the look-ups of a job with one table. It is safe for concurrent use.
type Finder struct {
	Job  *jobfile.Job
	From string // where it reads at first: the table, or the URI of a directory
	site *site.Site

	mu      sync.Mutex
	cluster *load.Cluster // nil until it is needed

	fs     storage.FS        // of the HFiles; nil: only the table is read
	files  *hfiles.Directory // that stay as they are; nil: there are none
	output *output           // nil: no output is watched
}

// OpenTable opens a job's live table.
func OpenTable(ctx context.Context, j *jobfile.Job, o options.Options) (*Finder, error) {
	s, err := site.Open(o, j.HBase, true)
	if err != nil {
		return nil, err
	}
	f := &Finder{Job: j, From: "table " + j.Table, site: s}
	_, err = f.connect(ctx)
	return f, err
}

// OpenFiles opens the HFiles in a directory, which need not be a job's output.
func OpenFiles(j *jobfile.Job, o options.Options, dir string) (*Finder, error) {
	s, fsys, name, err := site.OpenPath(o, j.HBase, dir)
	if err != nil {
		return nil, err
	}
	f := &Finder{Job: j, From: fsys.URI(name), site: s, fs: fsys}
	if f.files, err = hfiles.OpenDirectory(fsys, name); err != nil {
		return nil, errors.Join(err, fsys.Close())
	}
	return f, nil
}

// OpenOutput opens the output of a job's date: its HFiles until HBase has taken them, and then the table. Parts of the
// files are kept in the cache.
func OpenOutput(j *jobfile.Job, o options.Options, cache *hfiles.Cache) (*Finder, error) {
	s, err := site.Open(o, j.HBase, j.Remote(true))
	if err != nil {
		return nil, err
	}
	fsys, name, err := s.Resolve(j.Output, j.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the output %s: %w", j.Output, err)
	}
	f := &Finder{Job: j, From: fsys.URI(name), site: s, fs: fsys}
	f.output = &output{Finder: f, path: name, cache: cache}
	return f, nil
}

// Close ends the connections and closes the files. Find must have returned.
func (f *Finder) Close() (err error) {
	if f.output != nil && f.output.now != nil {
		err = f.output.now.close()
	}
	if f.cluster != nil {
		err = errors.Join(err, f.cluster.Close())
	}
	if f.fs != nil {
		err = errors.Join(err, f.fs.Close())
	}
	return err
}

// connect connects to HBase, unless that was done before.
func (f *Finder) connect(ctx context.Context) (*load.Cluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cluster != nil {
		return f.cluster, nil
	}
	var err error
	f.cluster, err = f.site.Connect(ctx)
	return f.cluster, err
}

// Find answers a request.
func (f *Finder) Find(ctx context.Context, r *Request) (*Found, error) {
	q, err := newQuery(f.Job, r.Values)
	if err != nil {
		return nil, err
	}
	if f.files != nil {
		return q.find(ctx, r, scanOf(f.files, nil), true)
	}
	if f.output != nil {
		now, done := f.output.take(ctx)
		defer done()
		if now.err != nil {
			return nil, now.err
		}
		if now.dir != nil {
			found, err := q.find(ctx, r, scanOf(now.dir, now.table), true)
			if isGone(err) {
				f.output.stale.Store(true)
			}
			return found, err
		}
	}
	c, err := f.connect(ctx)
	if err != nil {
		return nil, err
	}
	return q.find(ctx, r, func(ctx context.Context, within load.Range, visit func(*cell.Cell) error) error {
		return c.Scan(ctx, f.Job.Table, within, visit)
	}, false)
}

// scanOf scans HFiles for the cells that readers of a table would see; nil: of one without TTL.
func scanOf(d *hfiles.Directory, table *load.Table) scan {
	return func(ctx context.Context, within load.Range, visit func(*cell.Cell) error) error {
		v := visible{table: table, now: time.Now().UnixMilli(), visit: visit}
		return d.Scan(ctx, within.Start, within.End, v.see)
	}
}

// Ready is why a request could not be answered now; nil if it could. It reads at most the first row of the table.
func (f *Finder) Ready(ctx context.Context) error {
	if f.output != nil {
		now, done := f.output.take(ctx)
		defer done()
		if now.err != nil || now.dir != nil {
			return now.err
		}
	}
	c, err := f.connect(ctx)
	if err != nil {
		return err
	}
	err = c.Scan(ctx, f.Job.Table, load.Range{End: []byte{0}, Rows: 1}, func(*cell.Cell) error { return errEnough })
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

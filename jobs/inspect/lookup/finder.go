package lookup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Finder answers the look-ups of a job with one table. It is safe for concurrent use.
type Finder struct {
	Job  *jobfile.Job
	site *site.Site

	mu      sync.Mutex
	cluster *load.Cluster // nil until it is needed

	files *files // nil: only the table is read
}

// OpenTable opens a job's live table.
func OpenTable(ctx context.Context, j *jobfile.Job, o options.Options) (*Finder, error) {
	s, err := site.Open(o, j.HBase, true)
	if err != nil {
		return nil, err
	}
	f := &Finder{Job: j, site: s}
	_, err = f.connect(ctx)
	return f, err
}

// OpenFiles opens the HFiles in a directory, which need not be a job's output.
func OpenFiles(j *jobfile.Job, o options.Options, dir string) (*Finder, error) {
	s, err := site.Open(o, j.HBase, storage.IsHDFS(dir))
	if err != nil {
		return nil, err
	}
	f := &Finder{Job: j, site: s}
	if f.files, err = f.open(dir, ".", nil); err == nil {
		err = f.files.read()
	}
	return f, err
}

// OpenOutput opens the output of a job's date: its HFiles until HBase has taken them, and then the table. Parts of the
// files are kept in the cache.
func OpenOutput(j *jobfile.Job, o options.Options, cache *hfiles.Cache) (*Finder, error) {
	s, err := site.Open(o, j.HBase, j.Remote(true))
	if err != nil {
		return nil, err
	}
	f := &Finder{Job: j, site: s}
	f.files, err = f.open(j.Output, j.Dir, cache)
	return f, err
}

func (f *Finder) open(dir, base string, cache *hfiles.Cache) (*files, error) {
	fsys, name, err := f.site.Resolve(dir, base)
	if err != nil {
		return nil, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	return &files{fs: fsys, path: name, cache: cache}, nil
}

// Close ends the connections and closes the files. Find must have returned.
func (f *Finder) Close() (err error) {
	if f.cluster != nil {
		err = f.cluster.Close()
	}
	if f.files != nil {
		err = errors.Join(err, f.files.close(), f.files.fs.Close())
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

// From is where rows are read now: a table, or the URI of a directory.
func (f *Finder) From() string {
	if f.files != nil && f.files.inUse() {
		return f.files.fs.URI(f.files.path)
	}
	return "table " + f.Job.Table
}

// Find answers a request.
func (f *Finder) Find(ctx context.Context, r *Request) (*Found, error) {
	q, err := newQuery(f.Job, r.Values)
	if err != nil {
		return nil, err
	}
	if f.files != nil {
		found, err := f.inFiles(ctx, q, r)
		if found != nil || err != nil {
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

// inFiles answers a request from the HFiles; nil if HBase has taken them.
func (f *Finder) inFiles(ctx context.Context, q *query, r *Request) (*Found, error) {
	if f.files.cache != nil {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
	}
	f.files.mu.RLock()
	defer f.files.mu.RUnlock()
	d := f.files.dir
	if d == nil {
		return nil, nil
	}
	found, err := q.find(ctx, r, func(ctx context.Context, within load.Range, visit func(*cell.Cell) error) error {
		v := visible{table: f.files.table, now: time.Now().UnixMilli(), visit: visit}
		return d.Scan(ctx, within.Start, within.End, v.see)
	}, true)
	if err != nil && failure.CodeOf(err) == errcode.RunAgain {
		f.files.expire()
	}
	return found, err
}

// refresh looks whether the output is still that of the last look, if a second has passed since, and reads it again if
// it is not.
func (f *Finder) refresh(ctx context.Context) error {
	d := f.files
	d.looking.Lock()
	defer d.looking.Unlock()
	if time.Since(d.looked) < lookEvery {
		return d.state
	}
	d.looked = time.Now()
	name := path.Join(d.path, manifest.Name)
	info, err := d.fs.Stat(name)
	if err == nil && d.manifest == info && d.state == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = d.readOutput(ctx, f)
	}
	d.manifest, d.state = info, err
	return err
}

// lookEvery is how often a server looks at an output at most.
const lookEvery = time.Second

// files are the HFiles of a directory, of which others may take some at any time.
type files struct {
	fs    storage.FS
	path  string
	cache *hfiles.Cache // nil: each look-up reads the disk, and the files stay the same

	looking  sync.Mutex
	looked   time.Time
	manifest storage.Info // at the last look
	state    error        // why there is no answer now

	mu    sync.RWMutex      // held by readers of the files
	dir   *hfiles.Directory // nil: HBase has taken them
	table *load.Table       // for which they are, with its families' settings; nil: not known
}

func (d *files) inUse() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.dir != nil
}

// expire has the next look-up look at the output again.
func (d *files) expire() {
	d.looking.Lock()
	defer d.looking.Unlock()
	d.looked, d.manifest = time.Time{}, storage.Info{}
}

// readOutput reads an output's manifest, and opens its files if they are complete and HBase has not taken them.
func (d *files) readOutput(ctx context.Context, f *Finder) error {
	if err := d.close(); err != nil {
		return err
	}
	m, err := manifest.Read(d.fs, d.path)
	switch {
	case err != nil:
		return err
	case m == nil || m.State == manifest.Writing:
		return errcode.RunAgain.Errorf("%s is not complete: its run has not ended yet", d.fs.URI(d.path))
	case m.State == manifest.Loading:
		return errcode.RunAgain.Errorf("%s is being loaded: neither the files nor table %s have all rows",
			d.fs.URI(d.path), f.Job.Table)
	case m.State == manifest.Loaded:
		return nil
	}
	if d.table == nil && f.Job.Connects(true) {
		c, err := f.connect(ctx)
		if err != nil {
			return err
		}
		if d.table, err = site.LookUp(ctx, c, f.Job.Table); err != nil {
			return err
		}
	}
	return d.read()
}

// read opens the files.
func (d *files) read() (err error) {
	dir, err := hfiles.OpenDirectory(d.fs, d.path)
	if err != nil {
		return err
	}
	if d.cache != nil {
		dir.Keep(d.cache)
	}
	d.dir = dir
	return nil
}

func (d *files) close() (err error) {
	if d.dir != nil {
		err = d.dir.Close()
	}
	d.dir = nil
	return err
}

// Ready is why a request could not be answered now; nil if it could. It reads at most the first row of the table.
func (f *Finder) Ready(ctx context.Context) error {
	if f.files != nil {
		if err := f.refresh(ctx); err != nil {
			return err
		}
		if f.files.inUse() {
			return nil
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

package lookup

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/load"
)

// output is the output of a job's date, which a server watches: others may write its files again, and HBase takes them.
type output struct {
	*Finder
	path  string // in the file system fs
	cache *hfiles.Cache

	looking sync.Mutex  // held by whoever looks at the output
	stale   atomic.Bool // a file was gone, so the next look is due

	mu       sync.Mutex
	now      *content     // nil: nobody has looked yet
	manifest storage.Info // when now was read
	looked   time.Time
}

// content is what a look found. It never changes.
type content struct {
	dir     *hfiles.Directory // nil: HBase has taken the files, so the table is read
	table   *load.Table       // for which the files are; nil: not known
	err     error             // why neither can be read now
	readers sync.WaitGroup    // of dir
}

const (
	lookEvery = time.Second      // a server looks at an output at most that often
	lookTime  = 20 * time.Second // a look may take that long, whoever waits for it
)

// take returns what the output has now, for one look-up, which calls done at its end.
//
// One look-up looks at the output for all, under its own time, and the others go on with what was found before.
func (d *output) take(ctx context.Context) (c *content, done func()) {
	d.mu.Lock()
	c, due := d.now, d.stale.Load() || time.Since(d.looked) >= lookEvery
	d.mu.Unlock()
	if c == nil {
		d.looking.Lock()
		d.look(ctx)
		d.looking.Unlock()
	} else if due && d.looking.TryLock() {
		d.look(ctx)
		d.looking.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now.readers.Add(1)
	return d.now, d.now.readers.Done
}

// look reads the output again if it has changed since the last look. The caller holds looking.
func (d *output) look(ctx context.Context) {
	d.mu.Lock()
	before, known := d.now, d.manifest
	due := before == nil || d.stale.Load() || time.Since(d.looked) >= lookEvery
	d.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	stale := d.stale.Swap(false)
	info, err := d.fs.Stat(d.manifestName())
	after := before
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		if before == nil || before.err != nil {
			after = &content{err: err}
		}
		info = known // what was read before may still be true
	case before == nil || before.err != nil || stale || info != known:
		after = d.read(ctx)
	}
	d.mu.Lock()
	d.now, d.manifest, d.looked = after, info, time.Now()
	d.mu.Unlock()
	if before != nil && before != after {
		go func() { _ = before.close() }() // when its readers have ended; the files were only read
	}
}

func (d *output) manifestName() string { return path.Join(d.path, manifest.Name) }

// close closes the files when no look-up reads them any more.
func (c *content) close() error {
	c.readers.Wait()
	if c.dir == nil {
		return nil
	}
	return c.dir.Close()
}

// read reads the manifest, and opens the files if they have all rows.
func (d *output) read(ctx context.Context) *content {
	c := new(content)
	c.dir, c.table, c.err = d.open(ctx)
	return c
}

func (d *output) open(ctx context.Context) (*hfiles.Directory, *load.Table, error) {
	uri := d.fs.URI(d.path)
	m, err := manifest.Read(d.fs, d.path)
	switch {
	case err != nil:
		return nil, nil, err
	case m == nil:
		return nil, nil, d.ifLoaded(uri)
	case m.JobHash != d.Job.Hash() || m.Run.Date != d.Job.DateText():
		return nil, nil, errcode.ServeOther.Errorf("%s has the files of another job, or of another date than %q", uri,
			d.Job.DateText())
	case m.State == manifest.Writing:
		return nil, nil, errcode.ServeNotYet.Errorf("%s is not complete: its run has not ended", uri)
	case m.Interrupted(), m.State == manifest.Written && hasLoaded(m):
		return nil, nil, errcode.ServeNotYet.Errorf("%s is being loaded: neither its files nor table %s have all rows", uri,
			d.Job.Table)
	case m.State == manifest.Loaded:
		return nil, nil, nil
	}
	var table *load.Table
	if d.Job.Connects(true) {
		cluster, err := d.connect(ctx)
		if err == nil {
			table, err = site.LookUp(ctx, cluster, d.Job.Table)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	dir, err := hfiles.OpenDirectory(d.fs, d.path)
	if err != nil {
		return nil, nil, err
	}
	sizes := map[string]int64{}
	for _, f := range dir.Files {
		sizes[f.Path] = f.Size
	}
	for _, f := range m.Files() {
		if sizes[f.Path] != f.Bytes {
			return nil, nil, errcode.ServeNotYet.Errorf("%s lacks %s, which has been taken by a load, or by somebody", uri,
				f.Path)
		}
	}
	dir.Keep(d.cache)
	return dir, table, nil
}

// hasLoaded reports whether the table has some of the files of an output whose other files are written again.
func hasLoaded(m *manifest.Manifest) bool {
	return len(m.LoadedBefore) > 0 || len(m.Files().Loaded()) > 0
}

// ifLoaded returns nil if according to the ledger the table has the rows of an output that was deleted since.
func (d *output) ifLoaded(uri string) error {
	missing := errcode.ServeNotYet.Errorf("%s does not exist yet", uri)
	if !d.Job.Connects(true) {
		return missing
	}
	l, err := d.site.ReadLedger()
	if err != nil {
		return err
	}
	e, err := l.Read(manifest.New(d.Job).LedgerKey(uri))
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	if e == nil || e.State != ledger.Loaded {
		return missing
	}
	return nil
}

// isGone reports whether a look-up failed because files are gone.
func isGone(err error) bool {
	return errcode.Of(err, func(c errcode.Code) bool { return c == errcode.RunAgain || c == errcode.HFileMissing }) != ""
}

package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"bulkload/keys"
	"bulkload/load"
)

// load hands the files to HBase that it does not have yet.
func (w *workplace) load(ctx context.Context, summary *Summary) error {
	if err := w.settleGone(ctx); err != nil {
		return err
	}
	files, err := w.manifest.unloaded(w.fsys, w.dir)
	if err != nil {
		return err
	}
	return summary.phase("load", func() (int64, error) {
		report, err := w.handOver(ctx, w.job.Table, files)
		summary.Load.take(report)
		return w.manifest.loadedBytes(), err
	})
}

// handOver loads files and records in the manifest, if there is one, each file that the table has.
func (w *workplace) handOver(ctx context.Context, table string, files []load.HFile) (*load.Report, error) {
	byURI := map[string]*FileSummary{}
	if w.manifest == nil {
		return w.cluster.LoadFrom(ctx, w.fsys, table, files, nil)
	}
	for _, f := range w.manifest.files() {
		byURI[w.fsys.URI(path.Join(w.dir, f.Path))] = f
	}
	w.manifest.State = stateLoading
	if err := w.manifest.save(w.fsys, w.dir); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	done := func(h load.HFile) error {
		mu.Lock()
		defer mu.Unlock()
		if f := byURI[h.URI]; f != nil {
			f.Loaded = true
		}
		return w.manifest.save(w.fsys, w.dir)
	}
	report := &load.Report{}
	if len(files) > 0 {
		var err error
		if report, err = w.cluster.LoadFrom(ctx, w.fsys, table, files, done); err != nil {
			return report, refusal(report, err)
		}
	}
	w.manifest.State = stateLoaded
	return report, w.manifest.save(w.fsys, w.dir)
}

// refusal tells a load that was refused before HBase took anything from one that failed half-way.
func refusal(report *load.Report, err error) error {
	if errors.Is(err, load.ErrRefused) && report.Files == 0 {
		return refusef("%w; nothing was loaded. Where the table was split since the files were written, --force writes them again", err)
	}
	return err
}

// settleGone looks for files that an interrupted load has left in doubt: HBase moves a file away when it takes it, and
// the run may have been killed before it could record that. A file that is gone and whose first and last row are in the
// table with its timestamp is loaded.
func (w *workplace) settleGone(ctx context.Context) error {
	if w.manifest.State != stateLoading {
		return nil
	}
	for _, f := range w.manifest.files() {
		if f.Loaded {
			continue
		}
		_, err := w.fsys.Stat(path.Join(w.dir, f.Path))
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for %s: %w", f.Path, err)
		}
		if f.Loaded, err = w.inTable(ctx, f); err != nil {
			return err
		}
		if !f.Loaded {
			return refusef("%s is gone, and table %s does not have its rows: look for it in HBase's staging folder, or use --force to do the run again",
				f.Path, w.job.Table)
		}
		sayf(w.options, "%s is in the table: an interrupted load had handed it over", f.Path)
	}
	return nil
}

func (w *workplace) inTable(ctx context.Context, f *FileSummary) (bool, error) {
	for _, text := range []string{f.FirstRow, f.LastRow} {
		row, err := ParseBinary(text)
		if err != nil {
			return false, fmt.Errorf("read the manifest: %w", err)
		}
		found := false
		err = w.cluster.ScanRange(ctx, w.job.Table, row, append(bytes.Clone(row), 0), func(c *keys.Cell) error {
			found = found || string(c.Family) == f.Family && c.Timestamp == w.job.Timestamp
			return nil
		})
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

func (m *manifest) loadedBytes() int64 {
	var n int64
	for _, f := range m.files() {
		if f.Loaded {
			n += f.Bytes
		}
	}
	return n
}

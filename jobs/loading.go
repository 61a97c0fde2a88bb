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
	return summary.phase("load", w.report.name, func() (int64, error) {
		report, err := w.handOver(ctx, w.job.Table, files)
		w.report.Load.take(report)
		return w.manifest.loadedBytes(), err
	})
}

// handOver loads files and records in the manifest, if there is one, each file that the table has.
func (w *workplace) handOver(ctx context.Context, table string, files []load.HFile) (*load.Report, error) {
	if w.manifest == nil {
		report, err := w.cluster.LoadFrom(ctx, w.fsys, table, files, load.Hooks{})
		return report, w.refusal(report, err)
	}
	if err := w.reread(ctx); err != nil {
		return nil, err
	}
	w.manifest.State, w.manifest.Staging = stateLoading, ""
	if err := w.save(); err != nil {
		return nil, err
	}
	report := &load.Report{}
	if len(files) > 0 {
		var err error
		if report, err = w.cluster.LoadFrom(ctx, w.fsys, table, files, w.recordLoad()); err != nil {
			return report, w.refusal(report, err)
		}
	}
	if missing := w.manifest.notLoaded(); missing != nil {
		return report, fmt.Errorf("%s: the table lacks %s after the load", w.fsys.URI(w.dir), some(missing))
	}
	w.manifest.State, w.manifest.Staging = stateLoaded, ""
	return report, w.save()
}

// recordLoad writes into the manifest where a load may leave files, and which the table has.
func (w *workplace) recordLoad() load.Hooks {
	byURI := map[string]*FileSummary{}
	for _, f := range w.manifest.files() {
		byURI[w.fsys.URI(path.Join(w.dir, f.Path))] = f
	}
	var mu sync.Mutex
	return load.Hooks{
		Staging: func(folder string) error {
			w.manifest.Staging = folder
			return w.save()
		},
		Done: func(files []load.HFile) error {
			mu.Lock()
			defer mu.Unlock()
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					f.Loaded = true
				}
			}
			return w.save()
		},
	}
}

// notLoaded lists the recorded files that the table does not have.
func (m *manifest) notLoaded() []string {
	var names []string
	for _, f := range m.files() {
		if !f.Loaded {
			names = append(names, f.Path)
		}
	}
	return names
}

// refusal tells a load that was refused before HBase took anything from one that failed half-way.
func (w *workplace) refusal(report *load.Report, err error) error {
	if !errors.Is(err, load.ErrRefused) || report != nil && report.Files > 0 {
		return err
	}
	remedy := "--force writes them again"
	if w.job == nil {
		remedy = "their job's run writes them again with --force"
	}
	return refusef("%w; nothing was loaded. Where the table was split since the files were written, %s", err, remedy)
}

// settleGone looks for files that an interrupted load has left in doubt: HBase moves a file away when it takes it, and
// the run may have been killed before it could record that. What is in the staging folder still is not loaded, and comes
// back. Of the others, a file that is gone and whose first and last row are in the table with its timestamp is loaded.
func (w *workplace) settleGone(ctx context.Context) error {
	m := w.manifest
	if m.State != stateLoading {
		return nil
	}
	if m.Staging != "" {
		doubtful, err := m.unloaded(w.fsys, w.dir)
		if err != nil {
			return err
		}
		sayf(w.options, "a load was interrupted: looking into its staging folder %s", m.Staging)
		if err := w.cluster.Settle(ctx, w.fsys, m.Staging, doubtful); err != nil {
			return err
		}
	}
	for _, f := range m.files() {
		if f.Loaded {
			continue
		}
		if err := w.settleFile(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (w *workplace) settleFile(ctx context.Context, f *FileSummary) error {
	_, err := w.fsys.Stat(path.Join(w.dir, f.Path))
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for %s: %w", f.Path, err)
	}
	if f.Loaded, err = w.inTable(ctx, f); err != nil {
		return err
	}
	if !f.Loaded {
		return refusef("%s is gone, and table %s does not have its rows: look for it in HBase's staging folder, or use --force to do the run again",
			f.Path, w.manifest.Run.Table)
	}
	sayf(w.options, "%s is in the table: an interrupted load had handed it over", f.Path)
	return nil
}

func (w *workplace) inTable(ctx context.Context, f *FileSummary) (bool, error) {
	for _, end := range []struct {
		row       string
		timestamp int64
	}{{f.FirstRow, f.First}, {f.LastRow, f.Last}} {
		row, err := ParseBinary(end.row)
		if err != nil {
			return false, fmt.Errorf("read the manifest: %w", err)
		}
		found := false
		err = w.cluster.ScanRange(ctx, w.manifest.Run.Table, row, append(bytes.Clone(row), 0), func(c *keys.Cell) error {
			found = found || string(c.Family) == f.Family && c.Timestamp == end.timestamp
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

package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"bulkload/jobs/failpoint"
	"bulkload/jobs/ledger"
	"bulkload/load"
)

// load hands the files to HBase that it does not have yet. It ends well only where the table serves all files.
func (w *workplace) load(ctx context.Context, summary *Summary) error {
	if err := w.recoverLoad(ctx, w.job.Table); err != nil {
		return err
	}
	var report *load.Report
	err := summary.phase("load", w.report.name, func() (_ int64, err error) {
		report, err = w.handOver(ctx, w.job.Table)
		w.report.Load.take(report)
		return w.manifest.loadedBytes(), err
	})
	if err != nil {
		return err
	}
	err = summary.phase("probe", w.report.name, func() (int64, error) {
		return w.manifest.loadedBytes(), w.confirm(ctx, w.job.Table)
	})
	summary.shift(report.Probed)
	return err
}

// handOver loads the files of the manifest that the table does not have and records each that it has. confirm is to follow.
func (w *workplace) handOver(ctx context.Context, table string) (*load.Report, error) {
	if err := w.reread(ctx); err != nil {
		return nil, err
	}
	live, err := lookUp(ctx, w.cluster, table)
	if err != nil {
		return nil, err
	}
	if err := w.checkLoaded(ctx, live); err != nil {
		return nil, err
	}
	if err := w.checkCorrection(ctx, table, w.manifest.Run.ID, w.manifest.Digest); err != nil {
		return nil, err
	}
	w.manifest.State, w.manifest.Staging, w.manifest.Table = stateLoading, "", live.Identity()
	if err := w.note(ledger.Loading); err != nil {
		return nil, err
	}
	if err := w.save(); err != nil {
		return nil, err
	}
	report, err := w.loadAndCut(ctx, table)
	if err != nil {
		return report, w.stopped(ctx, err)
	}
	if missing := w.manifest.notLoaded(); missing != nil {
		return report, fmt.Errorf("%s: the table lacks %s after the load", w.fsys.URI(w.dir), some(missing))
	}
	return report, nil
}

// checkLoaded asks for the files that an earlier process has loaded. Where the table is the one that it was then, what it
// does not serve is written again, as the earlier process would have done; else that is for a person.
func (w *workplace) checkLoaded(ctx context.Context, table *load.Table) error {
	if w.manifest.Table != table.Identity() {
		return w.checkServed(ctx, table.Name)
	}
	loaded, err := w.manifest.hfiles(w.fsys, w.dir, func(f *FileSummary) bool { return f.Loaded })
	if err != nil || len(loaded) == 0 {
		return err
	}
	findings, err := w.serve(ctx, table, loaded)
	if err != nil {
		return w.stopped(ctx, err)
	}
	return w.refuseUnreadable(table.Name, findings)
}

// maxCuts bounds how often regions may split while their files are being loaded.
const maxCuts = 10

// loadAndCut loads the files that the table does not have. Those with rows of several regions are cut before, and again
// where regions split in the meantime.
func (w *workplace) loadAndCut(ctx context.Context, name string) (*load.Report, error) {
	report := &load.Report{}
	for cuts := 0; len(w.manifest.notLoaded()) > 0; cuts++ {
		table, err := lookUp(ctx, w.cluster, name)
		if err != nil {
			return report, err
		}
		if err := w.checkSettings(table); err != nil {
			return report, err
		}
		if err := w.cutFiles(ctx, table); err != nil {
			return report, err
		}
		files, err := w.manifest.unloaded(w.fsys, w.dir)
		if err != nil {
			return report, err
		}
		one, err := w.cluster.LoadFrom(ctx, w.fsys, name, files, w.recordLoad(len(files)))
		report.Add(one)
		if failed := w.saveLoaded(); failed != nil {
			return report, errors.Join(err, failed)
		}
		if err == nil || !errors.Is(err, load.ErrStraddles) || cuts == maxCuts {
			return report, err
		}
		if err := w.recoverLoad(ctx, name); err != nil {
			return report, err
		}
	}
	return report, nil
}

// serve asks for all files at the end of a load. Regions that do not serve what they have taken are opened again.
func (w *workplace) serve(ctx context.Context, t *load.Table, files []load.HFile) ([]load.Finding, error) {
	table := t.Name
	findings, err := w.cluster.ProbeTable(ctx, t, files)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(findings), func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(missing) == 0 {
		return findings, nil
	}
	w.options.Sayf("table %s does not serve %d of %d files, such as %s: opening their regions again", table, len(missing), len(files), missing[0].URI)
	if missing, err = w.cluster.Reopen(ctx, table, missing); err != nil {
		return nil, err
	}
	lost := slices.DeleteFunc(missing, func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(lost) > 0 {
		return nil, &load.LostError{Table: table, Files: lost}
	}
	return w.cluster.Probe(ctx, table, files)
}

// confirm ends a load: every file must be served, and every row readable.
func (w *workplace) confirm(ctx context.Context, name string) error {
	files, err := w.manifest.hfiles(w.fsys, w.dir, func(*FileSummary) bool { return true })
	if err != nil {
		return err
	}
	table, err := lookUp(ctx, w.cluster, name)
	if err != nil {
		return err
	}
	findings, err := w.serve(ctx, table, files)
	if err != nil {
		return w.stopped(ctx, err)
	}
	if err := w.refuseUnreadable(name, findings); err != nil {
		return err
	}
	w.manifest.State, w.manifest.Staging, w.manifest.Table = stateLoaded, "", table.Identity()
	if err := w.note(ledger.Loaded); err != nil {
		return err
	}
	return w.save()
}

// savesALoad bounds how often a load saves the manifest for the files that HBase has taken: the manifest grows with them, so
// that saving it after each request would cost a load of many regions the square of their number.
const savesALoad = 64

// recordLoad writes into the manifest where a load of n files may leave some, and which the table has. That it has a file
// may be written some requests later: a killed load asks the table for the files that are neither at their place nor
// recorded. saveLoaded is to follow.
func (w *workplace) recordLoad(n int) load.Hooks {
	byURI := map[string]*FileSummary{}
	for _, f := range w.manifest.files() {
		byURI[w.fsys.URI(path.Join(w.dir, f.Path))] = f
	}
	var mu sync.Mutex
	return load.Hooks{
		Before: w.mayAsk,
		Known: func(files []load.HFile) error {
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					f.ServedBefore = true
				}
			}
			return w.save()
		},
		Staging: func(folder string) error {
			w.manifest.Staging = folder
			err := w.save()
			w.options.Failpoint.Reached(failpoint.Staging)
			return err
		},
		Done: func(files []load.HFile) error {
			mu.Lock()
			defer mu.Unlock()
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					f.Loaded = true
				}
			}
			var err error
			if w.unsaved++; w.unsaved > n/savesALoad {
				err = w.saveLoaded()
			}
			w.options.Failpoint.Reached(failpoint.Taken)
			return err
		},
	}
}

// saveLoaded saves the manifest where that was put off.
func (w *workplace) saveLoaded() error {
	if w.unsaved == 0 {
		return nil
	}
	w.unsaved = 0
	return w.save()
}

// mayAsk is an error where another run may load the output's files by now. It is asked before each load request.
func (w *workplace) mayAsk() error {
	w.options.Failpoint.Reached(failpoint.Asked)
	return w.checkLock()
}

// checkLock is an error where another run may change the output.
func (w *workplace) checkLock() error {
	if w.lock == nil {
		return nil
	}
	return w.lock.check()
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

// stopped says of a load that failed how far it came, and what to do.
func (w *workplace) stopped(ctx context.Context, err error) error {
	var lost *load.LostError
	if errors.As(err, &lost) {
		return w.lose(ctx, lost)
	}
	all := len(w.manifest.files())
	return fmt.Errorf("%w; %d of %d files are in the table", err, all-len(w.manifest.notLoaded()), all)
}

// recoverLoad finds out what became of files that an interrupted load has left in doubt: HBase moves a file away when it
// takes it, and the run may have been killed before it could record that. What is in the staging folder still is not
// loaded, and comes back. Of the others, a file is loaded if the table serves it.
func (w *workplace) recoverLoad(ctx context.Context, table string) error {
	m := w.manifest
	if m.State != stateLoading {
		return nil
	}
	files, err := m.unloaded(w.fsys, w.dir)
	if err != nil || len(files) == 0 {
		return err
	}
	w.options.Sayf("a load was interrupted: looking for its files in the staging folder and in the table")
	loaded, err := w.cluster.RecoverStaging(ctx, w.fsys, table, m.Staging, files)
	if failed := w.recordLoad(0).Done(loaded); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return w.stopped(ctx, err)
	}
	return nil
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

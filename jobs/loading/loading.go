// Package loading hands the files of an output directory to a table. It cuts files at new region boundaries, brings back what an
// interrupted load has left, and ends well only where the table serves all files.
package loading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"bulkload/internal/errcode"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/progress"
	"bulkload/jobs/site"
	"bulkload/load"
)

// HandOver loads the files of the manifest that the table does not have and records each that it has. confirm is to follow.
func (w *Loader) HandOver(ctx context.Context, table string) (*load.Report, error) {
	if err := w.ReadAgain(ctx); err != nil {
		return nil, err
	}
	live, err := site.LookUp(ctx, w.Cluster, table)
	if err != nil {
		return nil, err
	}
	if err := w.checkLoaded(ctx, live); err != nil {
		return nil, err
	}
	if err := w.checkCorrection(ctx, table, w.Out.Manifest.Run.ID, w.Out.Manifest.Digest); err != nil {
		return nil, err
	}
	w.Out.Manifest.State, w.Out.Manifest.Staging, w.Out.Manifest.Table = manifest.Loading, "", live.Identity()
	if err := w.note(ledger.Loading); err != nil {
		return nil, err
	}
	if err := w.Out.Save(); err != nil {
		return nil, err
	}
	report, err := w.loadAndCut(ctx, table)
	if err != nil {
		return report, w.stopped(ctx, err)
	}
	if missing := w.Out.Manifest.NotLoaded(); missing != nil {
		return report, errcode.LoadIncomplete.Errorf("%s: the table lacks %s after the load", w.Out.FS.URI(w.Out.Path), failure.Some(missing))
	}
	return report, nil
}

// checkLoaded asks for the files that an earlier process has loaded. Where the table is the one that it was then, what it
// does not serve is written again, as the earlier process would have done; else that is for a person.
func (w *Loader) checkLoaded(ctx context.Context, table *load.Table) error {
	if w.Out.Manifest.Table != table.Identity() {
		return w.CheckServed(ctx, table.Name)
	}
	loaded, err := w.Out.Manifest.Hfiles(w.Out.FS, w.Out.Path, func(f *hfile.Summary) bool { return f.Loaded })
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
func (w *Loader) loadAndCut(ctx context.Context, name string) (*load.Report, error) {
	report := &load.Report{}
	w.watchLoads(len(w.Out.Manifest.NotLoaded()))
	for cuts := 0; len(w.Out.Manifest.NotLoaded()) > 0; cuts++ {
		table, err := site.LookUp(ctx, w.Cluster, name)
		if err != nil {
			return report, err
		}
		if err := w.checkSettings(table); err != nil {
			return report, err
		}
		if err := w.cutFiles(ctx, table); err != nil {
			return report, err
		}
		files, err := w.Out.Manifest.Unloaded(w.Out.FS, w.Out.Path)
		if err != nil {
			return report, err
		}
		one, err := w.Cluster.LoadFrom(ctx, w.Out.FS, name, files, w.RecordLoad(len(files)))
		report.Add(one)
		if failed := w.saveLoaded(); failed != nil {
			return report, errors.Join(err, failed)
		}
		if err == nil || !errors.Is(err, load.ErrStraddles) || cuts == maxCuts {
			return report, err
		}
		if err := w.RecoverLoad(ctx, name); err != nil {
			return report, err
		}
	}
	return report, nil
}

// serve asks for all files at the end of a load. Regions that do not serve what they have taken are opened again.
func (w *Loader) serve(ctx context.Context, t *load.Table, files []load.HFile) ([]load.Finding, error) {
	table := t.Name
	findings, err := w.Cluster.ProbeTable(ctx, t, files)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(findings), func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(missing) == 0 {
		return findings, nil
	}
	w.Out.Options.Warnf("table %s does not serve %d of %d files, such as %s: opening their regions again", table, len(missing), len(files), missing[0].URI)
	if missing, err = w.Cluster.Reopen(ctx, table, missing); err != nil {
		return nil, err
	}
	lost := slices.DeleteFunc(missing, func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(lost) > 0 {
		return nil, &load.LostError{Table: table, Files: lost}
	}
	return w.Cluster.Probe(ctx, table, files)
}

// Confirm ends a load: every file must be served, and every row readable.
func (w *Loader) Confirm(ctx context.Context, name string) error {
	files, err := w.Out.Manifest.Hfiles(w.Out.FS, w.Out.Path, func(*hfile.Summary) bool { return true })
	if err != nil {
		return err
	}
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err != nil {
		return err
	}
	probes := progress.NewCounter(progress.Within(w.Out.Options.Watch, loadsShare, 1), "probe", int64(len(files)), "files")
	findings, err := w.serve(ctx, table, files)
	if err != nil {
		return w.stopped(ctx, err)
	}
	probes.Add(int64(len(files)))
	if err := w.refuseUnreadable(name, findings); err != nil {
		return err
	}
	w.Out.Manifest.State, w.Out.Manifest.Staging, w.Out.Manifest.Table = manifest.Loaded, "", table.Identity()
	if err := w.note(ledger.Loaded); err != nil {
		return err
	}
	return w.Out.Save()
}

// savesALoad bounds how often a load saves the manifest for the files that HBase has taken: the manifest grows with them, so
// that saving it after each request would cost a load of many regions the square of their number.
const savesALoad = 64

// RecordLoad writes into the manifest where a load of n files may leave some, and which the table has. That it has a file
// may be written some requests later: a killed load asks the table for the files that are neither at their place nor
// recorded. saveLoaded is to follow.
func (w *Loader) RecordLoad(n int) load.Hooks {
	byURI := map[string]*hfile.Summary{}
	for _, f := range w.Out.Manifest.Files() {
		byURI[w.Out.URI(f.Path)] = f
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
			return w.Out.Save()
		},
		Staging: func(folder string) error {
			w.Out.Manifest.Staging = folder
			err := w.Out.Save()
			w.Out.Options.Failpoint.Reached(failpoint.Staging)
			return err
		},
		Done: func(files []load.HFile) error {
			mu.Lock()
			defer mu.Unlock()
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					f.Loaded = true
					w.Out.Options.Detail(options.LevelDetail, "file loaded", slog.Int("region", f.Region), slog.String("file", f.Path))
				}
			}
			w.countLoads(len(files))
			var err error
			if w.unsaved++; w.unsaved > n/savesALoad {
				err = w.saveLoaded()
			}
			w.Out.Options.Failpoint.Reached(failpoint.Taken)
			return err
		},
	}
}

// loadsShare is how much of a load its requests are, about; the rest is asking whether the table serves the files.
const loadsShare = 0.8

// watchLoads begins to count the files that HBase takes.
func (w *Loader) watchLoads(files int) {
	w.loads = progress.NewCounter(progress.Within(w.Out.Options.Watch, 0, loadsShare), "load", int64(files), "files")
}

func (w *Loader) countLoads(files int) {
	if w.loads != nil {
		w.loads.Add(int64(files))
	}
}

// saveLoaded saves the manifest where that was put off.
func (w *Loader) saveLoaded() error {
	if w.unsaved == 0 {
		return nil
	}
	w.unsaved = 0
	return w.Out.Save()
}

// mayAsk is an error where another run may load the output's files by now. It is asked before each load request.
func (w *Loader) mayAsk() error {
	w.Out.Options.Failpoint.Reached(failpoint.Asked)
	return w.Out.CheckLock()
}

// stopped says of a load that failed how far it came, and what to do.
func (w *Loader) stopped(ctx context.Context, err error) error {
	var lost *load.LostError
	if errors.As(err, &lost) {
		return w.lose(ctx, lost)
	}
	all := len(w.Out.Manifest.Files())
	return fmt.Errorf("%w; %d of %d files are in the table", err, all-len(w.Out.Manifest.NotLoaded()), all)
}

// WasLoaded tells whether the output's manifest or the ledger says that rows of this job and date were loaded.
func (w *Loader) WasLoaded() (bool, error) {
	m, err := manifest.Read(w.Out.FS, w.Out.Path)
	if err != nil {
		return false, err
	}
	w.Out.Manifest = &manifest.Manifest{JobHash: w.Out.Job.Hash(), Run: w.Out.Job.Info()}
	if m == nil {
		e, err := w.Entry()
		return e != nil && e.State == ledger.Loaded && len(e.Files) > 0, err
	}
	same := m.State == manifest.Loaded && !m.WroteNothing() && m.JobHash == w.Out.Job.Hash() && m.Run.Date == w.Out.Manifest.Run.Date
	if same {
		w.Out.Manifest = m
	}
	return same, nil
}

// Replace deletes the run that --force gives up. Until the new one is sorted, and nothing but writing it can fail, the
// old one stays as it is.
func (w *Loader) Replace(ctx context.Context) error {
	if w.Out.Replaced == nil {
		return nil
	}
	if err := w.Out.Lock.Check(); err != nil {
		return err
	}
	if err := w.recoverReplaced(ctx); err != nil {
		return err
	}
	w.Out.Options.Sayf("cleaning the output of run %s", w.Out.Replaced.Run.ID)
	if err := w.Out.Clean(w.Out.Replaced); err != nil {
		return err
	}
	w.Out.Replaced = nil
	return w.Out.Save()
}

// Summary says what HBase was given.
type Summary struct {
	Wanted  bool   `json:"wanted"`
	Files   int    `json:"files"`
	Regions int    `json:"regions"`
	Rounds  int    `json:"rounds"`
	Staging string `json:"staging,omitempty"` // where HBase's staging folder is still there
}

// Take takes over a load's report, which may be nil.
func (l *Summary) Take(r *load.Report) {
	if r != nil {
		l.Files, l.Regions, l.Rounds, l.Staging = r.Files, r.Regions, r.Rounds, r.Staging
	}
}

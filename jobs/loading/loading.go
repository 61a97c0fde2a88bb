// Package loading loads the files of an output directory into a table. It cuts files at new region boundaries,
// recovers interrupted loads, and succeeds only if the table serves all files.
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

// LoadOutput loads the files of the manifest that the table does not have, and records each of them. Confirm must
// follow.
//
// The order of the steps decides what a kill costs. Ledger and manifest say "loading" before the first request, and
// the manifest names the staging folder before the first file can be in it. So whatever the table has, the next
// process knows where to look. "Loaded" is written only after every file was probed: it is never written on HBase's
// word alone.
func (w *Loader) LoadOutput(ctx context.Context, table string) (*load.Report, error) {
	// First everything that can refuse the load without a trace: damaged files, files that the table lost, cells that
	// may win over these later.
	if err := w.CheckLeftOut(ctx); err != nil {
		return nil, err
	}
	if err := w.VerifyBeforeLoad(ctx); err != nil {
		return nil, err
	}
	live, err := site.LookUp(ctx, w.Cluster, table)
	if err != nil {
		return nil, err
	}
	if err := w.checkLoaded(ctx, live); err != nil {
		return nil, err
	}
	if err := w.checkUnloadedCounts(live); err != nil {
		return nil, err
	}
	if err := w.checkCorrection(ctx, table, w.Out.Manifest.Run.ID, w.Out.Manifest.Digest); err != nil {
		return nil, err
	}
	w.Out.Manifest.State, w.Out.Manifest.Staging, w.Out.Manifest.Table = manifest.Loading, "", live.Identity()
	// From here on a kill leaves a load to recover. The ledger is written before the manifest:
	// it is found even if the output is deleted.
	if err := w.recordState(ledger.Loading); err != nil {
		return nil, err
	}
	if err := w.Out.Save(); err != nil {
		return nil, err
	}
	// The manifest says "loading" on disk. Requests may follow.
	report, err := w.loadAndCut(ctx, table)
	if err != nil {
		return report, w.describeFailure(ctx, err)
	}
	// A load without an error and with files left would be a fault of this program: better an error than a table that
	// lacks rows.
	if missing := w.Out.Manifest.NotLoaded(); missing != nil {
		return report, errcode.LoadIncomplete.Errorf("%s: the table lacks %s after the load", w.Out.FS.URI(w.Out.Path), failure.FirstFew(missing))
	}
	return report, nil
}

// checkLoaded probes the files that an earlier process has loaded. If the table is still the same, files that it does
// not serve are written again, as the earlier process would have done; otherwise that is for a person to decide.
func (w *Loader) checkLoaded(ctx context.Context, table *load.Table) error {
	if w.Out.Manifest.Table != table.Identity() {
		// Created again, restored or split since: only a person knows whether rows are missing on purpose.
		return w.CheckServed(ctx, table.Name)
	}
	loaded, err := w.Out.Manifest.Hfiles(w.Out.FS, w.Out.Path, func(f *hfile.Summary) bool { return f.Loaded })
	if err != nil || len(loaded) == 0 {
		return err
	}
	findings, err := w.probeAndReopen(ctx, table, loaded, w.watchProbes(len(loaded), 0, checkShare))
	if err != nil {
		return w.describeFailure(ctx, err)
	}
	return w.refuseUnreadable(table.Name, findings, lostUnchanged)
}

// maxCuts bounds how often regions may split during a load.
const maxCuts = 10

// loadAndCut loads the files that the table does not have. Files with rows of several regions are cut first, and
// again if regions split during the load.
func (w *Loader) loadAndCut(ctx context.Context, name string) (*load.Report, error) {
	report := &load.Report{}
	w.watchLoads(len(w.Out.Manifest.NotLoaded()))
	// Each pass looks the table up anew: the boundaries to cut at, and the family settings, must be those of the
	// regions that get the files.
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
		// Save what is loaded, whatever LoadFrom returned: its error must not hide files that the table has.
		if failed := w.saveLoaded(); failed != nil {
			return report, errors.Join(err, failed)
		}
		if err == nil || !errors.Is(err, load.ErrStraddles) {
			return report, err
		}
		if cuts == maxCuts {
			return report, stillSplitting(name)
		}
		// A region split during the load. Before the next pass every file must be at its source again or recorded as
		// loaded: cutting a file that HBase still holds would put its rows into the table twice.
		if err := w.RecoverLoad(ctx, name); err != nil {
			return report, err
		}
	}
	return report, nil
}

// stillSplitting ends a load whose files were cut again and again.
func stillSplitting(table string) error {
	return errcode.HBaseRegion.Errorf("%w: the files were cut %d times during the load, and regions of table %s have split again: run this again when they no longer split",
		load.ErrUnavailable, maxCuts, table)
}

// checkUnloadedCounts is checkCounts for the files that are not loaded.
func (w *Loader) checkUnloadedCounts(table *load.Table) error {
	files, err := w.Out.Manifest.Unloaded(w.Out.FS, w.Out.Path)
	if err != nil {
		return err
	}
	return w.checkCounts(table, files)
}

// probeAndReopen probes all files at the end of a load. Regions that do not serve what they took are opened again.
//
// An error says nothing about the files: they may be served or not, and the state stays Loading. A *load.LostError is the
// exception: its files are not served even after their regions were opened again, or these could not be.
func (w *Loader) probeAndReopen(ctx context.Context, t *load.Table, files []load.HFile, watch func(files int)) ([]load.Finding, error) {
	table := t.Name
	findings, err := w.Cluster.ProbeTable(ctx, t, files, watch)
	if err != nil {
		return nil, err
	}
	// Only missing files: cells that are deleted, expired or superseded are explained, and opening a region again
	// would not bring them back.
	missing := slices.DeleteFunc(slices.Clone(findings), func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(missing) == 0 {
		return findings, nil
	}
	w.Out.Options.Warnf("table %s does not serve %d of %d files, such as %s: opening their regions again", table, len(missing), len(files), missing[0].URI)
	if missing, err = w.Cluster.ReopenAndProbe(ctx, table, missing); err != nil {
		return nil, err
	}
	lost := slices.DeleteFunc(missing, func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(lost) > 0 {
		return nil, &load.LostError{Table: table, Files: lost}
	}
	// All files again: the reopened regions may serve others now, too.
	return w.Cluster.Probe(ctx, table, files)
}

// Confirm ends a load: every file must be served, and every row readable. Only then does the manifest say that it is
// loaded.
func (w *Loader) Confirm(ctx context.Context, name string) error {
	files, err := w.Out.Manifest.Hfiles(w.Out.FS, w.Out.Path, func(*hfile.Summary) bool { return true })
	if err != nil {
		return err
	}
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err != nil {
		return err
	}
	findings, err := w.probeAndReopen(ctx, table, files, w.watchProbes(len(files), loadsShare, 1))
	if err != nil {
		return w.describeFailure(ctx, err)
	}
	// The state stays Loading on disk. The next command probes again, whatever a person did to the table meanwhile.
	if err := w.refuseUnreadable(name, findings, lostSomehow); err != nil {
		return err
	}
	// The ledger first, as before the load: if the process is killed between the two, the next one finds the manifest
	// loading, probes all files, and comes here again.
	w.Out.Manifest.State, w.Out.Manifest.Staging, w.Out.Manifest.Table = manifest.Loaded, "", table.Identity()
	if err := w.recordState(ledger.Loaded); err != nil {
		return err
	}
	return w.Out.Save()
}

// maxSaves bounds how often a load saves the manifest for loaded files. The manifest grows with the files, so a save
// after each request would make a load of many regions quadratic.
const maxSaves = 64

// RecordLoad returns hooks that record a load of n files in the manifest. Staging folder and served-before marks are
// saved at once, because recovery depends on them. That a file is loaded may be saved some requests later: a file
// that is neither at its source nor recorded is in doubt after a kill, and recovery probes the table for it.
// saveLoaded must follow.
func (w *Loader) RecordLoad(n int) load.Hooks {
	byURI := map[string]*hfile.Summary{}
	for _, f := range w.Out.Manifest.Files() {
		byURI[w.Out.URI(f.Path)] = f
	}
	var mu sync.Mutex
	return load.Hooks{
		Looked: w.watchLook(n),
		Before: w.beforeRequest,
		ServedBefore: func(files []load.HFile) error {
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					// It must be on disk before the first request: without the mark, a recovery would take the cells
					// of an older load as proof that this file is loaded.
					f.ServedBefore = true
				}
			}
			return w.Out.Save()
		},
		Staging: func(folder string) error {
			// Also before the first request: recovery could not find files in a folder that nobody knows.
			w.Out.Manifest.Staging = folder
			w.countLoads(0)
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
			// A save may be skipped, since a file that is marked only in memory is in doubt after a kill, and
			// recovery probes for it.
			if w.unsaved++; w.unsaved > n/maxSaves {
				err = w.saveLoaded()
			}
			w.Out.Options.Failpoint.Reached(failpoint.FilesLoaded)
			return err
		},
	}
}

// About where a load is, as a share of its time: when it knows that the table still serves what an earlier process has loaded,
// when it has looked for the other files' rows, and when it has sent all requests. What is left is probes.
const (
	checkShare = 0.05
	lookShare  = 0.1
	loadsShare = 0.8
)

// watchProbes begins to count the files that the table is asked for, as a part of the load between two shares of it.
func (w *Loader) watchProbes(files int, from, to float64) func(int) {
	probes := progress.NewCounter(progress.Within(w.Out.Options.Watch, from, to), "probe", int64(files), "files")
	return func(n int) { probes.Add(int64(n)) }
}

// watchLoads sets how many files a load begins with.
func (w *Loader) watchLoads(files int) { w.loads, w.toLoad = nil, files }

// watchLook begins to count the files that the table is asked for before the first request. Later requests of the same load ask
// for few files again: nil.
func (w *Loader) watchLook(files int) func(int) {
	if w.loads != nil || files == 0 {
		return nil
	}
	return w.watchProbes(files, checkShare, lookShare)
}

// countLoads counts loaded files. The first call shows that the requests begin.
func (w *Loader) countLoads(files int) {
	if w.loads == nil && w.toLoad > 0 {
		w.loads = progress.NewCounter(progress.Within(w.Out.Options.Watch, lookShare, loadsShare), "load", int64(w.toLoad), "files")
	}
	if w.loads != nil {
		w.loads.Add(int64(files))
	}
}

// saveLoaded saves the manifest if that was put off.
func (w *Loader) saveLoaded() error {
	if w.unsaved == 0 {
		return nil
	}
	w.unsaved = 0
	return w.Out.Save()
}

// beforeRequest is an error if another run may load the output's files by now. It is called before each load request.
func (w *Loader) beforeRequest() error {
	w.Out.Options.Failpoint.Reached(failpoint.BeforeRequest)
	if err := w.turn.Fresh(); err != nil {
		return err
	}
	return w.Out.CheckLock()
}

// describeFailure adds to the error of a load how far it came, and what to do.
func (w *Loader) describeFailure(ctx context.Context, err error) error {
	var lost *load.LostError
	if errors.As(err, &lost) {
		return w.rewriteLost(ctx, lost)
	}
	all := len(w.Out.Manifest.Files())
	return fmt.Errorf("%w; %d of %d files are in the table", err, all-len(w.Out.Manifest.NotLoaded()), all)
}

// WasLoaded reports whether the output's manifest or the ledger says that rows of this job and date were loaded.
//
// It looks at records only, and changes w.Out.Manifest to the one that says so. The caller must still ask the table
// (CheckServed, Adopt): a record says what was loaded, not what is served.
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

// Replace deletes the run that --force replaces. The old run stays as it is until the new one is sorted, and nothing
// but its writing can fail.
func (w *Loader) Replace(ctx context.Context) error {
	if w.Out.Replaced == nil {
		return nil
	}
	if err := w.Out.Lock.Check(); err != nil {
		return err
	}
	// Files of the old run in HBase's staging folder come back first. Otherwise HBase might load them after the
	// output was cleaned.
	if err := w.recoverReplaced(ctx); err != nil {
		return err
	}
	w.Out.Options.Infof("cleaning the output of run %s", w.Out.Replaced.Run.ID)
	// A kill before the next Save leaves an output without a manifest, or with the old one that names what is left. Either way
	// no file is left that no manifest names.
	if err := w.Out.Clean(w.Out.Replaced); err != nil {
		return err
	}
	w.Out.Replaced = nil
	return w.Out.Save()
}

// Summary is the result of a load.
type Summary struct {
	Requested bool   `json:"wanted"`
	Files     int    `json:"files"`
	Regions   int    `json:"regions"`
	Rounds    int    `json:"rounds"`
	Staging   string `json:"staging,omitempty"` // HBase's staging folder, if it still exists
}

// Apply copies a load's report, which may be nil.
func (l *Summary) Apply(r *load.Report) {
	if r != nil {
		l.Files, l.Regions, l.Rounds, l.Staging = r.Files, r.Regions, r.Rounds, r.Staging
	}
}

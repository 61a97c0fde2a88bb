package loading

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/jobs/hfiledir"
	"bulkload/jobs/ledger"
	"bulkload/jobs/site"
	"bulkload/load"
)

// A directory that another tool has written has no manifest. What happened to its files is recorded in the ledger,
// under the directory's name, so that a second command does not mistake files that HBase has moved away for loaded
// ones.

// directoryKey replaces a job's hash in the ledger.
func (w *Loader) directoryKey() string {
	return ledger.DirectoryKey(w.Out.FS.URI(w.Out.Path))
}

// directoryEntry is the ledger's entry for this directory's load into a table; nil if there is none.
func (w *Loader) directoryEntry(table string) (*ledger.Entry, error) {
	e, err := w.Ledger.Read(table, "", w.directoryKey())
	return e, damagedRecord(err)
}

// checkDirectoryServed checks, if no file is left, that the table serves what was loaded from here.
func (w *Loader) checkDirectoryServed(ctx context.Context, table string) error {
	if err := w.recoverDirectory(ctx, table); err != nil {
		return err
	}
	e, err := w.directoryEntry(table)
	if e == nil || err != nil {
		return err
	}
	for _, f := range e.Files {
		// Recovery has moved it back since the directory was listed. Its rows are not in the table, so "nothing to do" would be
		// wrong.
		if _, err := w.Out.FS.Stat(path.Join(w.Out.Path, f.Family, path.Base(f.URI))); err == nil {
			return errcode.LoadAgain.Errorf("%s came back from an interrupted load; run this again to load it", f.URI)
		}
	}
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	if err := w.probeServed(ctx, table, e.Identity, files); err != nil {
		return err
	}
	e.State, e.Staging = ledger.Loaded, ""
	return w.writeEntry(e)
}

// writeEntry writes an entry if the directory is still this run's.
func (w *Loader) writeEntry(e *ledger.Entry) error {
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	return w.Ledger.Write(e)
}

// recordForeignLost records files that HBase lost and that can't be written again.
func (w *Loader) recordForeignLost(ctx context.Context, err error) error {
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	if failed := w.recordUnserved(ctx, lost, w.directoryKey(), digest.Sum{}); failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; move the region to another server in the HBase shell, and run this again", err)
}

// loadDirectory loads all files of a directory that no manifest records. Files with rows of several regions are cut first,
// and again if regions split during the load.
func (w *Loader) loadDirectory(ctx context.Context, name string, d *hfiledir.Directory) (*load.Report, error) {
	report := &load.Report{}
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err == nil {
		err = w.checkCounts(table, loadable(d))
	}
	if err == nil {
		err = w.checkCorrection(ctx, name, w.directoryKey(), digest.Sum{})
	}
	if err != nil {
		return report, err
	}
	for cuts := 0; ; cuts++ {
		if d, err = w.cutDirectory(ctx, table, d); err != nil {
			return report, err
		}
		var e *ledger.Entry
		if e, err = w.offerDirectory(ctx, name, d, report); err == nil {
			return report, w.confirmDirectory(ctx, name, e)
		}
		if !errors.Is(err, load.ErrStraddles) {
			return report, err
		}
		if cuts == maxCuts {
			return report, stillSplitting(name)
		}
		// A region split during the load. Every file must be at its source again, or in the table, before the next cut.
		if err = w.recoverDirectory(ctx, name); err == nil {
			table, err = site.LookUp(ctx, w.Cluster, name)
		}
		if err == nil {
			d, err = hfiledir.Open(w.Out.FS, w.Out.Path)
		}
		if err != nil {
			return report, err
		}
	}
}

// offerDirectory hands over the files that are in the directory, and returns the ledger's entry for them.
//
// The entry says "loading" with all files before the first request. A kill after it leaves files at their source, in
// staging, or taken; recoverDirectory brings back what it can, and the entry still names the others, to be probed.
func (w *Loader) offerDirectory(ctx context.Context, name string, d *hfiledir.Directory, report *load.Report) (*ledger.Entry, error) {
	if err := d.PickProbes(ctx); err != nil {
		return nil, err
	}
	e, err := w.beginDirectory(name, d)
	if err != nil {
		return nil, err
	}
	files := loadable(d)
	if w.loads == nil {
		w.watchLoads(len(files))
	}
	one, err := w.Cluster.LoadFrom(ctx, w.Out.FS, name, files, w.directoryHooks(e))
	report.Add(one)
	if err != nil {
		return e, w.recordForeignLost(ctx, fmt.Errorf("%w; %d of %d files are in the table", err, report.Files, len(e.Files)))
	}
	return e, nil
}

// confirmDirectory ends a load: every file must be served, and every row readable. Only then does the ledger say that they
// are loaded.
func (w *Loader) confirmDirectory(ctx context.Context, name string, e *ledger.Entry) error {
	all, err := loadedFiles(e)
	if err != nil {
		return err
	}
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err != nil {
		return err
	}
	findings, err := w.probeAndReopen(ctx, table, all, w.watchProbes(len(all), loadsShare, 1))
	if err != nil {
		return w.recordForeignLost(ctx, err)
	}
	if err := w.refuseUnreadable(name, findings, lostSomehow); err != nil {
		return err
	}
	e.State, e.Staging, e.Identity = ledger.Loaded, "", table.Identity()
	return w.writeEntry(e)
}

// directoryHooks record in the ledger what a second command must know of an interrupted load.
//
// Done records nothing: unlike a manifest's, the entry has no mark for a loaded file. A file that is not
// in the directory any more is probed at the end, whatever became of it.
func (w *Loader) directoryHooks(e *ledger.Entry) load.Hooks {
	return load.Hooks{
		Looked: w.watchLook(len(e.Files)),
		Before: w.beforeRequest,
		ServedBefore: func(known []load.HFile) error {
			served := make(map[string]bool, len(known))
			for _, h := range known {
				served[h.URI] = true
			}
			for i := range e.Files {
				e.Files[i].ServedBefore = e.Files[i].ServedBefore || served[e.Files[i].URI]
			}
			return w.writeEntry(e)
		},
		Staging: func(folder string) error {
			e.Staging = folder
			w.countLoads(0)
			return w.writeEntry(e)
		},
		Done: func(files []load.HFile) error {
			w.countLoads(len(files))
			return nil
		},
	}
}

// beginDirectory records in the ledger that the directory's files are about to be loaded, along with those of an
// earlier interrupted load.
func (w *Loader) beginDirectory(table string, d *hfiledir.Directory) (*ledger.Entry, error) {
	old, err := w.directoryEntry(table)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // for people
	hash, err := program.Hash()
	e := &ledger.Entry{State: ledger.Loading, Job: "load " + path.Base(w.Out.Path), JobHash: w.directoryKey(), Table: table, Output: w.Out.FS.URI(w.Out.Path),
		Books: []byte("{}"), Inputs: []byte("[]"), Program: hash, Host: host, User: w.Out.Site.User, Time: time.Now().UTC().Truncate(time.Second)}
	present := map[string]bool{}
	for _, f := range d.Files {
		uri := w.Out.URI(f.Path)
		present[uri] = true
		e.Files = append(e.Files, ledger.File{URI: uri, Family: f.Family, FirstRow: printable.Bytes(f.First), LastRow: printable.Bytes(f.Last), Probes: f.Cells})
	}
	// HBase took these before the interruption. Without them here the final probes would not ask for their rows.
	if old != nil && old.State == ledger.Loading {
		for _, f := range old.Files {
			if !present[f.URI] {
				e.Files = append(e.Files, f)
			}
		}
	}
	return e, errors.Join(err, w.writeEntry(e))
}

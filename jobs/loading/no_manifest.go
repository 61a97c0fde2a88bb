package loading

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// A directory that another tool has written has no manifest. What became of its files is recorded in the ledger, under the
// directory's name, so that a second command does not take files that HBase has moved away for loaded ones.

// directoryKey takes the place of a job's hash in the ledger.
func (w *Loader) directoryKey() string {
	sum := sha256.Sum256([]byte("directory " + w.Out.FS.URI(w.Out.Path)))
	return hex.EncodeToString(sum[:])
}

// directoryEntry is what the ledger remembers of this directory's load into a table; nil where that is nothing.
func (w *Loader) directoryEntry(table string) (*ledger.Entry, error) {
	e, err := w.Ledger.Read(table, "", w.directoryKey())
	return e, damagedRecord(err)
}

// checkDirectoryServed asks, where no file is left, whether the table serves what was loaded from here.
func (w *Loader) checkDirectoryServed(ctx context.Context, table string) error {
	if err := w.recoverDirectory(ctx, table); err != nil {
		return err
	}
	e, err := w.directoryEntry(table)
	if e == nil || err != nil {
		return err
	}
	for _, f := range e.Files {
		if _, err := w.Out.FS.Stat(path.Join(w.Out.Path, f.Family, path.Base(f.URI))); err == nil {
			return errcode.LoadAgain.Errorf("%s came back from an interrupted load; run this again to load it", f.URI)
		}
	}
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	if err := w.askServed(ctx, table, e.Identity, files); err != nil {
		return err
	}
	e.State, e.Staging = ledger.Loaded, ""
	return w.writeEntry(e)
}

// writeEntry writes an entry as long as the directory is this run's.
func (w *Loader) writeEntry(e *ledger.Entry) error {
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	return w.Ledger.Write(e)
}

// lostForeign remembers files that HBase lost and that can't be written again.
func (w *Loader) lostForeign(ctx context.Context, err error) error {
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	if failed := w.noteUnserved(ctx, lost, w.directoryKey(), digest.Sum{}); failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; move the region to another server in the HBase shell, and run this again", err)
}

// handOverDirectory loads all files of a directory that no manifest records.
func (w *Loader) handOverDirectory(ctx context.Context, name string, d *hfiledir.Directory) (*load.Report, error) {
	if err := d.PickProbes(ctx); err != nil {
		return nil, err
	}
	if err := w.checkCorrection(ctx, name, w.directoryKey(), digest.Sum{}); err != nil {
		return nil, err
	}
	files := loadable(d)
	e, err := w.beginDirectory(name, d)
	if err != nil {
		return nil, err
	}
	w.watchLoads(len(files))
	report, err := w.Cluster.LoadFrom(ctx, w.Out.FS, name, files, w.directoryHooks(e))
	if err != nil {
		return report, w.lostForeign(ctx, fmt.Errorf("%w; %d of %d files are in the table", err, report.Files, len(files)))
	}
	all, err := loadedFiles(e)
	if err != nil {
		return report, err
	}
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err != nil {
		return report, err
	}
	findings, err := w.serve(ctx, table, all)
	if err != nil {
		return report, w.lostForeign(ctx, err)
	}
	if err := w.refuseUnreadable(name, findings); err != nil {
		return report, err
	}
	e.State, e.Staging, e.Identity = ledger.Loaded, "", table.Identity()
	return report, w.writeEntry(e)
}

// directoryHooks record in the ledger what a second command must know of a load that does not come to its end.
func (w *Loader) directoryHooks(e *ledger.Entry) load.Hooks {
	return load.Hooks{
		Before: w.mayAsk,
		Known: func(known []load.HFile) error {
			for _, h := range known {
				for i := range e.Files {
					if e.Files[i].URI == h.URI {
						e.Files[i].ServedBefore = true
					}
				}
			}
			return w.writeEntry(e)
		},
		Staging: func(folder string) error {
			e.Staging = folder
			return w.writeEntry(e)
		},
		Done: func(files []load.HFile) error {
			w.countLoads(len(files))
			return nil
		},
	}
}

// beginDirectory records in the ledger that the directory's files are about to be loaded, beside those of an earlier load
// that did not come to its end.
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
	if old != nil && old.State == ledger.Loading {
		for _, f := range old.Files {
			if !present[f.URI] {
				e.Files = append(e.Files, f)
			}
		}
	}
	return e, errors.Join(err, w.writeEntry(e))
}

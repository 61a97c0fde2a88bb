package loading

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/hfiledir"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/tablelock"
	"bulkload/load"
)

// Report says what was loaded.
type Report struct {
	outcome.Outcome
	Directory string  `json:"directory"`
	Table     string  `json:"table"`
	Files     int     `json:"files_found"`
	Load      Summary `json:"load"`
}

// Directory loads a directory of HFiles, written by bulkload or another tool, into a table. If the directory has a
// manifest, it records there what HBase took.
//
// With a manifest the load is recorded like a job's, in the same states, so that job and command can continue each other's
// interrupted load. They exclude each other by the lock of the directory.
func Directory(ctx context.Context, dir, table string, o options.Options) (report *Report, err error) {
	report = &Report{Outcome: outcome.New(), Directory: dir, Table: table, Load: Summary{Requested: true}}
	if !jobfile.ValidTable(table) {
		return report, errcode.TableName.Errorf("%q is not a table's name; write namespace:name or name", table)
	}
	if !storage.IsHDFS(dir) {
		return report, errcode.LoadLocal.Errorf("%s is a local path; HBase accepts files from HDFS: copy them there (hdfs dfs -put) and name hdfs://…", dir)
	}
	if o, err = o.WithDefaults(); err != nil {
		return report, err
	}
	s, err := site.Open(o, jobfile.HBase{}, true)
	if err != nil {
		return report, err
	}
	fsys, name, err := s.Resolve(dir, ".")
	if err != nil {
		return report, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	w := &Loader{Out: &output.Dir{FS: fsys, Path: name, Site: s, Options: o}}
	defer func() {
		if w.Cluster != nil {
			err = errors.Join(err, w.Cluster.Close())
		}
		if w.Ledger != nil {
			err = errors.Join(err, w.Ledger.Close())
		}
		err = errors.Join(err, w.Out.Close())
	}()
	report.Directory = fsys.URI(name)
	d, err := hfiledir.Open(fsys, name)
	if err != nil {
		return report, err
	}
	// The lock may be lost while files are handed over. The load then ends, and its error is that the lock was lost: what
	// failed because of it must not look like a fault of the cluster.
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.lost = func(err error) { cancel(err) }
	if err = w.Out.TakeLock(running, w.lost); err != nil {
		return report, err
	}
	err = w.LoadFiles(running, d, report)
	switch cause := context.Cause(running); {
	// The caller's interruption counts before a lost lock.
	case err == nil || ctx.Err() != nil:
	case cause != nil:
		err = cause // the lock was lost
	default:
		err = w.Out.Lock.Explain(err)
	}
	return report, err
}

func loadable(d *hfiledir.Directory) []load.HFile {
	var files []load.HFile
	for _, f := range d.Files {
		files = append(files, load.HFile{Family: f.Family, URI: d.FS.URI(path.Join(d.Path, f.Path)), FirstRow: f.First, LastRow: f.Last, Probes: f.Probes})
	}
	return files
}

// LoadFiles loads the files of a locked directory, and fills in the report.
//
// The order: what an interrupted load left comes back first, and only then are the files listed and compared with the
// record. A listing before that would lack the files in HBase's staging folder, and they would never be loaded.
func (w *Loader) LoadFiles(ctx context.Context, d *hfiledir.Directory, report *Report) (err error) {
	if w.Out.Manifest, err = manifest.Read(w.Out.FS, w.Out.Path); err != nil {
		return err
	}
	recorded := w.Out.Manifest
	if err := w.checkState(report.Table); err != nil {
		return err
	}
	if len(d.Files) == 0 && recorded != nil && w.Out.Manifest == nil {
		return errcode.LoadOther.Errorf("the files of %s were loaded into table %s, and HBase has moved them there; for table %s run a job with another output",
			w.Out.FS.URI(w.Out.Path), recorded.Run.Table, report.Table)
	}
	if len(d.Files) == 0 && (w.Out.Manifest == nil || w.Out.Manifest.State == manifest.Loaded) {
		if err := w.checkEmpty(); err != nil {
			return err
		}
		return w.loadedBefore(ctx, report)
	}
	if err := w.reach(ctx); err != nil {
		return err
	}
	if err := w.takeTurn(ctx, report.Table); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.UnlockTable()) }()
	if w.Out.Manifest == nil {
		// Before recoverDirectory, which asks for every file of the ledger: a file and its parts must not exist together then.
		if err := w.finishDirectoryCuts(report.Table); err != nil {
			return err
		}
		if err := w.recoverDirectory(ctx, report.Table); err != nil {
			return err
		}
	}
	if w.Out.Manifest != nil {
		// Before RecoverLoad, which asks for every recorded file: a file and its parts must not exist together then.
		if err := w.Out.FinishCuts(); err != nil {
			return err
		}
		if err := w.RecoverLoad(ctx, report.Table); err != nil {
			return err
		}
	}
	if d, err = hfiledir.Open(w.Out.FS, w.Out.Path); err != nil { // again: some files may have come back
		return err
	}
	if err := w.checkComplete(d); err != nil {
		return err
	}
	report.Files = len(d.Files)
	var handed *load.Report
	if w.Out.Manifest != nil {
		if handed, err = w.LoadOutput(ctx, report.Table); err == nil {
			err = w.Confirm(ctx, report.Table)
		}
	} else {
		handed, err = w.loadDirectory(ctx, report.Table, d)
	}
	report.Load.Apply(handed)
	if err == nil {
		report.Status = outcome.Done
	}
	return err
}

// reach connects to HBase and opens the ledger.
func (w *Loader) reach(ctx context.Context) (err error) {
	if w.Cluster, err = w.Out.Site.Connect(ctx); err == nil {
		w.Ledger, err = w.Out.Site.OpenLedger()
	}
	return err
}

// takeTurn returns when it is this load's turn. UnlockTable must follow.
func (w *Loader) takeTurn(ctx context.Context, table string) error {
	w.Table = tablelock.Open(w.Ledger, table, w.Out.Site.User, "load of "+w.Out.FS.URI(w.Out.Path), w.Out.FS.URI(w.Out.Path), w.lost)
	return w.LockTable(ctx)
}

// loadedBefore ends a command that finds no files left to load: what was loaded must still be served.
func (w *Loader) loadedBefore(ctx context.Context, report *Report) (err error) {
	if err := w.reach(ctx); err != nil {
		return err
	}
	if w.Out.Manifest != nil {
		err = w.CheckServed(ctx, report.Table)
	} else if err = w.finishDirectoryCuts(report.Table); err == nil {
		err = w.checkDirectoryServed(ctx, report.Table)
	}
	if err == nil {
		report.Status = outcome.Nothing
	}
	return err
}

// checkEmpty refuses a directory that has files but no families: it is most likely a family's folder.
func (w *Loader) checkEmpty() error {
	infos, err := storage.List(w.Out.FS, w.Out.Path)
	if err != nil || w.Out.Manifest != nil {
		return err
	}
	for _, info := range infos {
		if !info.Dir && !hfile.Hidden(info.Name) {
			return errcode.HFileNone.Errorf("%s holds files and no folders of families, such as %s: give the directory above it, %s, if this is a family's folder",
				w.Out.FS.URI(w.Out.Path), info.Name, w.Out.FS.URI(path.Dir(w.Out.Path)))
		}
	}
	return nil
}

// checkState refuses a directory whose job has to run first. What its job has loaded elsewhere does not count here.
//
// The manifest of a job for another table, which is not being loaded, is dropped in memory: this load is recorded in the
// ledger, under the directory's name, and the manifest on the disk stays that of its job.
func (w *Loader) checkState(table string) error {
	m := w.Out.Manifest
	switch {
	case m == nil:
	case m.State == manifest.Writing:
		return errcode.OutputUnfinished.Errorf("%s is not finished: run its job %s first", w.Out.FS.URI(w.Out.Path), m.Run.Job)
	case m.Run.Table == table:
	case m.State == manifest.Loading:
		return errcode.LoadInterrupted.Errorf("a load of %s into table %s was interrupted: run its job %s first", w.Out.FS.URI(w.Out.Path), m.Run.Table, m.Run.Job)
	case m.Existing.LeftOut():
		return errcode.LoadOther.Errorf("%s lacks the %d rows that table %s had already (duplicates.live: skip), so it can't be loaded into table %s: run a job for that table",
			w.Out.FS.URI(w.Out.Path), m.Existing.Found, m.Run.Table, table)
	default:
		w.Out.Manifest = nil
	}
	return nil
}

// checkComplete checks that every recorded file that the table does not have is in the directory.
//
// VerifyBeforeLoad would stop at the first of them, too; this error names the job, and comes before files are read.
func (w *Loader) checkComplete(d *hfiledir.Directory) error {
	if w.Out.Manifest == nil {
		return nil
	}
	present := map[string]bool{}
	for _, f := range d.Files {
		present[f.Path] = true
	}
	missing := slices.DeleteFunc(w.Out.Manifest.NotLoaded(), func(name string) bool { return present[name] })
	if len(missing) > 0 {
		return errcode.OutputLacks.Errorf("%s lacks files that its job %s has written and that were not loaded: %s; nothing was loaded",
			w.Out.FS.URI(w.Out.Path), w.Out.Manifest.Run.Job, failure.FirstFew(missing))
	}
	return nil
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/load"
)

// LoadReport says what was handed over.
type LoadReport struct {
	outcome.Outcome
	Directory string      `json:"directory"`
	Table     string      `json:"table"`
	Files     int         `json:"files_found"`
	Load      LoadSummary `json:"load"`
}

// LoadDir hands a directory of HFiles, ours or anyone's, to a table. Where the directory has a manifest of ours, it
// records what HBase took.
func LoadDir(ctx context.Context, dir, table string, o options.Options) (report *LoadReport, err error) {
	report = &LoadReport{Outcome: outcome.New(), Directory: dir, Table: table, Load: LoadSummary{Wanted: true}}
	if !jobfile.ValidTable(table) {
		return report, failure.Usagef("%q is not a table's name; write namespace:name or name", table)
	}
	if !storage.IsHDFS(dir) {
		return report, failure.Usagef("%s is a local path; HBase takes files from HDFS: copy them there (hdfs dfs -put) and name hdfs://…", dir)
	}
	if o, err = o.WithDefaults(); err != nil {
		return report, err
	}
	s, err := openSite(o, jobfile.HBase{}, true)
	if err != nil {
		return report, err
	}
	fsys, name, err := s.resolve(dir, ".")
	if err != nil {
		return report, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	w := &workplace{fsys: fsys, dir: name, site: s, options: o}
	defer func() {
		if w.cluster != nil {
			err = errors.Join(err, w.cluster.Close())
		}
		if w.ledger != nil {
			err = errors.Join(err, w.ledger.Close())
		}
		err = errors.Join(err, w.close())
	}()
	report.Directory = fsys.URI(name)
	d, err := openDirectory(fsys, name)
	if err != nil {
		return report, err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err = w.takeLock(running, func(err error) { cancel(err) }); err != nil {
		return report, err
	}
	err = w.loadFiles(running, d, report)
	switch cause := context.Cause(running); {
	case err == nil || ctx.Err() != nil:
	case cause != nil:
		err = cause // the lock was lost
	default:
		err = w.lock.explain(err)
	}
	return report, err
}

func (d *directory) loadable() []load.HFile {
	var files []load.HFile
	for _, f := range d.files {
		files = append(files, load.HFile{Family: f.family, URI: d.fsys.URI(path.Join(d.dir, f.path)), FirstRow: f.first, LastRow: f.last, Probes: f.probes})
	}
	return files
}

func (w *workplace) loadFiles(ctx context.Context, d *directory, report *LoadReport) error {
	var err error
	if w.manifest, err = readManifest(w.fsys, w.dir); err != nil {
		return err
	}
	recorded := w.manifest
	if err := w.checkState(report.Table); err != nil {
		return err
	}
	if len(d.files) == 0 && recorded != nil && w.manifest == nil {
		return failure.Refusef("the files of %s were loaded into table %s, and HBase has moved them there; for table %s run a job with another output",
			w.fsys.URI(w.dir), recorded.Run.Table, report.Table)
	}
	if len(d.files) == 0 && (w.manifest == nil || w.manifest.State == stateLoaded) {
		if err := w.checkEmpty(); err != nil {
			return err
		}
		return w.loadedBefore(ctx, report)
	}
	if err := w.reach(ctx); err != nil {
		return err
	}
	if w.manifest == nil {
		if err := w.recoverDirectory(ctx, report.Table); err != nil {
			return err
		}
	}
	if w.manifest != nil {
		if err := w.finishCuts(); err != nil {
			return err
		}
		if err := w.recoverLoad(ctx, report.Table); err != nil {
			return err
		}
	}
	if d, err = openDirectory(w.fsys, w.dir); err != nil { // anew: some files may have come back
		return err
	}
	if err := w.checkComplete(d); err != nil {
		return err
	}
	report.Files = len(d.files)
	var handed *load.Report
	if w.manifest != nil {
		if handed, err = w.handOver(ctx, report.Table); err == nil {
			err = w.confirm(ctx, report.Table)
		}
	} else {
		handed, err = w.handOverDirectory(ctx, report.Table, d)
	}
	report.Load.take(handed)
	if err == nil {
		report.Status = outcome.Done
	}
	return err
}

// reach connects to HBase and opens the ledger.
func (w *workplace) reach(ctx context.Context) (err error) {
	if w.cluster, err = w.site.connect(ctx); err == nil {
		w.ledger, err = w.site.openLedger()
	}
	return err
}

// loadedBefore ends a command that finds no files left to load: what was loaded must be served still.
func (w *workplace) loadedBefore(ctx context.Context, report *LoadReport) (err error) {
	if err := w.reach(ctx); err != nil {
		return err
	}
	if w.manifest != nil {
		err = w.checkServed(ctx, report.Table)
	} else {
		err = w.checkDirectoryServed(ctx, report.Table)
	}
	if err == nil {
		report.Status = outcome.Nothing
	}
	return err
}

// checkEmpty refuses a directory without families that holds files itself: it is most likely a family's folder.
func (w *workplace) checkEmpty() error {
	infos, err := storage.List(w.fsys, w.dir)
	if err != nil || w.manifest != nil {
		return err
	}
	for _, info := range infos {
		if !info.Dir && !hidden(info.Name) {
			return failure.Refusef("%s holds files and no folders of families, such as %s: give the directory above it, %s, if this is a family's folder",
				w.fsys.URI(w.dir), info.Name, w.fsys.URI(path.Dir(w.dir)))
		}
	}
	return nil
}

// checkState refuses a directory whose job has to come first. What its job has loaded elsewhere before counts for
// nothing here.
func (w *workplace) checkState(table string) error {
	m := w.manifest
	switch {
	case m == nil:
	case m.State == stateWriting:
		return failure.Refusef("%s is not finished: run its job %s first", w.fsys.URI(w.dir), m.Run.Job)
	case m.Run.Table == table:
	case m.State == stateLoading:
		return failure.Refusef("a load of %s into table %s was interrupted: run its job %s first", w.fsys.URI(w.dir), m.Run.Table, m.Run.Job)
	default:
		w.manifest = nil
	}
	return nil
}

// checkComplete wants every recorded file that the table does not have in the directory.
func (w *workplace) checkComplete(d *directory) error {
	if w.manifest == nil {
		return nil
	}
	present := map[string]bool{}
	for _, f := range d.files {
		present[f.path] = true
	}
	missing := slices.DeleteFunc(w.manifest.notLoaded(), func(name string) bool { return present[name] })
	if len(missing) > 0 {
		return failure.Refusef("%s lacks files that its job %s has written and that were not loaded: %s; nothing was loaded",
			w.fsys.URI(w.dir), w.manifest.Run.Job, some(missing))
	}
	return nil
}

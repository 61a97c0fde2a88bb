package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"

	"bulkload/load"
)

// LoadReport says what was handed over.
type LoadReport struct {
	Outcome
	Directory string      `json:"directory"`
	Table     string      `json:"table"`
	Files     int         `json:"files_found"`
	Load      LoadSummary `json:"load"`
}

// LoadDir hands a directory of HFiles, ours or anyone's, to a table. Where the directory has a manifest of ours, it
// records what HBase took.
func LoadDir(ctx context.Context, dir, table string, o Options) (report *LoadReport, err error) {
	report = &LoadReport{Outcome: newOutcome(), Directory: dir, Table: table, Load: LoadSummary{Wanted: true}}
	if !tableName.MatchString(table) {
		return report, usagef("%q is not a table's name; write namespace:name or name", table)
	}
	if !isRemote(dir) {
		return report, usagef("%s is a local path; HBase takes files from HDFS: copy them there (hdfs dfs -put) and name hdfs://…", dir)
	}
	s, err := openSite(o, "", true)
	if err != nil {
		return report, err
	}
	fsys, name, err := s.resolve(dir, ".")
	if err != nil {
		return report, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	w := &workplace{fsys: fsys, dir: name, site: s}
	defer func() { err = errors.Join(err, w.close()) }()
	report.Directory = fsys.URI(name)
	d, err := openDirectory(fsys, name)
	if err != nil {
		return report, err
	}
	files := d.loadable()
	report.Files = len(files)
	if err := d.close(); err != nil {
		return report, err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.lock, err = takeLock(running, fsys, name, s.user, func(err error) { cancel(laterf("%w", err)) })
	if err != nil {
		return report, err
	}
	return report, w.loadFiles(running, files, report)
}

func (d *directory) loadable() []load.HFile {
	var files []load.HFile
	for _, f := range d.files {
		files = append(files, load.HFile{Family: f.family, URI: d.fsys.URI(path.Join(d.dir, f.path)),
			FirstRow: f.reader.FirstRow(), LastRow: f.reader.LastRow()})
	}
	return files
}

func (w *workplace) loadFiles(ctx context.Context, files []load.HFile, report *LoadReport) error {
	var err error
	if w.manifest, err = readManifest(w.fsys, w.dir); err != nil {
		return err
	}
	if len(files) == 0 {
		report.Status = StatusNothing
		return nil
	}
	if m := w.manifest; m != nil && m.State == stateWriting {
		return refusef("%s is not finished: run its job %s first", w.fsys.URI(w.dir), m.Run.Job)
	}
	if w.manifest != nil && w.manifest.Run.Table != report.Table {
		w.manifest = nil // loaded into another table: nothing that its job would go on from
	}
	if w.cluster, err = w.site.connect(ctx); err != nil {
		return err
	}
	handed, err := w.handOver(ctx, report.Table, files)
	report.Load.take(handed)
	if err != nil {
		return err
	}
	report.Status = StatusDone
	return nil
}

// Package retention lists output directories and deletes what is no longer needed: outputs that were loaded, which the
// ledger must confirm, originals of files that were cut before they were loaded, and rejects.
package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// Report lists the outputs in a directory, and what was done with them.
type Report struct {
	failure.Outcome
	Directory string       `json:"directory"`
	Outputs   []*OutputDir `json:"outputs"`
	Freed     int64        `json:"bytes_freed"`            // of outputs and rejects; with DryRun, what would be freed
	Work      []string     `json:"work_folders,omitempty"` // deleted leftovers of failed runs in the work folder
}

// OutputDir is an output directory.
type OutputDir struct {
	URI      string    `json:"output"`
	State    string    `json:"state,omitempty"` // as the manifest has it: writing, written, loading, loaded; or Cut
	Job      string    `json:"job,omitempty"`
	Table    string    `json:"table,omitempty"`
	Date     string    `json:"date,omitempty"` // the logical date
	Run      string    `json:"run,omitempty"`  // its ID
	Finished time.Time `json:"finished,omitzero"`
	Loaded   time.Time `json:"loaded,omitzero"` // according to the ledger; only Clean sets it
	Rows     int64     `json:"rows_written"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`        // of files that HBase has not moved away
	Rejects  int64     `json:"reject_bytes"` // of .rejects
	Locked   bool      `json:"locked"`
	Error    string    `json:"error,omitempty"` // why the manifest can't be read
	Action   string    `json:"action,omitempty"`
	Reason   string    `json:"reason,omitempty"`

	fsys     storage.FS
	dir      string
	manifest *manifest.Manifest
	unloaded string    // why originals of cut files must stay; "" if nothing in the directory says so
	cut      time.Time // when the last file was moved to the originals, by the file system's clock
	rejected time.Time // when the rejects were last written; zero without rejects
}

// The values of Action.
const (
	Retained       = "kept"
	Deleted        = "deleted"
	RejectsDeleted = "rejects deleted"
)

// Cut is the State of a directory of another tool that was loaded. Its Files and Bytes are those of the originals, in
// .cut.
const Cut = "cut"

// maxDepth bounds the depth of the search for outputs.
const maxDepth = 10

// List describes the output directories in dir, which may be one itself.
func List(dir string, o options.Options) (*Report, error) {
	report, _, fsys, err := open(dir, o)
	if err != nil {
		return report, err
	}
	if err := fsys.Close(); err != nil {
		return report, err
	}
	report.Status = failure.StatusDone
	return report, nil
}

// open finds the outputs. The caller closes the file system, unless there is an error.
func open(dir string, o options.Options) (report *Report, s *site.Site, fsys storage.FS, err error) {
	report = &Report{Outcome: failure.NewOutcome(), Directory: dir, Outputs: []*OutputDir{}}
	s, fsys, name, err := site.OpenPath(o, jobfile.HBase{}, dir)
	if err != nil {
		return report, nil, nil, err
	}
	report.Directory = fsys.URI(name)
	if info, failed := fsys.Stat(name); failed == nil && !info.Dir {
		err = errcode.HFileMissing.Errorf("%s is a file: give a folder that contains outputs. bulkload status JOB shows "+
			"the runs of a job file", report.Directory)
	} else if err = find(fsys, name, 0, report); err == nil && len(report.Outputs) == 0 {
		err = errcode.HFileMissing.Errorf("there is no output of bulkload in %s: no folder in it has a %s",
			report.Directory, manifest.Name)
	}
	if err != nil {
		return report, nil, nil, errors.Join(failure.Early(err), fsys.Close())
	}
	return report, s, fsys, nil
}

// find searches for outputs. It does not search inside of outputs, does not follow links, and ignores folders that
// vanish meanwhile.
func find(fsys storage.FS, dir string, depth int, report *Report) error {
	all, err := fsys.ReadDir(dir)
	if err != nil {
		if depth > 0 && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return errcode.HFileMissing.Errorf("look for outputs: %w", err)
		}
		return fmt.Errorf("look for outputs: %w", err)
	}
	for _, f := range all {
		if f.Name == manifest.Name && !f.Dir {
			out, err := describe(fsys, dir, all)
			if err == nil {
				report.Outputs = append(report.Outputs, out)
			}
			return err
		}
	}
	for _, f := range all {
		if f.Name == manifest.CutsDir && f.Dir {
			out, err := describeCut(fsys, dir, all)
			if err == nil {
				report.Outputs = append(report.Outputs, out)
			}
			return err
		}
	}
	for _, f := range all {
		if !f.Dir || f.Mode&fs.ModeSymlink != 0 || f.Name[0] == '.' || depth == maxDepth {
			continue
		}
		if err := find(fsys, path.Join(dir, f.Name), depth+1, report); err != nil {
			return err
		}
	}
	return nil
}

func describe(fsys storage.FS, dir string, content []storage.Info) (*OutputDir, error) {
	out := &OutputDir{URI: fsys.URI(dir), fsys: fsys, dir: dir}
	for _, f := range content {
		out.Locked = out.Locked || f.Name == lock.LockName
	}
	if err := out.measureRejects(); err != nil {
		return nil, err
	}
	return out, out.readManifest()
}

// readManifest reads the manifest. A malformed manifest is an error of this output only.
func (out *OutputDir) readManifest() error {
	m, err := manifest.Read(out.fsys, out.dir)
	switch kind := failure.KindOf(err); {
	case err != nil && (kind == failure.Differs || kind == failure.Refused):
		out.Error = err.Error()
		return nil
	case err != nil:
		return err
	case m == nil:
		out.Error = "the manifest was deleted meanwhile"
		return nil
	}
	out.manifest = m
	out.State, out.Job, out.Table, out.Date, out.Run, out.Finished = m.State, m.Run.Job, m.Run.Table,
		m.Run.Date, m.Run.ID, m.Finished
	out.Rows, out.Files = m.Counts.Written, len(m.Files())
	for _, f := range m.Files() {
		if !f.Loaded {
			out.Bytes += f.Bytes
		}
	}
	return nil
}

// measureRejects adds up the rejects.
func (out *OutputDir) measureRejects() error {
	all, err := storage.List(out.fsys, path.Join(out.dir, manifest.RejectsDir))
	for _, f := range all {
		out.Rejects += f.Size
		if f.ModTime.After(out.rejected) {
			out.rejected = f.ModTime
		}
	}
	return err
}

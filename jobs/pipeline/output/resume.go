package output

import (
	"context"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Run is a run of a job in its output. If it continues the run that it finds there, its manifest is the output's, and
// otherwise a new one.
type Run struct {
	*Output
	Job       *jobfile.Job
	Source    *source.Source
	Present   *manifest.Manifest // of the files now in the output: Manifest, unless the run replaces another one
	Continues bool               // Manifest is the output's
}

// NewRun returns a run that has done nothing yet. Its output is unknown until Resume.
func NewRun(d *Dir, j *jobfile.Job, src *source.Source) *Run {
	m := newManifest(d, j, src)
	out := New(d, m)
	out.ByJob = true
	return &Run{Output: out, Job: j, Source: src, Present: m}
}

// newManifest returns the manifest of a run that has done nothing yet.
func newManifest(d *Dir, j *jobfile.Job, src *source.Source) *manifest.Manifest {
	m := manifest.New(j)
	m.Inputs, m.Site = manifest.Inputs(src.Files), d.Site.Properties()
	m.Run.ID = j.RunID(jobfile.InputFiles(src.Files))
	return m
}

// Replaces reports whether the run replaces another one, whose files are still in the output (Present).
//
// It does with --force; with --on-change reload, if the input has changed; and if the other run had no rows to write.
// The other run stays unchanged until only the writing of files can still fail. The steps:
//
//  1. Resume keeps the new manifest in memory, and the old one in Present. Files of the old run may be changed or gone,
//     because they will be deleted. Foreign files are refused as always, because they won't be.
//  2. With --force, the remains of an interrupted sort are deleted (checkpoint.Open, tasks.Clear). Otherwise they are
//     not used if they belong to the old run.
//  3. The new manifest names the run that it corrects (loading.Loader.Corrects). Otherwise its load would be refused,
//     because the ledger has the old run.
//  4. The input is sorted. The new manifest is not saved (begin in package run), because the one on the disk must name
//     the files that are still in the output.
//  5. When all outputs of the job are sorted and checked, loading.Loader.Replace takes files of an interrupted load
//     back from HBase's staging folder, because HBase might load them later. Then it deletes the old run: its files,
//     and its manifest last (Dir.Clean). From then on Present is the new manifest, which is saved.
//  6. The files are written, and loaded over the old rows. When the load begins, its entry in the ledger replaces the
//     old one.
//
// A kill before step 5 leaves the old run as it was. A kill in step 5 leaves the old manifest with the files that it
// names, or nothing. If HBase loses files in step 6, the run is made again without --force, because the output then has
// its own files.
func (w *Run) Replaces() bool { return w.Present != w.Manifest }

// Resume compares the output with this run, and continues its manifest or begins one. old is the manifest in the
// output, nil if there is none. finished is true if nothing is left to write.
func (w *Run) Resume(ctx context.Context, old *manifest.Manifest) (finished bool, err error) {
	w.begin(newManifest(w.Dir, w.Job, w.Source))
	w.Present, w.Continues = w.Manifest, false
	if old != nil {
		if err := w.adoptInput(ctx, old); err != nil {
			return false, err
		}
		if err := w.decide(old); err != nil {
			return false, err
		}
	}
	if w.Continues {
		if err := w.FinishCuts(); err != nil {
			return false, err
		}
	}
	if err := w.checkContent(); err != nil {
		return false, err
	}
	return w.Manifest.State != manifest.Writing, nil
}

// CheckInput refuses an input that Resume would refuse because its records are not those of the output's run. To find
// out, it reads the files that are not the ones which that run has read. It changes nothing in the output.
func (w *Run) CheckInput(ctx context.Context, old *manifest.Manifest) error {
	if old.Run.ID == w.Manifest.Run.ID || givesWay(old, w.Manifest) {
		return nil
	}
	if same, err := w.readSame(ctx, old); same || err != nil {
		return err
	}
	return w.checkReplaceable(old)
}

// IsEmpty reports whether the output has nothing of a run that loads, as before its first command or after the output
// was deleted. A run that had no rows to write counts as nothing, so the ledger's entries of other outputs decide.
func (w *Run) IsEmpty() bool {
	return w.WantsLoad() && w.HasNothing()
}

// HasNothing is IsEmpty for any run, even one that does not load.
func (w *Run) HasNothing() bool {
	return !w.Options.Force && !w.Continues && (!w.Replaces() || w.Present.WroteNothing())
}

// WantsLoad reports whether the run is to load the files.
func (w *Run) WantsLoad() bool { return w.Job.Load && !w.Options.NoLoad }

// decide continues the run whose manifest is in the output, replaces it, starts over if that run has not begun, or
// refuses.
func (w *Run) decide(old *manifest.Manifest) error {
	fresh := w.Manifest
	switch {
	case !old.Begun():
		// The old run has no files: its input was refused, or it was stopped early.
		if err := w.CleanFiles(old); err != nil {
			return err
		}
		if old.Run.ID == fresh.Run.ID && !w.Options.Force {
			fresh.Existing = old.Existing
			fresh.MadeFor = old.MadeFor // planning the boundaries read all of the input
		}
	case w.Options.Force:
		w.Present = old
		if old.Run.ID != fresh.Run.ID && old.Run.Table == fresh.Run.Table && old.MayBeLoaded() {
			w.SayStale()
		}
	case old.Run.ID != fresh.Run.ID:
		if err := w.checkReplaceable(old); err != nil {
			return err
		}
		w.Present = old
		fresh.Inputs = manifest.Inputs(w.Source.Files) // without the contents that were read for the comparison
	case old.State == manifest.Written && old.ChangedProperties(fresh) != nil:
		return errcode.OutputChanged.Errorf(
			"%s has files with other settings: %s. Run again with --force to write them again",
			w.FS.URI(w.Path), strings.Join(old.ChangedProperties(fresh), "; "))
	default:
		w.begin(old)
		w.Present, w.Continues = old, true
		switch old.State {
		case manifest.Written:
			return w.checkWritten()
		case manifest.Writing:
			old.Site = fresh.Site // the table's settings are still compared in full
		}
	}
	return nil
}

// AnotherRunError means that the output belongs to another run, which this one must not replace without --force.
type AnotherRunError struct{ error }

// Unwrap returns the error that says how the runs differ.
func (e *AnotherRunError) Unwrap() error { return e.error }

// checkReplaceable refuses to replace another run, unless that run had nothing to write, or its input has changed and a
// reload was requested. The error is an *AnotherRunError.
func (w *Run) checkReplaceable(old *manifest.Manifest) error {
	fresh := w.Manifest
	if err := w.CheckJob(old, fresh); err != nil {
		return err
	}
	differences := strings.Join(old.Differences(fresh), "; ")
	uri := w.FS.URI(w.Path)
	switch {
	case givesWay(old, fresh):
		w.Options.Infof("%s has run %s, which had no rows to write: this run replaces it", uri, old.Run.ID)
		return nil
	case w.Options.OnChange == options.Reload:
		w.Options.Infof("the input has changed after run %s: %s. It is read again (--on-change reload)",
			old.Run.ID, differences)
		if w.WantsLoad() {
			w.SayStale()
		}
		return nil
	}
	return &AnotherRunError{errcode.OutputInput.Errorf(
		"the input has changed after %s was written: %s. Restore the input, or use --on-change reload to write%s it again",
		uri, differences, andLoad(w.WantsLoad()))}
}

// CheckJob refuses to replace the run of another job or date, unless that run had nothing to write. The error is an
// *AnotherRunError. It compares only what fresh has from the job, so the input need not be known.
func (w *Dir) CheckJob(old, fresh *manifest.Manifest) error {
	if old.SameJob(fresh) || givesWay(old, fresh) {
		return nil
	}
	return &AnotherRunError{errcode.OutputOther.Errorf(
		"%s has the output of another run: %s. Choose another output, or replace it with --force",
		w.FS.URI(w.Path), strings.Join(old.Differences(fresh), "; "))}
}

// givesWay reports whether a run for the same table and date had nothing to write.
func givesWay(old, fresh *manifest.Manifest) bool {
	return old.WroteNothing() && old.Run.Table == fresh.Run.Table && old.Run.Date == fresh.Run.Date
}

// SayStale logs that a load of another input removes nothing, and how to find the rows that are left of the earlier
// input.
func (w *Run) SayStale() {
	j := w.Job
	if j.Moments != "" { // this load's cells can't be told from others
		w.Options.Infof("rows and cells that only the earlier input has stay in table %s", j.Table)
		return
	}
	date := ""
	if text := j.DateText(); text != "" {
		date = " --date " + text
	}
	w.Options.Infof("rows and cells that only the earlier input has stay in table %s. After the load, bulkload verify "+
		"%s%s --live --stale FILE counts and lists them",
		j.Table, j.Path, date)
}

func andLoad(too bool) string {
	if too {
		return " and load"
	}
	return ""
}

// checkWritten refuses to load files that were written under a higher limit of files per region and family.
func (w *Run) checkWritten() error {
	limit, err := w.Site.MaxFiles()
	if err != nil || !w.Job.Load {
		return err
	}
	if family, region, n := w.Manifest.Files().Most(); n > limit {
		return errcode.FilesLimit.Errorf("%s holds %d files of family %s for region %d of table %s, and HBase's loader "+
			"refuses them: %s is %d. Raise the property (in the site files, or with -D), or raise hfile.max_size and use "+
			"--force to write fewer files",
			w.FS.URI(w.Path), n, family, region, w.Job.Table, load.MaxFilesProperty, limit)
	}
	return nil
}

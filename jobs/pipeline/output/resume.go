package output

import (
	"context"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Resume compares the output with this run, and continues its manifest or begins one. finished is true if nothing is
// left to write.
func (w *Dir) Resume(ctx context.Context) (finished bool, err error) {
	fresh := newManifest(w)
	old, err := manifest.Read(w.FS, w.Path)
	if err != nil {
		return false, err
	}
	w.Manifest, w.found = fresh, old != nil && old.Begun()
	if old != nil {
		r := &resumption{dir: w, old: old, fresh: fresh}
		if err := r.adoptInput(ctx); err != nil {
			return false, err
		}
		if err := r.decide(); err != nil {
			return false, err
		}
	}
	w.Continues = w.Manifest == old
	if w.Replaced != nil && w.Replaced.WroteNothing() {
		w.found = false // what the ledger says of other outputs counts
	}
	if w.Continues {
		if err := w.FinishCuts(); err != nil {
			return false, err
		}
	}
	if err := checkContent(w); err != nil {
		return false, err
	}
	w.VerifiedBefore = map[string]bool{}
	for _, f := range w.Manifest.Files() {
		w.VerifiedBefore[f.Path] = true
	}
	return w.Manifest.State != manifest.Writing, nil
}

// Fresh is the manifest of this run, as if it had done nothing yet.
func (w *Dir) Fresh() *manifest.Manifest { return newManifest(w) }

// HasRead reports whether a run has read the very files of the input, by their names, sizes and times.
func (w *Dir) HasRead(m *manifest.Manifest) bool {
	return slices.EqualFunc(m.Inputs, manifest.Inputs(w.Source.Files), func(a, b manifest.Input) bool { return a.SameFile(&b) })
}

// newManifest is the manifest of a run that has done nothing yet.
func newManifest(w *Dir) *manifest.Manifest {
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing, Inputs: manifest.Inputs(w.Source.Files), JobHash: w.Job.Hash(),
		Timestamp: w.Job.Timestamp, Site: w.Site.Properties()}
	m.Run = w.Job.Info()
	m.Run.ID = w.Job.RunID(jobfile.InputFiles(w.Source.Files))
	return m
}

// resumption compares the run whose manifest is in an output with the one that is to be done there.
type resumption struct {
	dir        *Dir
	old, fresh *manifest.Manifest
}

// decide makes dir.Manifest the old manifest if this run continues it, leaves the fresh one if this run starts over or
// replaces the old run, or refuses both.
func (r *resumption) decide() error {
	w, old, fresh := r.dir, r.old, r.fresh
	switch {
	case !old.Begun():
		// It came to nothing: its input was refused, or it was stopped early.
		if err := w.CleanFiles(old); err != nil {
			return err
		}
		if old.Run.ID == fresh.Run.ID && !w.Options.Force {
			fresh.Existing = old.Existing
			fresh.MadeFor = old.MadeFor // planning the boundaries read all of the input
		}
	case w.Options.Force:
		w.Replaced = old
		if old.Run.ID != fresh.Run.ID && old.Run.Table == fresh.Run.Table && old.MayBeLoaded() {
			w.SayStale()
		}
	case old.Run.ID != fresh.Run.ID:
		if err := r.checkReplaceable(); err != nil {
			return err
		}
		w.Replaced = old
		fresh.Inputs = manifest.Inputs(w.Source.Files) // without what was read to compare them
	case old.State == manifest.Written && old.ChangedProperties(fresh) != nil:
		return errcode.OutputSettings.Errorf("%s has files with other settings: %s. Run again with --force to write them again",
			w.FS.URI(w.Path), strings.Join(old.ChangedProperties(fresh), "; "))
	default:
		w.Manifest = old
		switch old.State {
		case manifest.Written:
			return r.checkWritten()
		case manifest.Writing:
			old.Site = fresh.Site // the table's settings are compared in full then
		}
	}
	return nil
}

// AnotherRunError says that the output belongs to another run, which this one must not replace without --force.
type AnotherRunError struct{ error }

// Unwrap is the error that says how the runs differ.
func (e *AnotherRunError) Unwrap() error { return e.error }

// checkReplaceable refuses to replace another run, unless that had nothing to write, or its input has changed and a
// reload was requested. The error is an *AnotherRunError.
func (r *resumption) checkReplaceable() error {
	w, old, fresh := r.dir, r.old, r.fresh
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
		w.Options.Infof("the input has changed after run %s: %s. It is read again (--on-change reload)", old.Run.ID, differences)
		if w.WantsLoad() {
			w.SayStale()
		}
		return nil
	}
	return &AnotherRunError{errcode.OutputInput.Errorf("the input has changed after %s was written: %s. Restore the input, or use --on-change reload to write%s it again",
		uri, differences, andLoad(w.WantsLoad()))}
}

// CheckJob refuses to replace the run of another job or date, unless that had nothing to write. The error is an
// *AnotherRunError. Of fresh only what the job says is compared: the input need not be known.
func (w *Dir) CheckJob(old, fresh *manifest.Manifest) error {
	if old.SameJob(fresh) || givesWay(old, fresh) {
		return nil
	}
	return &AnotherRunError{errcode.OutputOther.Errorf("%s has the output of another run: %s. Choose another output, or replace it with --force",
		w.FS.URI(w.Path), strings.Join(old.Differences(fresh), "; "))}
}

// givesWay reports whether a run for the same table and date had nothing to write.
func givesWay(old, fresh *manifest.Manifest) bool {
	return old.WroteNothing() && old.Run.Table == fresh.Run.Table && old.Run.Date == fresh.Run.Date
}

// SayStale logs that a load of another input removes nothing, and how to find what is left of the earlier input.
func (w *Dir) SayStale() {
	j := w.Job
	if j.Moments != "" { // cells of this load can't be distinguished from others
		w.Options.Infof("rows and cells that only the earlier input has stay in table %s", j.Table)
		return
	}
	date := ""
	if text := j.DateText(); text != "" {
		date = " --date " + text
	}
	w.Options.Infof("rows and cells that only the earlier input has stay in table %s. After the load, bulkload verify %s%s --live --stale FILE counts and lists them",
		j.Table, j.Path, date)
}

func andLoad(too bool) string {
	if too {
		return " and load"
	}
	return ""
}

// checkWritten refuses to load what was written under a higher limit of files.
func (r *resumption) checkWritten() error {
	w := r.dir
	limit, err := w.Site.MaxFiles()
	if err != nil || !w.Job.Load {
		return err
	}
	if family, region, n := r.old.Files().Most(); n > limit {
		return errcode.FilesLimit.Errorf("%s holds %d files of family %s for region %d of table %s, and HBase's loader refuses them: %s is %d. Raise the property (in the site files, or with -D), or raise hfile.max_size and use --force to write fewer files",
			w.FS.URI(w.Path), n, family, region, w.Job.Table, load.MaxFilesProperty, limit)
	}
	return nil
}

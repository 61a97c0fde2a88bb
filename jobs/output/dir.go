// Package output handles a locked output directory with the manifest of a run: it compares content and manifest,
// cleans up, and marks the output as complete.
package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/dirlock"
	"bulkload/jobs/existing"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/jobs/writing"
	"bulkload/load"
)

// Dir is a locked output directory with the manifest of this run.
type Dir struct {
	Job            *jobfile.Job // nil if a directory is loaded without its job
	Options        options.Options
	Site           *site.Site
	Source         *source.Source
	FS             storage.FS
	Path           string
	Lock           *dirlock.Lock
	Manifest       *manifest.Manifest
	Replaced       *manifest.Manifest // of the run that --force replaces by this one; nil once it is deleted
	found          bool               // the output had a manifest
	VerifiedBefore map[string]bool    // files that an earlier process has verified; nil: all of them
}

// Open locks the output. If it can't be locked, it stays open for reading, until Close.
func (w *Dir) Open(ctx context.Context, lost func(error)) (err error) {
	if w.FS, w.Path, err = w.Site.Resolve(w.Job.Output, w.Job.Dir); err != nil {
		return fmt.Errorf("open the output %s: %w", w.Job.Output, err)
	}
	if w.Source != nil {
		if err = w.Source.CheckApart(w.FS, w.Path); err != nil {
			return err
		}
	}
	if err = w.FS.MkdirAll(w.Path, storage.DirPerm); err != nil {
		return makeError(err)
	}
	return w.TakeLock(ctx, lost)
}

// makeError is the error of an output directory that can't be made.
func makeError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("make the output directory, which `output` of the job file names: %w", err)
	}
	return fmt.Errorf("make the output directory: %w", err)
}

// TakeLock locks the directory. From here on nothing in it is changed without the lock.
func (w *Dir) TakeLock(ctx context.Context, lost func(error)) (err error) {
	if w.Lock, err = dirlock.Acquire(ctx, w.FS, w.Path, w.Site.User, lost); err == nil {
		w.FS = w.Lock.Guarded()
	}
	return err
}

// Close releases what belongs to the output alone. An output directory without content is deleted.
func (w *Dir) Close() error {
	var errs []error
	if w.Lock != nil {
		errs = append(errs, w.Lock.Release())
		w.RemoveEmpty()
	}
	if w.FS != nil {
		errs = append(errs, w.FS.Close())
	}
	return errors.Join(errs...)
}

// RemoveEmpty deletes the directory if nothing is left in it.
func (w *Dir) RemoveEmpty() {
	_ = w.Lock.FS.Remove(path.Join(w.Path, dirlock.TempDir)) // succeeds only if it is empty, as intended
	_ = w.Lock.FS.Remove(w.Path)                             // likewise
}

// TempFolder is the folder for files until they get their names.
func (w *Dir) TempFolder() (string, error) {
	if w.Lock != nil {
		return w.Lock.TempFolder()
	}
	folder := path.Join(w.Path, dirlock.TempDir)
	return folder, w.FS.MkdirAll(folder, storage.DirPerm)
}

// ClearTemps deletes what an older bulkload has left in .tmp, whose files have no owner. Those with an owner were
// deleted when the lock was acquired, if the owner is gone.
func (w *Dir) ClearTemps() error {
	all, err := storage.List(w.FS, path.Join(w.Path, dirlock.TempDir))
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Dir && dirlock.IsToken(f.Name) {
			continue
		}
		if err := w.FS.RemoveAll(path.Join(w.Path, dirlock.TempDir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// Resume compares the output with this run, and continues its manifest or begins one. finished is true if nothing is
// left to write.
func (w *Dir) Resume(ctx context.Context) (finished bool, err error) {
	fresh := w.newManifest()
	old, err := manifest.Read(w.FS, w.Path)
	if err != nil {
		return false, err
	}
	w.Manifest, w.found = fresh, old != nil
	if err := w.adoptInput(ctx, old, fresh); err != nil {
		return false, err
	}
	if old != nil {
		if err := w.continueOrReplace(old, fresh); err != nil {
			return false, err
		}
	}
	if w.Manifest == old {
		if err := w.FinishCuts(); err != nil {
			return false, err
		}
	}
	if err := w.checkContent(); err != nil {
		return false, err
	}
	w.VerifiedBefore = map[string]bool{}
	for _, f := range w.Manifest.Files() {
		w.VerifiedBefore[f.Path] = true
	}
	return w.Manifest.State != manifest.Writing, nil
}

// newManifest is that of a run that has done nothing.
func (w *Dir) newManifest() *manifest.Manifest {
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing, Inputs: manifest.Inputs(w.Source.Files), JobHash: w.Job.Hash(),
		Timestamp: w.Job.Timestamp, Site: w.Site.Properties()}
	m.Run = w.Job.Info()
	m.Run.ID = w.Job.RunID(jobfile.InputFiles(w.Source.Files))
	return m
}

// continueOrReplace decides whether this run continues the old manifest or replaces it by the fresh one, or refuses both.
func (w *Dir) continueOrReplace(old, fresh *manifest.Manifest) error {
	switch {
	case old.State == manifest.Writing && len(old.Slices) == 0 && !old.MayBeLoaded():
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
		if err := w.checkReplaceable(old, fresh); err != nil {
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
			return w.checkWritten(old)
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
func (w *Dir) checkReplaceable(old, fresh *manifest.Manifest) error {
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

// SayStale says that a load of another input takes nothing away, and how to find what is left of the one before.
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

// URI names a file of the output.
func (w *Dir) URI(name string) string { return w.FS.URI(path.Join(w.Path, name)) }

// Save saves the manifest. It fails if the output may belong to another run by now.
func (w *Dir) Save() error { return w.saveManifest(w.Manifest) }

func (w *Dir) saveManifest(m *manifest.Manifest) error {
	temps, err := w.TempFolder()
	if err != nil {
		return err
	}
	return m.Save(w.FS, w.Path, temps)
}

// CurrentManifest is the manifest of the files that are in the output now.
func (w *Dir) CurrentManifest() *manifest.Manifest {
	if w.Replaced != nil {
		return w.Replaced
	}
	return w.Manifest
}

// Clean deletes everything that a manifest names, and the manifest last: after a kill in between, it still names the
// rest.
func (w *Dir) Clean(m *manifest.Manifest) error {
	if err := w.CleanFiles(m); err != nil {
		return err
	}
	if m.Existing != nil {
		if err := existing.Remove(w.FS, w.Path); err != nil {
			return err
		}
	}
	return storage.RemoveIfThere(w.FS, w.Path, manifest.Name)
}

// CleanFiles deletes the files that a manifest names.
func (w *Dir) CleanFiles(m *manifest.Manifest) error {
	errs := []error{storage.RemoveIfThere(w.FS, w.Path, source.SuccessName)}
	for _, f := range m.Files() {
		errs = append(errs, storage.RemoveIfThere(w.FS, w.Path, f.Path))
	}
	for _, name := range m.CutNames() {
		errs = append(errs, storage.RemoveIfThere(w.FS, w.Path, name))
	}
	for family := range m.Families {
		errs = append(errs, w.RemoveUnrecorded(m, family))
		_ = w.FS.Remove(path.Join(w.Path, family)) // succeeds only if it is empty, as intended
	}
	errs = append(errs, w.ClearTemps())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

// CheckLock is an error if another run may change the output.
func (w *Dir) CheckLock() error {
	if w.Lock == nil {
		return nil
	}
	return w.Lock.Check()
}

// IsEmpty reports whether nothing of a run is in the output, as before its first command, or after it was deleted.
func (w *Dir) IsEmpty() bool {
	return w.WantsLoad() && !w.Options.Force && !w.found
}

// WantsLoad reports whether the run is to load the files.
func (w *Dir) WantsLoad() bool { return w.Job.Load && !w.Options.NoLoad }

// ClearRejects deletes the rejects of earlier runs.
func (w *Dir) ClearRejects() error {
	if err := w.FS.RemoveAll(path.Join(w.Path, manifest.RejectsDir)); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

// forget removes the slices of a region from the manifest and then deletes their files, so that they are written
// again.
func (w *Dir) forget(regions []int) error {
	files := w.Manifest.Remove(regions)
	if files == nil {
		return nil
	}
	if err := w.Save(); err != nil {
		return err
	}
	return writing.RemoveFiles(w.FS, w.Path, files)
}

// FinishCuts completes the cuts that the manifest records: it deletes files that were replaced by their parts, and
// the parts of those that were not. Afterwards the manifest has no cuts.
func (w *Dir) FinishCuts() error {
	m := w.Manifest
	if len(m.Cuts) == 0 {
		return nil
	}
	if err := w.CheckLock(); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, f := range m.Files() {
		known[f.Path] = true
	}
	for _, c := range m.Cuts {
		surplus := []string{c.Of}
		if known[c.Of] {
			surplus = nil
			for _, p := range c.Parts {
				surplus = append(surplus, p.Path)
			}
		}
		for _, name := range surplus {
			if err := storage.RemoveIfThere(w.FS, w.Path, name); err != nil {
				return fmt.Errorf("finish the cut of %s: %w", w.URI(c.Of), err)
			}
		}
	}
	w.Options.Failpoint.Reached(failpoint.CutCleaned)
	m.Cuts = nil
	return w.Save()
}

// checkWritten refuses to load what was written under a higher limit of files.
func (w *Dir) checkWritten(m *manifest.Manifest) error {
	limit, err := w.Site.MaxFiles()
	if err != nil || !w.Job.Load {
		return err
	}
	if family, region, n := m.Files().Most(); n > limit {
		return errcode.FilesLimit.Errorf("%s holds %d files of family %s for region %d of table %s, and HBase's loader refuses them: %s is %d. Raise the property (in the site files, or with -D), or raise hfile.max_size and use --force to write fewer files",
			w.FS.URI(w.Path), n, family, region, w.Job.Table, load.MaxFilesProperty, limit)
	}
	return nil
}

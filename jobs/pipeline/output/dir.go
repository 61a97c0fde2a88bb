// Package output handles a locked output directory with the manifest of a run: it compares content and manifest,
// cleans up, and marks the output as complete.
package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/spec/jobfile"
)

// Dir is a locked output directory with the manifest of this run.
type Dir struct {
	Job            *jobfile.Job // nil if a directory is loaded without its job
	Options        options.Options
	Site           *site.Site
	Source         *source.Source
	FS             storage.FS
	Path           string
	Lock           *lock.Directory
	Manifest       *manifest.Manifest
	Replaced       *manifest.Manifest // of the run that --force replaces by this one; nil once it is deleted
	Continues      bool               // Manifest is that of the output, not that of a new run
	found          bool               // the output had the manifest of a run that has begun
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
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("make the output directory, which `output` of the job file names: %w", err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		// There is a file at the path or above it, or nothing can be made there, as in /proc, or a name in it is too long.
		return errcode.OutputPlace.Errorf("no directory can be made at the path that `output` of the job file names: %w", err)
	}
	return fmt.Errorf("make the output directory: %w", err)
}

// TakeLock locks the directory. From here on nothing in it is changed without the lock.
func (w *Dir) TakeLock(ctx context.Context, lost func(error)) (err error) {
	if w.Lock, err = lock.Acquire(ctx, w.FS, w.Path, lock.Options{User: w.Site.User, Lost: lost}); err == nil {
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
	_ = w.Lock.FS.Remove(path.Join(w.Path, lock.TempDir)) // succeeds only if it is empty, as intended
	_ = w.Lock.FS.Remove(w.Path)                          // likewise
}

// TempFolder is the folder for files until they get their names.
func (w *Dir) TempFolder() (string, error) {
	if w.Lock != nil {
		return w.Lock.TempFolder()
	}
	folder := path.Join(w.Path, lock.TempDir)
	return folder, w.FS.MkdirAll(folder, storage.DirPerm)
}

// ClearTemps deletes what an older bulkload has left in .tmp, whose files have no owner. Those with an owner were
// deleted when the lock was acquired, if the owner is gone.
func (w *Dir) ClearTemps() error {
	all, err := storage.List(w.FS, path.Join(w.Path, lock.TempDir))
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Dir && lock.IsToken(f.Name) {
			continue
		}
		if err := w.FS.RemoveAll(path.Join(w.Path, lock.TempDir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// URI names a file of the output.
func (w *Dir) URI(name string) string { return w.FS.URI(path.Join(w.Path, name)) }

// Save saves the manifest. It fails if the output may belong to another run by now.
func (w *Dir) Save() error { return save(w, w.Manifest) }

func save(w *Dir, m *manifest.Manifest) error {
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
	return storage.RemoveIfThere(w.FS, w.Path, manifest.Name)
}

// CleanFiles deletes the files that a manifest names.
func (w *Dir) CleanFiles(m *manifest.Manifest) error {
	errs := []error{storage.RemoveIfThere(w.FS, w.Path, ingest.SuccessName)}
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

// Works describes the process that works in another output now; "" if none does.
func (w *Dir) Works(output string) (who string, err error) {
	fsys, dir, err := w.Site.Resolve(output, "")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	held, alive, err := lock.Holder(fsys, dir, w.Site.User)
	if err != nil || !alive {
		return "", err
	}
	return held.String(), nil
}

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
	w.Options.Failpoint.Reached(options.CutCleaned)
	m.Cuts = nil
	return w.Save()
}

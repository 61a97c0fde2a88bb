package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/options"
	"bulkload/load"
)

// jobRun is a job being run: what its outputs share, and the place of each.
type jobRun struct {
	job     *jobfile.Job
	options options.Options
	site    *site
	source  *source
	cluster *load.Cluster  // nil where the job needs none
	ledger  *ledger.Ledger // nil where nothing is loaded
	places  []*workplace
	keeper  *keeper // from the sort on
}

// openRun finds the input, connects, and locks the outputs. lost is called when a lock is lost later.
func openRun(ctx context.Context, j *jobfile.Job, o options.Options, lost func(error)) (r *jobRun, err error) {
	r = &jobRun{job: j, options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.site, err = openSite(o, j.HBase, j.Remote(!o.NoLoad)); err != nil {
		return r, err
	}
	if r.source, err = openSource(j, r.site); err != nil {
		return r, err
	}
	if j.Connects(!o.NoLoad) {
		if r.cluster, err = r.site.connect(ctx); err != nil {
			return r, err
		}
	}
	for _, out := range j.Feeds() {
		w := &workplace{job: out, options: o, site: r.site, source: r.source, part: j.Part(out)}
		if out.Connects(!o.NoLoad) {
			w.cluster = r.cluster
		}
		if out.Load && !o.NoLoad {
			if r.ledger == nil {
				if r.ledger, err = r.site.openLedger(); err != nil {
					return r, err
				}
			}
			w.ledger = r.ledger
		}
		r.places = append(r.places, w)
		if err = w.open(ctx, lost); err != nil {
			return r, r.named(w, err)
		}
	}
	return r, nil
}

// close gives everything back.
func (r *jobRun) close() error {
	var errs []error
	for _, w := range r.places {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, r.closeShared())...)
}

func (r *jobRun) closeShared() error {
	var errs []error
	if r.cluster != nil {
		errs = append(errs, r.cluster.Close())
	}
	if r.ledger != nil {
		errs = append(errs, r.ledger.Close())
	}
	if r.source != nil {
		errs = append(errs, r.source.close())
	}
	return errors.Join(errs...)
}

// workplace is a locked output directory with the manifest of this run.
type workplace struct {
	job      *jobfile.Job
	options  options.Options
	site     *site
	source   *source
	fsys     storage.FS
	dir      string
	lock     *lock
	manifest *manifest
	replaced *manifest       // of the run that --force puts this one in the place of; nil once it is deleted
	found    bool            // the output had a manifest
	earlier  map[string]bool // the files that an earlier process has verified; nil: all of them
	cluster  *load.Cluster   // nil where the output needs none
	ledger   *ledger.Ledger  // nil where nothing is loaded
	target   *target         // nil where the output is written
	part     float64         // of the input's bytes that it takes, about
	report   *OutputReport
	unsaved  int // load requests whose end the manifest on the disk does not show yet
}

// open locks the output.
func (w *workplace) open(ctx context.Context, lost func(error)) (err error) {
	if w.fsys, w.dir, err = w.site.resolve(w.job.Output, w.job.Dir); err != nil {
		return fmt.Errorf("open the output %s: %w", w.job.Output, err)
	}
	if err = w.source.checkApart(w.fsys, w.dir); err != nil {
		return err
	}
	if err = w.fsys.MkdirAll(w.dir, storage.DirPerm); err != nil {
		return fmt.Errorf("make the output directory: %w", err)
	}
	return w.takeLock(ctx, lost)
}

// takeLock locks the directory. From here on nothing in it is changed without the lock.
func (w *workplace) takeLock(ctx context.Context, lost func(error)) (err error) {
	if w.lock, err = takeLock(ctx, w.fsys, w.dir, w.site.user, lost); err == nil {
		w.fsys = w.lock.guarded()
	}
	return err
}

// tempFolder is where files are written before they get their names.
func (w *workplace) tempFolder() (string, error) {
	if w.lock != nil {
		return w.lock.tempFolder()
	}
	folder := path.Join(w.dir, tempDir)
	return folder, w.fsys.MkdirAll(folder, storage.DirPerm)
}

// clearTemps deletes from .tmp what an older bulkload has left there, whose files have no owner. Those that have one were
// deleted when the lock was taken, if the owner is gone.
func (w *workplace) clearTemps() error {
	all, err := storage.List(w.fsys, path.Join(w.dir, tempDir))
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Dir && isToken(f.Name) {
			continue
		}
		if err := w.fsys.RemoveAll(path.Join(w.dir, tempDir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// close gives back what is the output's alone. An output directory in which nothing was left goes with it.
func (w *workplace) close() error {
	var errs []error
	if w.lock != nil {
		errs = append(errs, w.lock.release())
		_ = w.lock.fsys.Remove(path.Join(w.dir, tempDir)) // succeeds only where it is empty, as wanted
		_ = w.lock.fsys.Remove(w.dir)                     // likewise
	}
	if w.fsys != nil {
		errs = append(errs, w.fsys.Close())
	}
	return errors.Join(errs...)
}

// resume compares the output with this run and takes up its manifest, or begins one. finished is true where nothing is
// left to write.
func (w *workplace) resume(ctx context.Context) (finished bool, err error) {
	fresh := &manifest{Schema: manifestSchema, State: stateWriting, Inputs: inputRecords(w.source.files), JobHash: w.job.Hash(),
		Timestamp: w.job.Timestamp, Site: w.site.properties()}
	fresh.Run = w.job.Info()
	fresh.Run.ID = w.job.RunID(jobfile.InputFiles(w.source.files))
	old, err := readManifest(w.fsys, w.dir)
	if err != nil {
		return false, err
	}
	w.manifest, w.target, w.found = fresh, nil, old != nil
	if err := w.adoptInput(ctx, old, fresh); err != nil {
		return false, err
	}
	switch {
	case old == nil:
	case old.State == stateWriting && len(old.Slices) == 0:
		// It came to nothing: its input was refused, or it was stopped early.
		if err := w.cleanFiles(old); err != nil {
			return false, err
		}
		if old.Run.ID == fresh.Run.ID && !w.options.Force {
			fresh.Kept = old.Kept
			fresh.Splits, fresh.MaxSize, fresh.MaxFiles, fresh.Families = old.Splits, old.MaxSize, old.MaxFiles, old.Families // planned boundaries took a reading
		}
	case w.options.Force:
		w.replaced = old
	case old.Run.ID != fresh.Run.ID:
		return false, failure.Refusef("%s holds another run: %s. Choose another output, or use --force to put this run in its place",
			w.fsys.URI(w.dir), strings.Join(old.differences(fresh), "; "))
	case old.State == stateWritten && old.changedProperties(fresh) != nil:
		return false, failure.Refusef("%s holds files with other settings: %s. Use --force to write them again",
			w.fsys.URI(w.dir), strings.Join(old.changedProperties(fresh), "; "))
	default:
		w.manifest = old
		if old.State == stateWritten {
			if err := w.checkWritten(old); err != nil {
				return false, err
			}
		}
		if old.State == stateWriting {
			old.Site = fresh.Site // the table's settings are compared in full then
		}
	}
	if w.manifest == old {
		if err := w.finishCuts(); err != nil {
			return false, err
		}
	}
	if err := w.checkContent(); err != nil {
		return false, err
	}
	w.earlier = map[string]bool{}
	for _, f := range w.manifest.files() {
		w.earlier[f.Path] = true
	}
	return w.manifest.State != stateWriting, nil
}

// uri names a file of the output.
func (w *workplace) uri(name string) string { return w.fsys.URI(path.Join(w.dir, name)) }

// save records the state of things, as long as the output is still this run's to change.
func (w *workplace) save() error { return w.saveManifest(w.manifest) }

func (w *workplace) saveManifest(m *manifest) error {
	temps, err := w.tempFolder()
	if err != nil {
		return err
	}
	return m.save(w.fsys, w.dir, temps)
}

// replace deletes the run that --force gives up. Until the new one is sorted, and nothing but writing it can fail, the
// old one stays as it is.
func (w *workplace) replace(ctx context.Context) error {
	if w.replaced == nil {
		return nil
	}
	if err := w.lock.check(); err != nil {
		return err
	}
	if err := w.recoverReplaced(ctx); err != nil {
		return err
	}
	w.options.Sayf("cleaning the output of run %s (--force)", w.replaced.Run.ID)
	if err := w.clean(w.replaced); err != nil {
		return err
	}
	w.replaced = nil
	return w.save()
}

// present is the manifest of what is in the output now.
func (w *workplace) present() *manifest {
	if w.replaced != nil {
		return w.replaced
	}
	return w.manifest
}

// clean deletes what a manifest names, and the manifest last.
func (w *workplace) clean(m *manifest) error {
	if err := w.cleanFiles(m); err != nil {
		return err
	}
	return storage.RemoveIfThere(w.fsys, w.dir, manifestName)
}

// cleanFiles deletes what a manifest names.
func (w *workplace) cleanFiles(m *manifest) error {
	errs := []error{storage.RemoveIfThere(w.fsys, w.dir, successName)}
	for _, f := range m.files() {
		errs = append(errs, storage.RemoveIfThere(w.fsys, w.dir, f.Path))
	}
	for _, name := range m.cutNames() {
		errs = append(errs, storage.RemoveIfThere(w.fsys, w.dir, name))
	}
	for family := range m.Families {
		errs = append(errs, w.removeUnrecorded(m, family))
		_ = w.fsys.Remove(path.Join(w.dir, family)) // succeeds only where it is empty, as wanted
	}
	errs = append(errs, w.clearTemps())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

// checkContent refuses what is not of this run: HBase's loader would take it for part of the table.
func (w *workplace) checkContent() error {
	infos, err := storage.List(w.fsys, w.dir)
	if err != nil {
		return fmt.Errorf("list the output: %w", err)
	}
	known := map[string]*FileSummary{}
	for _, f := range w.present().files() {
		known[f.Path] = f
	}
	for _, name := range w.present().cutNames() {
		known[name] = &FileSummary{Path: name, Loaded: true} // whether it is there yet, or still, does not matter
	}
	var foreign, changed []string
	for _, info := range infos {
		switch {
		case info.Dir && strings.HasPrefix(info.Name, "."), !info.Dir && strings.HasPrefix(info.Name, "_"):
		case !info.Dir:
			foreign = append(foreign, info.Name)
		default:
			strange, other, err := w.checkFamilyDir(info.Name, known)
			if err != nil {
				return err
			}
			foreign, changed = append(foreign, strange...), append(changed, other...)
		}
	}
	if foreign != nil {
		return failure.Refusef("%s holds what this run did not write: %s. Move it away or choose another output",
			w.fsys.URI(w.dir), some(foreign))
	}
	if changed != nil {
		return failure.Refusef("%s holds files that were changed since they were written: %s. Use --force to do the run again",
			w.fsys.URI(w.dir), some(changed))
	}
	return w.checkKnown(known)
}

// checkFamilyDir lists what is foreign in a family's folder, and what was changed; --force has no need of the latter.
func (w *workplace) checkFamilyDir(family string, known map[string]*FileSummary) (foreign, changed []string, err error) {
	if err := w.removeUnrecorded(w.present(), family); err != nil {
		return nil, nil, err
	}
	infos, err := storage.List(w.fsys, path.Join(w.dir, family))
	if err != nil {
		return nil, nil, fmt.Errorf("list the output: %w", err)
	}
	for _, info := range infos {
		name := path.Join(family, info.Name)
		f := known[name]
		switch {
		case f == nil:
			foreign = append(foreign, name)
		case f.Bytes != info.Size && w.replaced == nil:
			changed = append(changed, fmt.Sprintf("%s (%d bytes, written were %d)", name, info.Size, f.Bytes))
		default:
			delete(known, name)
		}
	}
	return foreign, changed, nil
}

// removeUnrecorded deletes the files of a family that an unfinished run gave their names and was killed before it could
// record: those of the slices that its manifest lacks. Their names follow from the run.
func (w *workplace) removeUnrecorded(m *manifest, family string) error {
	if m.State != stateWriting {
		return nil
	}
	infos, err := storage.List(w.fsys, path.Join(w.dir, family))
	if err != nil {
		return fmt.Errorf("list the output: %w", err)
	}
	if len(infos) == 0 {
		return nil
	}
	present := map[string]bool{}
	for _, info := range infos {
		present[info.Name] = true
	}
	for region := range len(m.Splits) + 1 {
		for slice := range maxSlices {
			if m.done(region, slice) != nil {
				continue
			}
			place := func(sequence int) string { return fileName(m.Run.ID, region, slice, family, sequence) }
			if err := w.removeFrom(family, place, present); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFrom deletes the files of one slice, the last first: where that is cut short, those that are left begin at 0
// still, so that the next run finds them.
func (w *workplace) removeFrom(family string, name func(sequence int) string, present map[string]bool) error {
	n := 0
	for present[name(n)] {
		n++
	}
	for n > 0 {
		n--
		if err := storage.RemoveIfThere(w.fsys, w.dir, family, name(n)); err != nil {
			return fmt.Errorf("clean the output: %w", err)
		}
	}
	return nil
}

// checkKnown wants every recorded file that HBase does not have yet; those found are gone from known.
func (w *workplace) checkKnown(known map[string]*FileSummary) error {
	var gone []string
	for name, f := range known {
		if !f.Loaded {
			gone = append(gone, name)
		}
	}
	if gone == nil || w.replaced != nil || w.manifest.State == stateLoading { // recoverLoad looks into those
		return nil
	}
	return failure.Refusef("%s lacks files that were written and not loaded by this job: %s. Use --force to do the run again",
		w.fsys.URI(w.dir), some(gone))
}

// some names the first few of many.
func some(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

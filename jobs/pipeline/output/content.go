package output

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
)

// checkContent refuses files that belong neither to this run nor to the one that it replaces, because HBase's loader
// would treat them as part of the table.
func (w *Run) checkContent() error {
	infos, err := storage.List(w.FS, w.Path)
	if err != nil {
		return fmt.Errorf("list the output: %w", err)
	}
	known := map[string]*hfiles.FileMeta{}
	for _, f := range w.Present.Files() {
		known[f.Path] = f
	}
	for _, name := range w.Present.CutNames() {
		known[name] = &hfiles.FileMeta{Path: name, Loaded: true} // it may exist already, or still
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
		return errcode.OutputOther.Errorf(
			"%s has files that this run did not write: %s. Move them away or choose another output",
			w.FS.URI(w.Path), failure.FirstFew(foreign))
	}
	if changed != nil {
		return errcode.OutputChanged.Errorf("%s has files that were changed after they were written: %s. Run again with "+
			"--force to write them again",
			w.FS.URI(w.Path), failure.FirstFew(changed))
	}
	return w.checkKnown(known)
}

// checkFamilyDir lists foreign and changed files in a family's folder. Files of a run that is replaced may be changed.
func (w *Run) checkFamilyDir(family string, known map[string]*hfiles.FileMeta) (foreign, changed []string, err error) {
	if err := w.removeUnrecorded(w.Present, family); err != nil {
		return nil, nil, err
	}
	infos, err := storage.List(w.FS, path.Join(w.Path, family))
	if err != nil {
		return nil, nil, fmt.Errorf("list the output: %w", err)
	}
	for _, info := range infos {
		name := path.Join(family, info.Name)
		f := known[name]
		switch {
		case f == nil:
			foreign = append(foreign, name)
		case f.Bytes != info.Size && !w.Replaces():
			changed = append(changed, fmt.Sprintf("%s (%d bytes, written were %d)", name, info.Size, f.Bytes))
		default:
			delete(known, name)
		}
	}
	return foreign, changed, nil
}

// Clean deletes everything that a manifest names, and the manifest last: after a kill in between, it still names the
// rest.
func (w *Dir) Clean(m *manifest.Manifest) error {
	if err := w.CleanFiles(m); err != nil {
		return err
	}
	return storage.RemoveIfThere(w.FS, w.Path, manifest.Name)
}

// CleanFiles deletes the files of a run: those that its manifest names, and those of a killed process that it does not
// name yet.
func (w *Dir) CleanFiles(m *manifest.Manifest) error {
	errs := []error{storage.RemoveIfThere(w.FS, w.Path, ingest.SuccessName)}
	for _, f := range m.Files() {
		errs = append(errs, storage.RemoveIfThere(w.FS, w.Path, f.Path))
	}
	for _, name := range m.CutNames() {
		errs = append(errs, storage.RemoveIfThere(w.FS, w.Path, name))
	}
	for _, family := range slices.Sorted(maps.Keys(m.Families)) {
		errs = append(errs, w.removeUnrecorded(m, family))
		_ = w.FS.Remove(path.Join(w.Path, family)) // succeeds only if it is empty, as intended
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

// removeUnrecorded deletes the files of a family that a killed process named but did not record.
//
// No other files are deleted without a record that names them. These can't include any other file because:
//
//   - A name is the hash of the run's ID, region, slice, family and sequence. No file of another run or tool has it.
//   - Only slices that the manifest lacks are tried. A recorded file may be the only one with its rows.
//   - Once all slices are recorded, the manifest is not in the state Writing any more, and nothing is tried: a file
//     that it does not name then is foreign. The state goes back to Writing only with slices that are to be written
//     again.
//
// All of them are found because the manifest has the table's regions before the first file is written, and a slice's
// files get their names in the order of their sequence, from 0. They are deleted in the opposite order, as in
// writing.RemoveFiles, so the files that a kill leaves begin at 0 again. (Files after one that the table serves, which
// gets no name, are not found: see Stage.publish in package writing. They are refused as foreign.)
//
// Files that the manifest does not name are rare, and once the last of them is found, no further slice is tried.
func (w *Dir) removeUnrecorded(m *manifest.Manifest, family string) error {
	if m.State != manifest.Writing {
		return nil
	}
	infos, err := storage.List(w.FS, path.Join(w.Path, family))
	if err != nil {
		return fmt.Errorf("list the output: %w", err)
	}
	unrecorded := map[string]bool{}
	for _, info := range infos {
		if hfiles.IsName(info.Name) {
			unrecorded[info.Name] = true
		}
	}
	for _, f := range m.Files() {
		if f.Family == family {
			delete(unrecorded, path.Base(f.Path))
		}
	}
	for region := range len(m.Splits) + 1 {
		for slice := range sorting.MaxSlices {
			if len(unrecorded) == 0 {
				return nil
			}
			if m.Done(region, slice) != nil {
				continue
			}
			name := func(sequence int) string { return hfiles.Name(m.Run.ID, region, slice, family, sequence) }
			n := 0
			for unrecorded[name(n)] {
				delete(unrecorded, name(n))
				n++
			}
			for n > 0 {
				n--
				if err := storage.RemoveIfThere(w.FS, w.Path, family, name(n)); err != nil {
					return fmt.Errorf("clean the output: %w", err)
				}
			}
		}
	}
	return nil
}

// checkKnown checks that every recorded file that HBase does not have yet exists. It removes the files that it finds
// from known.
func (w *Run) checkKnown(known map[string]*hfiles.FileMeta) error {
	var gone []string
	for name, f := range known {
		if !f.Loaded {
			gone = append(gone, name)
		}
	}
	// Loading searches for those of an interrupted load.
	if gone == nil || w.Replaces() || w.Manifest.State == manifest.Loading || w.Manifest.Interrupted() && w.WantsLoad() {
		return nil
	}
	return errcode.OutputChanged.Errorf("%s lacks files that this job wrote and did not load: %s. Run again with "+
		"--force to write them again",
		w.FS.URI(w.Path), failure.FirstFew(gone))
}

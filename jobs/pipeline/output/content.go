package output

import (
	"fmt"
	"path"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
)

// checkContent refuses files that are not of this run: HBase's loader would treat them as part of the table.
func checkContent(w *Dir) error {
	infos, err := storage.List(w.FS, w.Path)
	if err != nil {
		return fmt.Errorf("list the output: %w", err)
	}
	known := map[string]*hfiles.Summary{}
	for _, f := range w.CurrentManifest().Files() {
		known[f.Path] = f
	}
	for _, name := range w.CurrentManifest().CutNames() {
		known[name] = &hfiles.Summary{Path: name, Loaded: true} // it may exist already, or still
	}
	var foreign, changed []string
	for _, info := range infos {
		switch {
		case info.Dir && strings.HasPrefix(info.Name, "."), !info.Dir && strings.HasPrefix(info.Name, "_"):
		case !info.Dir:
			foreign = append(foreign, info.Name)
		default:
			strange, other, err := checkFamilyDir(w, info.Name, known)
			if err != nil {
				return err
			}
			foreign, changed = append(foreign, strange...), append(changed, other...)
		}
	}
	if foreign != nil {
		return errcode.OutputForeign.Errorf("%s has files that this run did not write: %s. Move them away or choose another output",
			w.FS.URI(w.Path), failure.FirstFew(foreign))
	}
	if changed != nil {
		return errcode.OutputChanged.Errorf("%s has files that were changed after they were written: %s. Run again with --force to write them again",
			w.FS.URI(w.Path), failure.FirstFew(changed))
	}
	return checkKnown(w, known)
}

// checkFamilyDir lists foreign and changed files in a family's folder; --force ignores the latter.
func checkFamilyDir(w *Dir, family string, known map[string]*hfiles.Summary) (foreign, changed []string, err error) {
	if err := w.RemoveUnrecorded(w.CurrentManifest(), family); err != nil {
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
		case f.Bytes != info.Size && w.Replaced == nil:
			changed = append(changed, fmt.Sprintf("%s (%d bytes, written were %d)", name, info.Size, f.Bytes))
		default:
			delete(known, name)
		}
	}
	return foreign, changed, nil
}

// RemoveUnrecorded deletes the files of a family that were renamed but not recorded before the run was killed: those
// of slices that its manifest lacks. Their names are hashes of the run, the region, the slice and the sequence, so they can only be
// tried. Hardly ever is a file there that the manifest does not name, and then no slice is tried after the last of them is found.
func (w *Dir) RemoveUnrecorded(m *manifest.Manifest, family string) error {
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
			place := func(sequence int) string { return hfiles.Name(m.Run.ID, region, slice, family, sequence) }
			if err := removeSlice(w, family, place, unrecorded); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeSlice deletes the files of one slice, the last one first. So if it is interrupted, those that are left still
// begin at 0, and the next run finds them.
func removeSlice(w *Dir, family string, name func(sequence int) string, unrecorded map[string]bool) error {
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
	return nil
}

// checkKnown checks that every recorded file exists that HBase does not have yet. It removes the files it finds from
// known.
func checkKnown(w *Dir, known map[string]*hfiles.Summary) error {
	var gone []string
	for name, f := range known {
		if !f.Loaded {
			gone = append(gone, name)
		}
	}
	if gone == nil || w.Replaced != nil || w.Manifest.State == manifest.Loading { // loading searches for those
		return nil
	}
	return errcode.OutputLacks.Errorf("%s lacks files that this job wrote and did not load: %s. Run again with --force to write them again",
		w.FS.URI(w.Path), failure.FirstFew(gone))
}

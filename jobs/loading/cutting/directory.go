package cutting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/targets"
	"bulkload/load"
)

// A directory of another tool has no manifest. The record of its cuts, manifest.CutsDir/CutsName, is in the directory,
// so it is found whatever table the directory is loaded into. There may be no second copy of the files, so step 5 does
// not delete them but moves them to manifest.CutsDir/FAMILY.
const (
	cutsMaxBytes = 256 << 20
	cutsSchema   = 1
)

// cutsRecord is the record of a directory's cuts in progress.
type cutsRecord struct {
	Schema   int            `json:"schema"`
	Replaced bool           `json:"replaced"` // step 4
	Cuts     []manifest.Cut `json:"cuts"`
}

// DirectoryCutter cuts files of a directory without a manifest.
type DirectoryCutter struct {
	Out *output.Dir
	// Replaced replaces the files with their parts in the record of an interrupted load, if it names them. After a kill,
	// it may be called again for the same cuts.
	Replaced func(cuts []manifest.Cut) error
}

func (w DirectoryCutter) path() string {
	return path.Join(w.Out.Path, manifest.CutsDir, manifest.CutsName)
}

// read returns the record of cuts in progress; nil if there are none.
func (w DirectoryCutter) read() (*cutsRecord, error) {
	text, err := storage.ReadFile(w.Out.FS, w.path(), cutsMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of cut files: %w", err)
	}
	r := new(cutsRecord)
	if err = seal.Unmarshal(text, r); err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, errcode.LoadFiles.Errorf("%s is not a record of cut files as bulkload writes it (%w): restore it, or "+
			"delete the parts in %s whose original is there, too, and then the record",
			w.Out.FS.URI(w.path()), err, w.Out.FS.URI(w.Out.Path))
	}
	return r, nil
}

// check refuses a record that bulkload does not write.
func (r *cutsRecord) check() error {
	if r.Schema != cutsSchema {
		return fmt.Errorf("its schema is %d, this bulkload knows %d", r.Schema, cutsSchema)
	}
	for _, c := range r.Cuts {
		family, name := path.Split(c.Of)
		if err := hfiles.CheckFamily(path.Clean(family)); err != nil {
			return err
		}
		if name == "" || hfiles.Hidden(name) || path.Join(path.Clean(family), name) != c.Of {
			return fmt.Errorf("%q is not a file of a family", c.Of)
		}
		for i := range c.Parts {
			if err := c.Parts[i].Check(); err != nil {
				return fmt.Errorf("part %d of %s: %w", i, c.Of, err)
			}
		}
	}
	return nil
}

func (w DirectoryCutter) write(r *cutsRecord) error {
	r.Schema = cutsSchema
	temps, err := w.Out.TempFolder()
	if err != nil {
		return err
	}
	content, err := json.Marshal(r)
	if err == nil {
		content, err = seal.Seal(content)
	}
	if err == nil {
		err = w.Out.FS.MkdirAll(path.Dir(w.path()), storage.DirPerm)
	}
	if err == nil {
		err = storage.ReplaceFile(w.Out.FS, w.path(), path.Join(temps, manifest.CutsName), append(content, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the record of cut files: %w", err)
	}
	return nil
}

// Finish completes or undoes the cuts that a killed process has left in a directory. It must come before anything else
// is done with the files.
func (w DirectoryCutter) Finish() error {
	r, err := w.read()
	if r == nil || err != nil {
		return err
	}
	if r.Replaced {
		return w.removeFiles(r.Cuts)
	}
	// Every file must still exist before the first part is deleted, because parts may be the only copy of its rows.
	for _, c := range r.Cuts {
		if _, err := w.Out.FS.Stat(path.Join(w.Out.Path, c.Of)); errors.Is(err, fs.ErrNotExist) {
			return errcode.LoadFiles.Errorf("a cut of %s was interrupted, and the file is gone: move it back, or, if it was "+
				"loaded, delete its parts and %s (%w)",
				w.Out.URI(c.Of), w.Out.FS.URI(w.path()), err)
		} else if err != nil {
			return fmt.Errorf("finish the cut of %s: %w", w.Out.URI(c.Of), err)
		}
	}
	for _, c := range r.Cuts {
		for _, p := range c.Parts {
			if err := storage.RemoveIfThere(w.Out.FS, w.Out.Path, p.Path); err != nil {
				return fmt.Errorf("finish the cut of %s: %w", w.Out.URI(c.Of), err)
			}
		}
	}
	return w.removeRecord()
}

func (w DirectoryCutter) recordCuts(cuts []manifest.Cut) error {
	return w.write(&cutsRecord{Cuts: cuts})
}

func (w DirectoryCutter) recordReplaced(cuts []manifest.Cut) error {
	return w.write(&cutsRecord{Replaced: true, Cuts: cuts})
}

// removeFiles replaces the files in the record of their load, and moves them away. It deletes the record of the cuts
// last, so after a kill the next process does the same again.
func (w DirectoryCutter) removeFiles(cuts []manifest.Cut) error {
	if err := w.Replaced(cuts); err != nil {
		return err
	}
	for _, c := range cuts {
		if err := w.move(c.Of); err != nil {
			return fmt.Errorf("move %s, which was cut, to %s: %w", w.Out.URI(c.Of), w.Out.FS.URI(w.kept(c.Of)), err)
		}
	}
	w.Out.Options.Failpoint.Reached(options.CutCleaned)
	return w.removeRecord()
}

// move moves a file to the folder of kept files after its cut. If the file is missing, it was moved before a kill, or a
// region server that hung has taken it, or somebody has deleted it, which is no loss because its parts exist.
func (w DirectoryCutter) move(name string) error {
	from, to := path.Join(w.Out.Path, name), w.kept(name)
	if _, err := w.Out.FS.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := w.Out.FS.MkdirAll(path.Dir(to), storage.DirPerm); err != nil {
		return err
	}
	err := w.Out.FS.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := w.Out.FS.Stat(from); errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// kept returns the path at which a file is kept after it was cut.
func (w DirectoryCutter) kept(name string) string {
	return path.Join(w.Out.Path, manifest.CutsDir, name)
}

func (w DirectoryCutter) removeRecord() error {
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	if err := storage.RemoveIfThere(w.Out.FS, w.path()); err != nil {
		return fmt.Errorf("delete the record of cut files: %w", err)
	}
	return nil
}

// Cut cuts the files of a directory that have rows of several of the table's current regions. It returns the directory
// with the parts in place of those files.
//
// It inspects all of these files before it cuts the first, so a file that can't be cut refuses the load before anything
// is changed.
func (w DirectoryCutter) Cut(ctx context.Context, table *load.Table, d *hfiles.Directory) (*hfiles.Directory, error) {
	var cutters []*fileCutter
	splits := table.Splits()
	for _, f := range d.Files {
		at := crossed(f.First, f.Last, splits)
		if len(at) == 0 {
			continue
		}
		settings, err := targets.TableSettings(w.Out.Site, table, f.Family)
		if err == nil {
			err = w.checkCuttable(d, f)
		}
		if err != nil {
			return d, err
		}
		cutters = append(cutters, &fileCutter{out: w.Out, of: hfiles.FileMeta{Path: f.Path, Family: f.Family}, at: at,
			settings: settings, stamp: stampOfOther})
	}
	if len(cutters) == 0 {
		return d, nil
	}
	if err := cutAll(ctx, w.Out, cutters, w); err != nil {
		return d, err
	}
	w.Out.Options.Infof("the files that were cut are kept in %s", w.Out.FS.URI(path.Join(w.Out.Path, manifest.CutsDir)))
	return hfiles.OpenDirectory(w.Out.FS, w.Out.Path)
}

// stampOfOther copies the file's info to a part, as far as it does not follow from the part's content.
func stampOfOther(c *fileCutter) hfilewriter.Provenance {
	return hfilewriter.Provenance{Copied: c.info}
}

// checkCuttable refuses a file whose parts would lack something, or that could not be kept.
func (w DirectoryCutter) checkCuttable(d *hfiles.Directory, f *hfiles.DirFile) error {
	uri := w.Out.URI(f.Path)
	in, err := d.Open(f)
	if err != nil {
		return err
	}
	lost := in.Info().Uncopied()
	if err := in.File.Close(); err != nil {
		return err
	}
	if len(lost) > 0 {
		return uncut(uri, lost)
	}
	switch _, err := w.Out.FS.Stat(w.kept(f.Path)); {
	case err == nil:
		return errcode.LoadFiles.Errorf("%s has rows of several regions, and a file of its name that was cut earlier is "+
			"kept in %s: move one of them away",
			uri, w.Out.FS.URI(w.kept(f.Path)))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

package loading

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/hfiledir"
	"bulkload/jobs/manifest"
	"bulkload/jobs/output"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// A directory of another tool has no manifest. Its files are cut by the same steps as those of an output, with a record
// in the directory, whatever table it is loaded into:
//
//  1. write the parts under temporary names and read them back; together they must have the file's digest;
//  2. record the cuts in .cut/_cuts.json;
//  3. rename the parts to their names;
//  4. mark the cuts in the record as replaced, and replace the files in the ledger, if it has a load of them;
//  5. move the files to .cut/FAMILY, and then delete the record.
//
// Nobody else has a second copy of the files, so they are moved, not deleted. Until step 4 is saved, a killed cut is
// undone: the parts are deleted. From then on it is completed: the file is moved.
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

// directoryCuts cuts files of a directory without a manifest. The directory has the record of the cuts.
type directoryCuts struct {
	out    *output.Dir
	loaded directoryRecord // of an interrupted load, which may name the files
}

func (w directoryCuts) path() string {
	return path.Join(w.out.Path, manifest.CutsDir, manifest.CutsName)
}

// read reads the record of cuts in progress; nil if there are none.
func (w directoryCuts) read() (*cutsRecord, error) {
	text, err := storage.ReadFile(w.out.FS, w.path(), cutsMaxBytes)
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
		return nil, errcode.LoadCuts.Errorf("%s is not a record of cut files as bulkload writes it (%w): restore it, or look which files of %s are parts of others, and delete it",
			w.out.FS.URI(w.path()), err, w.out.FS.URI(w.out.Path))
	}
	return r, nil
}

// check refuses a record that no bulkload writes.
func (r *cutsRecord) check() error {
	if r.Schema != cutsSchema {
		return fmt.Errorf("its schema is %d, this bulkload knows %d", r.Schema, cutsSchema)
	}
	for _, c := range r.Cuts {
		family, name := path.Split(c.Of)
		if err := hfile.CheckFamily(path.Clean(family)); err != nil {
			return err
		}
		if name == "" || hfile.Hidden(name) || path.Join(path.Clean(family), name) != c.Of {
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

func (w directoryCuts) write(r *cutsRecord) error {
	r.Schema = cutsSchema
	temps, err := w.out.TempFolder()
	if err != nil {
		return err
	}
	content, err := json.Marshal(r)
	if err == nil {
		content, err = seal.Seal(content)
	}
	if err == nil {
		err = w.out.FS.MkdirAll(path.Dir(w.path()), storage.DirPerm)
	}
	if err == nil {
		err = storage.ReplaceFile(w.out.FS, w.path(), path.Join(temps, manifest.CutsName), append(content, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the record of cut files: %w", err)
	}
	return nil
}

// finish completes or undoes the cuts of a directory that a process was killed in. It must come before anything
// else is done with the files.
func (w directoryCuts) finish() error {
	r, err := w.read()
	if r == nil || err != nil {
		return err
	}
	if r.Replaced {
		return w.complete(r)
	}
	// Each file must still be there before the first part is deleted: parts may be the only copy of its rows.
	for _, c := range r.Cuts {
		if _, err := w.out.FS.Stat(path.Join(w.out.Path, c.Of)); errors.Is(err, fs.ErrNotExist) {
			return errcode.LoadCuts.Errorf("a cut of %s was interrupted, and the file is gone: move it back, or, if it was loaded, delete its parts and %s (%w)",
				w.out.URI(c.Of), w.out.FS.URI(w.path()), err)
		} else if err != nil {
			return fmt.Errorf("finish the cut of %s: %w", w.out.URI(c.Of), err)
		}
	}
	for _, c := range r.Cuts {
		for _, p := range c.Parts {
			if err := storage.RemoveIfThere(w.out.FS, w.out.Path, p.Path); err != nil {
				return fmt.Errorf("finish the cut of %s: %w", w.out.URI(c.Of), err)
			}
		}
	}
	return w.remove()
}

// complete performs the rest of step 4, and step 5.
func (w directoryCuts) complete(r *cutsRecord) error {
	if err := w.loaded.replaceFiles(r.Cuts); err != nil {
		return err
	}
	for _, c := range r.Cuts {
		if err := w.move(c.Of); err != nil {
			return fmt.Errorf("move %s, which was cut, to %s: %w", w.out.URI(c.Of), w.out.FS.URI(w.kept(c.Of)), err)
		}
	}
	w.out.Options.Failpoint.Reached(failpoint.CutCleaned)
	return w.remove()
}

// move moves a file that was cut out of the way. If it is not there, it was moved before a kill, or somebody has
// deleted it, which is no loss: its parts are there.
func (w directoryCuts) move(name string) error {
	from, to := path.Join(w.out.Path, name), w.kept(name)
	if _, err := w.out.FS.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := w.out.FS.MkdirAll(path.Dir(to), storage.DirPerm); err != nil {
		return err
	}
	return w.out.FS.Rename(from, to)
}

// kept is where a file is kept after it was cut.
func (w directoryCuts) kept(name string) string { return path.Join(w.out.Path, manifest.CutsDir, name) }

func (w directoryCuts) remove() error {
	if err := w.out.CheckLock(); err != nil {
		return err
	}
	if err := storage.RemoveIfThere(w.out.FS, w.path()); err != nil {
		return fmt.Errorf("delete the record of cut files: %w", err)
	}
	return nil
}

// cut cuts the files of a directory that have rows of several of the table's current regions. It returns the
// directory as it is then.
//
// All of them are looked at before the first is cut: a file that can't be cut refuses the load before anything is
// changed.
func (w directoryCuts) cut(ctx context.Context, table *load.Table, d *hfiledir.Directory) (*hfiledir.Directory, error) {
	var cutters []*fileCutter
	splits := table.Splits()
	for _, f := range d.Files {
		at := crossed(f.First, f.Last, splits)
		if len(at) == 0 {
			continue
		}
		settings, err := liveFamily(w.out.Site, table, f.Family)
		if err == nil {
			err = w.checkCuttable(d, f)
		}
		if err != nil {
			return d, err
		}
		cutters = append(cutters, &fileCutter{out: w.out, of: hfile.Summary{Path: f.Path, Family: f.Family}, at: at, settings: settings, stamp: stampOfOther})
	}
	if len(cutters) == 0 {
		return d, nil
	}
	for batch := range cutBatches(cutters) {
		if err := w.batch(ctx, batch); err != nil {
			return d, err
		}
	}
	noteCuts(w.out, len(cutters))
	w.out.Options.Infof("the files that were cut are kept in %s", w.out.FS.URI(path.Join(w.out.Path, manifest.CutsDir)))
	return hfiledir.Open(w.out.FS, w.out.Path)
}

// stampOfOther is what the file info of a part says, besides its content: what the file's own says.
func stampOfOther(c *fileCutter) hfilewriter.Provenance {
	return hfilewriter.Provenance{Copied: c.info}
}

// checkCuttable refuses a file whose parts would lack something, or that could not be kept.
func (w directoryCuts) checkCuttable(d *hfiledir.Directory, f *hfiledir.File) error {
	uri := w.out.URI(f.Path)
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
	switch _, err := w.out.FS.Stat(w.kept(f.Path)); {
	case err == nil:
		return errcode.LoadCuts.Errorf("%s has rows of several regions, and a file of its name that was cut earlier is kept in %s: move one of them away",
			uri, w.out.FS.URI(w.kept(f.Path)))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// batch performs all steps for some files.
func (w directoryCuts) batch(ctx context.Context, batch []*fileCutter) error {
	if err := measureAll(ctx, batch); err != nil {
		return err
	}
	if err := writeParts(ctx, batch); err != nil {
		return err
	}
	r := &cutsRecord{}
	for _, c := range batch {
		r.Cuts = append(r.Cuts, c.record())
	}
	if err := w.write(r); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.Cut)
	if err := nameParts(w.out, batch); err != nil {
		return err
	}
	r.Replaced = true
	if err := w.write(r); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.PartsRecorded)
	return w.complete(r)
}

// measureAll measures files, several at a time.
func measureAll(ctx context.Context, batch []*fileCutter) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, c := range batch {
		group.Go(func() error { return c.measure(running) })
	}
	return group.Wait()
}

// measure reads a file without a record of its content, and verifies it: a damaged file is not cut.
func (c *fileCutter) measure(ctx context.Context) (err error) {
	in, err := c.out.FS.Open(path.Join(c.out.Path, c.of.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	report, sum, _, err := hfile.Verify(ctx, in)
	if err != nil {
		return failure.Damagedf("%s has rows of several regions, and is damaged: %w; it was not loaded", c.out.URI(c.of.Path), err)
	}
	c.of.Digest, c.of.Rows = sum, report.Rows
	return nil
}

// checkCounts refuses, before anything is cut or loaded, more files of a family for a region than the loader allows:
// most likely because regions have merged. A file with rows of several regions counts for the first and the last of
// them, for which it certainly has rows.
func checkCounts(out *output.Dir, table *load.Table, files []load.HFile) error {
	limit, err := out.Site.MaxFiles()
	if err != nil {
		return err
	}
	type place struct {
		family string
		region int
	}
	counts, splits := map[place]int64{}, table.Splits()
	var most place
	for _, f := range files {
		first, last := regionOf(splits, f.FirstRow), regionOf(splits, f.LastRow)
		for _, at := range slices.Compact([]place{{f.Family, first}, {f.Family, last}}) {
			if counts[at]++; counts[at] > counts[most] {
				most = at
			}
		}
	}
	if n := counts[most]; n > limit {
		return errcode.FilesLimit.Errorf("%s of table %s would get %d files of family %s, and %s is %d: nothing was loaded; raise the property (in the site files, or with -D)%s",
			&table.Regions[most.region], table.Name, n, most.family, load.MaxFilesProperty, limit, orWriteAgain(out.Manifest))
	}
	return nil
}

// orWriteAgain is the other advice against too many files, for those that a job can write again.
func orWriteAgain(m *manifest.Manifest) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf(", or write the files again for the table's present regions: run %s with --force", m.Run.Job)
}

// regionOf is the index of the region that holds a row, as partition.Regions.Find returns it; a load has the table's
// splits, but not the Regions of a sort.
func regionOf(splits [][]byte, row []byte) int {
	i, found := slices.BinarySearchFunc(splits, row, bytes.Compare)
	if found {
		i++
	}
	return i
}

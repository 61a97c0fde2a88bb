package jobs

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/storage"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/load"
)

// Regions split while files wait for their load, or while they are loaded. A file with rows of two regions is then cut at
// the boundary. The steps are such that a process may be killed between any two of them:
//
//  1. the parts are written under temporary names and read back; together they must have the file's digest;
//  2. the manifest records the cut;
//  3. the parts get their names;
//  4. the manifest has the parts in the file's place;
//  5. the file is deleted, and then the record of the cut.
//
// A record whose parts the manifest does not have in the file's place is undone: the parts are deleted.

// cutRecord is a cut under way.
type cutRecord struct {
	Of    string        `json:"of"` // the file's path
	Parts []FileSummary `json:"parts"`
}

// cutFiles cuts the files that are to be loaded and have rows of several of the table's present regions.
func (w *workplace) cutFiles(ctx context.Context, table *load.Table) error {
	splits := table.Splits()
	cuts := 0
	for _, f := range w.manifest.files() {
		if f.Loaded {
			continue
		}
		at, err := f.crossed(splits)
		if err != nil {
			return err
		}
		if len(at) == 0 {
			continue
		}
		if err := w.cutFile(ctx, f, at, table); err != nil {
			return fmt.Errorf("cut %s at the table's region boundaries: %w", w.uri(f.Path), err)
		}
		cuts++
	}
	if cuts == 0 {
		return nil
	}
	w.options.Sayf("%d files had rows of several regions, which have split since they were planned: they were cut", cuts)
	return w.finishCuts()
}

// crossed are the boundaries between a file's first and last row.
func (f *FileSummary) crossed(splits [][]byte) ([][]byte, error) {
	h, err := f.hfile()
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	from, _ := slices.BinarySearchFunc(splits, append(bytes.Clone(h.FirstRow), 0), bytes.Compare)
	to := from
	for to < len(splits) && bytes.Compare(splits[to], h.LastRow) <= 0 {
		to++
	}
	return splits[from:to], nil
}

// cutFile does steps 1 to 4 for one file.
func (w *workplace) cutFile(ctx context.Context, f *FileSummary, at [][]byte, table *load.Table) error {
	settings, err := w.liveFamily(table, f.Family)
	if err != nil {
		return err
	}
	c := &cutting{workplace: w, of: *f, at: at, settings: settings}
	if err := c.write(ctx); err != nil {
		return errors.Join(err, c.abort())
	}
	record := cutRecord{Of: f.Path}
	var sum digest.Sum
	for _, p := range c.parts {
		if err := p.verify(ctx); err != nil {
			return errors.Join(err, c.abort())
		}
		sum.Add(p.Digest)
		record.Parts = append(record.Parts, p.FileSummary)
	}
	if sum != f.Digest {
		return errors.Join(failure.Differsf("the parts hold %d cells with digest %v, the file %d with %v", sum.Cells, sum, f.Digest.Cells, f.Digest), c.abort())
	}
	w.manifest.Cuts = append(w.manifest.Cuts, record)
	if err := w.save(); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.Cut)
	if err := w.checkLock(); err != nil {
		return err
	}
	for _, p := range c.parts {
		if err := w.fsys.Rename(p.temp, path.Join(w.dir, p.Path)); err != nil {
			return err
		}
	}
	w.options.Failpoint.Reached(failpoint.PartsNamed)
	w.manifest.replaceFile(record)
	if err := w.save(); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.PartsRecorded)
	return nil
}

// storage.ReplaceFile puts the parts of a file in its place.
func (m *manifest) replaceFile(c cutRecord) {
	for i := range m.Slices {
		r := &m.Slices[i]
		if k := slices.IndexFunc(r.Files, func(f FileSummary) bool { return f.Path == c.Of }); k >= 0 {
			r.Files = slices.Replace(slices.Clone(r.Files), k, k+1, c.Parts...)
			r.text = nil
		}
	}
}

// finishCuts ends the cuts that the manifest records: it deletes the files whose parts are in their place, and the parts
// of those where they are not.
func (w *workplace) finishCuts() error {
	m := w.manifest
	if len(m.Cuts) == 0 {
		return nil
	}
	if err := w.checkLock(); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, f := range m.files() {
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
			if err := storage.RemoveIfThere(w.fsys, w.dir, name); err != nil {
				return fmt.Errorf("finish the cut of %s: %w", w.uri(c.Of), err)
			}
		}
	}
	w.options.Failpoint.Reached(failpoint.CutCleaned)
	m.Cuts = nil
	return w.save()
}

// cutNames are the files of cuts under way that the manifest does not list otherwise.
func (m *manifest) cutNames() []string {
	known := map[string]bool{}
	for _, f := range m.files() {
		known[f.Path] = true
	}
	var names []string
	for _, c := range m.Cuts {
		names = append(names, c.Of)
		for _, p := range c.Parts {
			names = append(names, p.Path)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return known[name] })
}

// cutting writes the parts of one file.
type cutting struct {
	*workplace
	of       FileSummary
	at       [][]byte // the boundaries
	settings hfilewriter.Settings
	parts    []*hfile
	open     *hfile
	row      []byte
}

// write copies the file's cells into its parts.
func (c *cutting) write(ctx context.Context) (err error) {
	in, err := c.fsys.Open(path.Join(c.dir, c.of.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := hfilewriter.Open(in, in.Size())
	if err != nil {
		return failure.Damagedf("%w", err)
	}
	scan := r.Seek(r.FirstRow())
	for n := 1; scan.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.add(scan.Cell()); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return failure.Damagedf("%w", err)
	}
	return c.finishPart()
}

// add writes a cell, into the next part where its row is the first one of another region.
func (c *cutting) add(next *cell.Cell) error {
	if newRow := c.open == nil || !bytes.Equal(c.row, next.Row); newRow {
		c.row = append(c.row[:0], next.Row...)
		if c.open == nil || len(c.at) > 0 && bytes.Compare(c.at[0], next.Row) <= 0 {
			if err := c.nextPart(next.Row); err != nil {
				return err
			}
		}
		c.open.took(next.Timestamp)
	}
	return c.open.w.Append(next)
}

// nextPart begins the part whose first row is given.
func (c *cutting) nextPart(row []byte) error {
	if c.open != nil {
		if err := c.finishPart(); err != nil {
			return err
		}
	}
	for len(c.at) > 0 && bytes.Compare(c.at[0], row) <= 0 {
		c.at = c.at[1:]
	}
	name := partName(c.of.Path, row)
	temps, err := c.tempFolder()
	if err != nil {
		return err
	}
	f := &hfile{fsys: c.fsys, temp: path.Join(temps, name)}
	f.FileSummary = FileSummary{Path: path.Join(c.of.Family, name), Family: c.of.Family, Region: c.of.Region, Slice: c.of.Slice, Sequence: c.of.Sequence}
	if err := storage.RemoveIfThere(c.fsys, f.temp); err != nil {
		return err
	}
	if f.out, err = c.fsys.Create(f.temp, storage.FilePerm); err != nil {
		return err
	}
	instant := c.manifest.instant()
	stamp := hfilewriter.Stamp{Created: instant, Loaded: instant, Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d_part_%02d",
		c.of.Region, c.of.Slice, c.of.Family, c.of.Sequence, len(c.parts))}
	if f.w, err = hfilewriter.NewWriter(f.out, c.settings, stamp); err != nil {
		return errors.Join(err, f.out.Abort())
	}
	c.open = f
	return nil
}

// partName is the name of the part of a file that begins with a row: the same whenever the file is cut there.
func partName(of string, row []byte) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s\x00part\x00%s", of, row))
	return hex.EncodeToString(sum[:])
}

func (c *cutting) finishPart() error {
	f := c.open
	c.open = nil
	if err := f.finish(); err != nil {
		return err
	}
	c.parts = append(c.parts, f)
	return nil
}

// abort deletes what was written.
func (c *cutting) abort() error {
	var errs []error
	if c.open != nil && c.open.out != nil {
		errs = append(errs, c.open.abort())
	}
	for _, p := range c.parts {
		errs = append(errs, storage.RemoveIfThere(c.fsys, p.temp))
	}
	return errors.Join(errs...)
}

// instant is Job.instant of the job that wrote the output.
func (m *manifest) instant() int64 {
	if day, err := time.Parse(time.DateOnly, m.Run.Date); err == nil {
		return day.UnixMilli()
	}
	return m.Timestamp
}

// liveFamily are the settings that files of a family have now.
func (w *workplace) liveFamily(table *load.Table, name string) (hfilewriter.Settings, error) {
	i := slices.IndexFunc(table.Families, func(f load.Family) bool { return f.Name == name })
	if i < 0 {
		return hfilewriter.Settings{}, failure.Refusef("table %s has no family %s any more", table.Name, name)
	}
	settings, err := liveSettings(&table.Families[i])
	if err == nil {
		err = w.site.adjust(&settings)
	}
	if err == nil {
		err = settings.Check()
	}
	if err != nil {
		return settings, failure.Refusef("table %s, family %s: %w", table.Name, name, err)
	}
	return settings, nil
}

// checkSettings refuses to load files whose family has other settings than when they were written.
func (w *workplace) checkSettings(table *load.Table) error {
	if len(w.manifest.notLoaded()) == 0 {
		return nil
	}
	for name, written := range w.manifest.Families {
		live, err := w.liveFamily(table, name)
		if err != nil {
			return err
		}
		if now := jobfile.SettingsText(live); now != written {
			return failure.Refusef("family %s of table %s was altered since the files were written: they have %s, the table has %s now; --force writes them again",
				name, table.Name, written, now)
		}
	}
	return nil
}

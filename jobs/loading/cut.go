package loading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/entry"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/target"
	"bulkload/jobs/timing"
	"bulkload/load"
)

// Regions may split while files wait for their load, or while they are loaded. A file with rows of two regions is
// then cut at the boundary. The process may be killed between any two of these steps:
//
//	1. write the parts under temporary names and read them back; together they must have the file's digest;
//	2. record the cut in the manifest;
//	3. rename the parts to their names;
//	4. replace the file by the parts in the manifest;
//	5. delete the file, and then the record of the cut.
//
// Until step 4 is saved, the manifest lists the file, which still exists, so the cut can be undone: the parts are
// deleted. From then on it lists the parts, so the file can be deleted. At no time does the manifest list neither,
// and both together are never loaded: Dir.FinishCuts decides which one exists before a load looks at the files. The
// record of step 2 is needed because parts that no manifest names would be foreign files in the output.

// cutFiles cuts the unloaded files that have rows of several of the table's current regions.
func (w *Loader) cutFiles(ctx context.Context, table *load.Table) error {
	splits := table.Splits()
	cuts := 0
	for _, f := range w.Out.Manifest.Files() {
		// A loaded file was moved away: it has no bytes here, and HBase splits its own files.
		if f.Loaded {
			continue
		}
		at, err := crossed(f, splits)
		if err != nil {
			return err
		}
		if len(at) == 0 {
			continue
		}
		if err := w.cutFile(ctx, f, at, table); err != nil {
			return fmt.Errorf("cut %s at the table's region boundaries: %w", w.Out.URI(f.Path), err)
		}
		cuts++
	}
	if cuts == 0 {
		return nil
	}
	w.Out.Options.Infof("%d files had rows of several regions, because regions have split: they were cut", cuts)
	return w.Out.FinishCuts()
}

// crossed returns the boundaries between a file's first and last row.
func crossed(f *hfile.Summary, splits [][]byte) ([][]byte, error) {
	h, err := f.Loadable()
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	// A boundary equal to the first row does not cut the file: a region begins with its boundary. Hence the search
	// for the row after the first.
	from, _ := slices.BinarySearchFunc(splits, append(bytes.Clone(h.FirstRow), 0), bytes.Compare)
	to := from
	for to < len(splits) && bytes.Compare(splits[to], h.LastRow) <= 0 {
		to++
	}
	return splits[from:to], nil
}

// cutFile performs steps 1 to 4 for one file.
//
// An error after step 2 leaves the record of the cut, and is not undone here: FinishCuts does that at the next start, from
// the manifest alone, as after a kill. Undoing it here would need a second way to decide which of the two exists.
func (w *Loader) cutFile(ctx context.Context, f *hfile.Summary, at [][]byte, table *load.Table) error {
	settings, err := w.liveFamily(table, f.Family)
	if err != nil {
		return err
	}
	// Step 1. The file itself is not touched: an error here costs nothing.
	c := &fileCutter{loader: w, of: *f, at: at, settings: settings}
	if err := c.write(ctx); err != nil {
		return errors.Join(err, c.abort())
	}
	record := manifest.Cut{Of: f.Path}
	var sum digest.Sum
	// Digests are read back from disk, not taken from the writer.
	for _, p := range c.parts {
		if err := p.ReadBack(ctx); err != nil {
			return errors.Join(err, c.abort())
		}
		sum.Add(p.Digest)
		record.Parts = append(record.Parts, p.Summary)
	}
	// The digest does not depend on order or on files, so the sum over the parts must be the file's own.
	if sum != f.Digest {
		return errors.Join(errcode.Digest.Errorf("the parts hold %d cells with digest %v, the file %d with %v", sum.Cells, sum, f.Digest.Cells, f.Digest), c.abort())
	}
	// Step 2. From here on the parts' names are known, and FinishCuts deletes parts that were renamed in vain.
	w.Out.Manifest.Cuts = append(w.Out.Manifest.Cuts, record)
	if err := w.Out.Save(); err != nil {
		return err
	}
	w.Out.Options.Failpoint.Reached(failpoint.Cut)
	// Parts under their names are what the next owner of the output finds. Without the lock nothing is named.
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	for _, p := range c.parts {
		if err := w.Out.FS.Rename(p.Temp, path.Join(w.Out.Path, p.Path)); err != nil {
			return err
		}
	}
	w.Out.Options.Failpoint.Reached(failpoint.PartsNamed)
	// Step 4, after all parts have their names: the manifest must not list a file that does not exist.
	w.Out.Manifest.ReplaceFile(record)
	if err := w.Out.Save(); err != nil {
		return err
	}
	w.Out.Options.Failpoint.Reached(failpoint.PartsRecorded)
	return nil
}

// fileCutter writes the parts of one file.
type fileCutter struct {
	loader   *Loader
	of       hfile.Summary
	at       [][]byte // the boundaries
	settings hfilewriter.Settings
	parts    []*hfile.File
	open     *hfile.File
	row      []byte
}

// write copies the file's cells into its parts.
func (c *fileCutter) write(ctx context.Context) (err error) {
	in, err := c.loader.Out.FS.Open(path.Join(c.loader.Out.Path, c.of.Path))
	if err != nil {
		return err
	}
	// The reader compares each block's checksum, and cutFile the digests of file and parts: a cell that this loop dropped or
	// doubled ends the cut.
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := hfilewriter.Open(in, in.Size())
	if err != nil {
		return failure.Damagedf("%w", err)
	}
	scan := r.Seek(r.FirstRow())
	for n := 1; scan.Next(); n++ {
		if n%entry.CheckEvery == 0 && ctx.Err() != nil {
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

// add writes a cell, into the next part if its row is the first one of another region.
//
// A part begins only with a new row, as a region does: a row's cells are never in two parts.
func (c *fileCutter) add(next *cell.Cell) error {
	if newRow := c.open == nil || !bytes.Equal(c.row, next.Row); newRow {
		c.row = append(c.row[:0], next.Row...)
		if c.open == nil || len(c.at) > 0 && bytes.Compare(c.at[0], next.Row) <= 0 {
			if err := c.nextPart(next.Row); err != nil {
				return err
			}
		}
		c.open.CountRow(next.Timestamp)
	}
	return c.open.Writer.Append(next)
}

// nextPart begins the part that begins with this row.
func (c *fileCutter) nextPart(row []byte) error {
	if c.open != nil {
		if err := c.finishPart(); err != nil {
			return err
		}
	}
	// Several boundaries may be between two rows: regions without rows get no part, as HBase loads no empty file.
	for len(c.at) > 0 && bytes.Compare(c.at[0], row) <= 0 {
		c.at = c.at[1:]
	}
	// The name follows from the file and the row, so a repeated cut gives the same names, and unrecorded parts of a
	// killed cut are replaced.
	name := hfile.PartName(c.of.Path, row)
	summary := hfile.Summary{Path: path.Join(c.of.Family, name), Family: c.of.Family, Region: c.of.Region, Slice: c.of.Slice, Sequence: c.of.Sequence}
	instant := c.loader.Out.Manifest.Instant()
	stamp := hfilewriter.Provenance{Created: instant, Loaded: instant, Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d_part_%02d",
		c.of.Region, c.of.Slice, c.of.Family, c.of.Sequence, len(c.parts))}
	f, err := hfile.Create(hfile.Destination{FS: c.loader.Out.FS, Dir: c.loader.Out.Path, Temps: c.loader.Out.TempFolder}, summary, c.settings, stamp, new(timing.Clock))
	if err != nil {
		return err
	}
	c.open = f
	return nil
}

func (c *fileCutter) finishPart() error {
	f := c.open
	c.open = nil
	if err := f.Finish(); err != nil {
		return err
	}
	c.parts = append(c.parts, f)
	return nil
}

// abort deletes what was written.
func (c *fileCutter) abort() error {
	var errs []error
	if c.open != nil {
		errs = append(errs, c.open.Abort())
	}
	for _, p := range c.parts {
		errs = append(errs, storage.RemoveIfThere(c.loader.Out.FS, p.Temp))
	}
	return errors.Join(errs...)
}

// liveFamily returns the settings that files of a family have now.
func (w *Loader) liveFamily(table *load.Table, name string) (hfilewriter.Settings, error) {
	i := slices.IndexFunc(table.Families, func(f load.Family) bool { return f.Name == name })
	if i < 0 {
		return hfilewriter.Settings{}, errcode.TableFamily.Errorf("table %s no longer has family %s", table.Name, name)
	}
	settings, err := target.LiveSettings(&table.Families[i])
	if err == nil {
		err = w.Out.Site.Adjust(&settings)
	}
	if err == nil {
		err = settings.Check()
	}
	if err != nil {
		return settings, errcode.HFileSettings.Errorf("table %s, family %s: %w", table.Name, name, err)
	}
	return settings, nil
}

// checkSettings refuses to load files whose family had other settings when they were written.
//
// HBase would accept them: a file carries its own compression and encoding. But a family whose owner changed these would
// silently keep the old ones for these rows, until it is compacted. With nothing left to load there is nothing to refuse.
func (w *Loader) checkSettings(table *load.Table) error {
	if len(w.Out.Manifest.NotLoaded()) == 0 {
		return nil
	}
	for name, written := range w.Out.Manifest.Families {
		live, err := w.liveFamily(table, name)
		if err != nil {
			return err
		}
		if now := jobfile.SettingsText(live); now != written {
			return errcode.TableAltered.Errorf("family %s of table %s was altered after the files were written: the files have %s, the table now has %s; run again with --force to write them again",
				name, table.Name, written, now)
		}
	}
	return nil
}

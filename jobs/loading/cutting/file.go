package cutting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"

	"golang.org/x/sync/errgroup"
)

// fileCutter writes the parts of one file, in one pass over it, with one part open at a time.
type fileCutter struct {
	out      *output.Dir
	of       hfiles.Summary // its path, family, digest and number of rows decide; the rest is passed on to the parts
	measured bool           // its digest and number of rows are known
	at       [][]byte       // the boundaries
	settings hfilewriter.Settings
	stamp    func(*fileCutter) hfilewriter.Provenance // of the next part

	info  hfilewriter.FileInfo // of the file
	parts []*hfiles.File
	open  *hfiles.File
	row   []byte
}

// measureAll measures those files that are not yet measured, several at a time.
func measureAll(ctx context.Context, batch []*fileCutter) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, c := range batch {
		if !c.measured {
			group.Go(func() error { return c.measure(running) })
		}
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
	report, sum, _, err := hfiles.Verify(ctx, in)
	if err != nil {
		return failure.Damagedf("%s has rows of several regions, and is damaged: %w; it was not loaded", c.out.URI(c.of.Path), err)
	}
	c.of.Digest, c.of.Rows, c.measured = sum, report.Rows, true
	return nil
}

// writeParts writes the parts of several files at once. After an error none of them is left.
func writeParts(ctx context.Context, batch []*fileCutter) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, c := range batch {
		group.Go(func() error {
			if err := c.cut(running); err != nil {
				return fmt.Errorf("cut %s at the table's region boundaries: %w", c.out.URI(c.of.Path), err)
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		return nil
	}
	for _, c := range batch {
		err = errors.Join(err, c.abort())
	}
	return err
}

// cut writes the parts under temporary names, or leaves none. If a DataNode fails meanwhile, they are written again.
func (c *fileCutter) cut(ctx context.Context) error {
	boundaries := c.at
	return storage.Rewrite(ctx, func() error {
		c.at = boundaries
		if err := c.cutOnce(ctx); err != nil {
			return errors.Join(err, c.abort())
		}
		return nil
	}, func(err error) { c.out.Options.Warnf("cutting %s again: %v", c.out.URI(c.of.Path), err) })
}

// cutOnce writes the parts, reads them back, and compares them with the file.
func (c *fileCutter) cutOnce(ctx context.Context) error {
	if err := c.write(ctx); err != nil {
		return err
	}
	var sum digest.Sum
	var rows int64
	// Digests are read back from disk, not taken from the writer.
	for _, p := range c.parts {
		if err := p.ReadBack(ctx); err != nil {
			return err
		}
		sum.Add(p.Digest)
		rows += p.Rows
	}
	// The digest does not depend on order or on files, so the sum over the parts must be the file's own.
	if sum != c.of.Digest || rows != c.of.Rows {
		return errcode.Digest.Errorf("the parts hold %d rows and %d cells with digest %v, the file %d and %d with %v",
			rows, sum.Cells, sum, c.of.Rows, c.of.Digest.Cells, c.of.Digest)
	}
	return nil
}

// write copies the file's cells into its parts.
func (c *fileCutter) write(ctx context.Context) (err error) {
	in, err := c.out.FS.Open(path.Join(c.out.Path, c.of.Path))
	if err != nil {
		return err
	}
	// The reader compares each block's checksum, and cut the digests of file and parts: a cell that this loop dropped or
	// doubled ends the cut.
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := hfilewriter.Open(in, in.Size())
	if err != nil {
		return failure.Damagedf("%w", err)
	}
	c.info = r.Info()
	scan := r.Seek(nil)
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
	if tags, sequences := scan.Skipped(); tags || sequences {
		return uncut(c.out.URI(c.of.Path), lostBy(tags, sequences))
	}
	return c.finishPart()
}

// lostBy names what a copy of cells leaves out.
func lostBy(tags, sequences bool) []string {
	var lost []string
	if tags {
		lost = append(lost, "tags")
	}
	if sequences {
		lost = append(lost, "sequence IDs")
	}
	return lost
}

// uncut refuses to cut a file, parts of which would lack something.
func uncut(uri string, lost []string) error {
	return errcode.LoadUncut.Errorf("%s has rows of several regions and can't be cut without a loss of %s: it stays as it is; have HBase's own tool split and load it (hbase completebulkload)",
		uri, strings.Join(lost, " and "))
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
	name := hfiles.PartName(c.of.Path, row)
	summary := hfiles.Summary{Path: path.Join(c.of.Family, name), Family: c.of.Family, Region: c.of.Region, Slice: c.of.Slice, Sequence: c.of.Sequence}
	f, err := hfiles.Create(hfiles.Destination{FS: c.out.FS, Dir: c.out.Path, Temps: c.out.TempFolder}, summary, c.settings, c.stamp(c), new(timing.Clock))
	if err != nil {
		return err
	}
	c.open = f
	return nil
}

func (c *fileCutter) finishPart() error {
	f := c.open
	c.open = nil
	if f == nil {
		return failure.Damagedf("the file has no cells")
	}
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
		errs = append(errs, storage.RemoveIfThere(c.out.FS, p.Temp))
	}
	c.open, c.parts = nil, nil
	return errors.Join(errs...)
}

// record describes the cut.
func (c *fileCutter) record() manifest.Cut {
	record := manifest.Cut{Of: c.of.Path}
	for _, p := range c.parts {
		record.Parts = append(record.Parts, p.Summary)
	}
	return record
}

// nameParts gives the parts their names. Parts under their names are what the next owner of the directory finds:
// without the lock nothing is named.
func nameParts(out *output.Dir, batch []*fileCutter) error {
	if err := out.CheckLock(); err != nil {
		return err
	}
	for _, c := range batch {
		for _, p := range c.parts {
			if err := out.FS.Rename(p.Temp, path.Join(out.Path, p.Path)); err != nil {
				return err
			}
			out.Options.Failpoint.Reached(options.PartNamed)
		}
	}
	return nil
}

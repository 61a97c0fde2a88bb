package cutting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/output"
)

// fileCutter writes the parts of one file, in one pass over it, with one part open at a time.
type fileCutter struct {
	out      *output.Dir
	of       hfiles.FileMeta // the file; parts get its region, slice and sequence, and must add up to its digest and rows
	measured bool            // its digest and number of rows are known
	at       [][]byte        // the boundaries that are still to come
	settings hfilewriter.Settings
	stamp    func(*fileCutter) hfilewriter.Provenance // of the next part

	info  hfilewriter.FileInfo // of the file
	parts []*hfiles.TempFile
	open  *hfiles.TempFile
	row   []byte
}

// openFile opens the file. It was there when this command looked for it.
func (c *fileCutter) openFile() (storage.File, error) {
	in, err := c.out.FS.Open(path.Join(c.out.Path, c.of.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.RunAgain.Errorf("%s is gone since this command found it: a region server that hung "+
			"with an earlier request has most likely taken it; run this again, which asks the table for it: %w",
			c.out.URI(c.of.Path), err)
	}
	return in, err
}

// measure verifies a file whose content is not recorded, and sets its digest and number of rows. A damaged file is not
// cut.
func (c *fileCutter) measure(ctx context.Context) (err error) {
	in, err := c.openFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	report, sum, _, err := hfiles.Verify(ctx, in, nil)
	if err != nil {
		return failure.Damagedf("%s has rows of several regions, and is damaged: %w; it was not loaded",
			c.out.URI(c.of.Path), err)
	}
	c.of.Digest, c.of.Rows, c.measured = sum, report.Rows, true
	return nil
}

// cut writes the parts under temporary names, and leaves none after an error. If a DataNode fails meanwhile, it writes
// them again.
func (c *fileCutter) cut(ctx context.Context) error {
	boundaries := c.at
	err := storage.Rewrite(ctx, func() error {
		c.at = boundaries
		err := c.copyCells(ctx)
		if err == nil {
			err = c.readBack(ctx)
		}
		if err != nil {
			return errors.Join(err, c.abort())
		}
		return nil
	}, func(err error) { c.out.Options.Warnf("cutting %s again: %v", c.out.URI(c.of.Path), err) })
	if err != nil {
		return fmt.Errorf("cut %s at the table's region boundaries: %w", c.out.URI(c.of.Path), err)
	}
	return nil
}

// copyCells copies the file's cells into its parts. The reader compares each block's checksum, and readBack the digests
// of file and parts, so a cell that was dropped or doubled ends the cut.
func (c *fileCutter) copyCells(ctx context.Context) (err error) {
	in, err := c.openFile()
	if err != nil {
		return err
	}
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
		// A part begins only with the first row of another region, so a row's cells are never in two parts.
		next := scan.Cell()
		if newRow := c.open == nil || !bytes.Equal(c.row, next.Row); newRow {
			c.row = append(c.row[:0], next.Row...)
			if c.open == nil || len(c.at) > 0 && bytes.Compare(c.at[0], next.Row) <= 0 {
				if err := c.nextPart(next.Row); err != nil {
					return err
				}
			}
			c.open.CountRow(next.Timestamp)
		}
		if err := c.open.Writer.Append(next); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return failure.Damagedf("%w", err)
	}
	if tags, sequences := scan.Skipped(); tags || sequences {
		var lost []string
		if tags {
			lost = append(lost, "tags")
		}
		if sequences {
			lost = append(lost, "sequence IDs")
		}
		return uncut(c.out.URI(c.of.Path), lost)
	}
	return c.finishPart()
}

// readBack compares the parts with the file. It reads their digests back from disk instead of taking the writer's.
func (c *fileCutter) readBack(ctx context.Context) error {
	var sum digest.Sum
	var rows int64
	for _, p := range c.parts {
		if err := p.ReadBack(ctx); err != nil {
			return err
		}
		sum.Add(p.Digest)
		rows += p.Rows
	}
	// The digest does not depend on order or on files, so the sum over the parts must equal the file's.
	if sum != c.of.Digest || rows != c.of.Rows {
		return errcode.Digest.Errorf("the parts hold %d rows and %d cells with digest %v, the file %d and %d with %v",
			rows, sum.Cells, sum, c.of.Rows, c.of.Digest.Cells, c.of.Digest)
	}
	return nil
}

// uncut refuses to cut a file whose parts would lack something.
func uncut(uri string, lost []string) error {
	return errcode.LoadUncut.Errorf("%s has rows of several regions and can't be cut without a loss of %s: it stays as "+
		"it is; have HBase's own tool split and load it (hbase completebulkload)",
		uri, strings.Join(lost, " and "))
}

// nextPart ends the open part, if there is one, and begins a part with this row.
func (c *fileCutter) nextPart(row []byte) error {
	if c.open != nil {
		if err := c.finishPart(); err != nil {
			return err
		}
	}
	// Several boundaries may lie between two rows. Regions without rows get no part, because HBase loads no empty file.
	for len(c.at) > 0 && bytes.Compare(c.at[0], row) <= 0 {
		c.at = c.at[1:]
	}
	// The name follows from the file and the row, so a repeated cut gives the same names and replaces unrecorded parts of
	// a killed cut.
	name := hfiles.PartName(c.of.Path, row)
	summary := hfiles.FileMeta{Path: path.Join(c.of.Family, name), Family: c.of.Family, Region: c.of.Region,
		Slice: c.of.Slice, Sequence: c.of.Sequence}
	f, err := hfiles.Create(hfiles.Destination{FS: c.out.FS, Dir: c.out.Path, Temps: c.out.TempFolder}, summary,
		c.settings, c.stamp(c), new(timing.Stopwatch))
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

// abort deletes the parts that were written.
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

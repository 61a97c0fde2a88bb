// Package cutting cuts HFiles with rows of several regions at the regions' boundaries, since a file can be loaded into
// one region only. Regions may split while files wait for their load, or while they are loaded.
//
// Files of a run's output (Output) and of a directory that another tool has written (Directory) are cut by the same
// steps. The process may be killed between any two of them:
//
//  1. write the parts under temporary names and read them back; together they must have the file's digest;
//  2. record the cuts;
//  3. rename the parts to their names;
//  4. record that the parts replace the files;
//  5. remove the files, and then the record.
//
// Until step 4 is saved, a killed cut is undone: the file is still there, and the parts are deleted. From then on it is
// completed: the file is removed. So the rows are recorded at all times, and a file is never loaded together with its
// parts: before a load looks at the files, it finishes the cuts of a killed process. The record of step 2 is needed
// because parts that nothing names would be foreign files.
//
// Between steps 3 and 5 files and parts are in the directory. The lock keeps other runs of bulkload away; HBase's own
// loader, which knows no lock, would load the same cells twice, which readers don't see.
package cutting

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"path"
	"slices"

	"bulkload/internal/parallel"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"

	"golang.org/x/sync/errgroup"
)

// record is what the next process knows of cuts in progress.
type record interface {
	recordCuts(cuts []manifest.Cut) error     // step 2
	recordReplaced(cuts []manifest.Cut) error // step 4
	removeFiles(cuts []manifest.Cut) error    // step 5
}

// maxBatches bounds how many records the cut of many files writes.
const maxBatches = 64

// cutBatches are the cutters that share a record. A record for each file would make the cut of many files quadratic;
// one for all of them would need space for all originals and all parts at once.
func cutBatches(cutters []*fileCutter) iter.Seq[[]*fileCutter] {
	return slices.Chunk(cutters, 1+len(cutters)/maxBatches)
}

// cutAll cuts files, batch by batch.
//
// An error after step 2 leaves the record of the cuts, and is not undone here: that is done at the next start, from the
// record alone, as after a kill. Undoing it here would need a second way to decide which of the two exists.
func cutAll(ctx context.Context, out *output.Dir, cutters []*fileCutter, r record) error {
	for batch := range cutBatches(cutters) {
		// Step 1. The files themselves are not touched, and no part is left: an error here costs nothing.
		measuring, running := errgroup.WithContext(ctx)
		measuring.SetLimit(parallel.Workers())
		for _, c := range batch {
			if !c.measured {
				measuring.Go(func() error { return c.measure(running) })
			}
		}
		if err := measuring.Wait(); err != nil {
			return err
		}
		writing, running := errgroup.WithContext(ctx)
		writing.SetLimit(parallel.Workers())
		for _, c := range batch {
			writing.Go(func() error { return c.cut(running) })
		}
		if err := writing.Wait(); err != nil {
			for _, c := range batch {
				err = errors.Join(err, c.abort())
			}
			return err
		}
		// Step 2.
		var cuts []manifest.Cut
		for _, c := range batch {
			cut := manifest.Cut{Of: c.of.Path}
			for _, p := range c.parts {
				cut.Parts = append(cut.Parts, p.FileMeta)
			}
			cuts = append(cuts, cut)
		}
		if err := r.recordCuts(cuts); err != nil {
			return err
		}
		out.Options.Failpoint.Reached(options.Cut)
		// Step 3. Parts under their names are what the next owner of the directory finds: without the lock nothing is named.
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
		// Step 4. After all parts have their names: what replaces a file must exist.
		if err := r.recordReplaced(cuts); err != nil {
			return err
		}
		out.Options.Failpoint.Reached(options.PartsRecorded)
		// Step 5.
		if err := r.removeFiles(cuts); err != nil {
			return err
		}
	}
	switch n := len(cutters); {
	case n == 1:
		out.Options.Infof("1 file spanned region boundaries of the table, and was cut at them")
	case n > 1:
		out.Options.Infof("%d files spanned region boundaries of the table, and were cut at them", n)
	}
	return nil
}

// crossed returns the boundaries between a file's first and last row.
func crossed(first, last []byte, splits [][]byte) [][]byte {
	// A boundary equal to the first row does not cut the file: a region begins with its boundary. Hence the search
	// for the row after the first.
	from, _ := slices.BinarySearchFunc(splits, append(bytes.Clone(first), 0), bytes.Compare)
	to := from
	for to < len(splits) && bytes.Compare(splits[to], last) <= 0 {
		to++
	}
	return splits[from:to]
}

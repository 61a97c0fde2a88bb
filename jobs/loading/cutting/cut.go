// Package cutting cuts HFiles with rows of several regions at the regions' boundaries, because a file can be loaded
// into one region only. Regions may split while files wait for their load, or while they are loaded.
//
// Files of a run's output (OutputCutter) and of a directory that another tool wrote (DirectoryCutter) are cut by the
// same steps. The process may be killed between any two of them:
//
//  1. write the parts under temporary names and read them back; together they must have the file's digest;
//  2. record the cuts;
//  3. rename the parts to their names;
//  4. record that the parts replace the files;
//  5. remove the files, and then the record.
//
// If the process is killed before step 4 is saved, the cut is undone: the file still exists, and the parts are deleted.
// After step 4, the cut is completed: the file is removed. So the rows are recorded at all times. A file is never
// loaded together with its parts, because a load finishes the cuts of a killed process before it looks at the files.
// Step 2 is needed because parts that nothing names would be foreign files.
//
// Between steps 3 and 5, the directory has both files and parts. The lock keeps other runs of bulkload away. HBase's
// own loader, which ignores the lock, would load the same cells twice, which readers don't see.
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

// record tells the next process about cuts in progress.
type record interface {
	recordCuts(cuts []manifest.Cut) error     // step 2
	recordReplaced(cuts []manifest.Cut) error // step 4
	removeFiles(cuts []manifest.Cut) error    // step 5
}

// maxBatches bounds how many records are written when many files are cut.
const maxBatches = 64

// cutBatches divides the cutters into batches that share a record. A record for each file would make the cut of many
// files quadratic, and one for all of them would need space for all originals and all parts at once.
func cutBatches(cutters []*fileCutter) iter.Seq[[]*fileCutter] {
	return slices.Chunk(cutters, 1+len(cutters)/maxBatches)
}

// cutAll cuts files, batch by batch.
//
// After an error beyond step 2, the record of the cuts stays. The next start undoes or completes them from the record
// alone, as after a kill. Doing that here would need a second way to decide whether to keep the file or its parts.
func cutAll(ctx context.Context, out *output.Dir, cutters []*fileCutter, r record) error {
	for batch := range cutBatches(cutters) {
		// Step 1. It does not touch the files, and leaves no part after an error, so an error here costs nothing.
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
		// Step 3. Without the lock nothing is renamed, because the next owner of the directory would find the parts.
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
		// Step 4. It follows once all parts have their names, because what replaces a file must exist.
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
	// A boundary equal to the first row does not cut the file, because a region begins with its boundary. So the search is
	// for the row after the first.
	from, _ := slices.BinarySearchFunc(splits, append(bytes.Clone(first), 0), bytes.Compare)
	to := from
	for to < len(splits) && bytes.Compare(splits[to], last) <= 0 {
		to++
	}
	return splits[from:to]
}

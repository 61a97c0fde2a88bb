package cutting

import (
	"context"
	"fmt"

	"bulkload/hfilewriter"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/targets"
	"bulkload/load"
)

// OutputCutter cuts files of a run's output. The output's manifest has the record of the cuts: it lists a file until it
// lists the parts in its place. After a kill, output.Output.FinishCuts decides which of the two stays.
type OutputCutter struct{ Out *output.Output }

// Cut cuts the unloaded files that have rows of several of the table's current regions.
func (w OutputCutter) Cut(ctx context.Context, table *load.Table) error {
	var cutters []*fileCutter
	splits := table.Splits()
	for _, f := range w.Out.Manifest.Files() {
		// HBase has moved a loaded file away, and splits its own files.
		if f.Loaded {
			continue
		}
		h, err := f.Loadable()
		if err != nil {
			return fmt.Errorf("read the manifest: %w", err)
		}
		at := crossed(h.FirstRow, h.LastRow, splits)
		if len(at) == 0 {
			continue
		}
		settings, err := targets.TableSettings(w.Out.Site, table, f.Family)
		if err != nil {
			return err
		}
		cutters = append(cutters, &fileCutter{out: w.Out.Dir, of: *f, measured: true, at: at,
			settings: settings, stamp: w.stamp})
	}
	return cutAll(ctx, w.Out.Dir, cutters, w)
}

// stamp returns a part's file info that does not follow from its content. It follows from the run, so the same cut
// gives the same bytes.
func (w OutputCutter) stamp(c *fileCutter) hfilewriter.Provenance {
	instant := w.Out.Manifest.Instant()
	return hfilewriter.Provenance{Created: instant, Loaded: instant,
		Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d_part_%02d",
			c.of.Region, c.of.Slice, c.of.Family, c.of.Sequence, len(c.parts))}
}

// recordCuts records the names of parts, so that FinishCuts can delete parts that were renamed before a kill.
func (w OutputCutter) recordCuts(cuts []manifest.Cut) error {
	w.Out.Manifest.Cuts = append(w.Out.Manifest.Cuts, cuts...)
	return w.Out.Save()
}

func (w OutputCutter) recordReplaced(cuts []manifest.Cut) error {
	w.Out.Manifest.ReplaceFiles(cuts)
	return w.Out.Save()
}

func (w OutputCutter) removeFiles([]manifest.Cut) error { return w.Out.FinishCuts() }

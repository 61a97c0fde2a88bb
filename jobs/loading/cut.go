package loading

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/target"
	"bulkload/load"
)

// Regions may split while files wait for their load, or while they are loaded. A file with rows of several regions is
// then cut at all boundaries between its rows. The process may be killed between any two of these steps:
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
//
// Between steps 3 and 5 both are in the output. The lock keeps other runs of bulkload away; HBase's own loader, which
// knows no lock, would load the same cells twice, which readers don't see.

// outputCuts cuts files of a run's output. The manifest has the record of the cuts.
type outputCuts struct{ out *output.Dir }

// cut cuts the unloaded files that have rows of several of the table's current regions.
func (w outputCuts) cut(ctx context.Context, table *load.Table) error {
	var cutters []*fileCutter
	splits := table.Splits()
	for _, f := range w.out.Manifest.Files() {
		// A loaded file was moved away: it has no bytes here, and HBase splits its own files.
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
		settings, err := liveFamily(w.out.Site, table, f.Family)
		if err != nil {
			return err
		}
		cutters = append(cutters, &fileCutter{out: w.out, of: *f, at: at, settings: settings, stamp: w.stamp})
	}
	for batch := range cutBatches(cutters) {
		if err := w.batch(ctx, batch); err != nil {
			return err
		}
	}
	noteCuts(w.out, len(cutters))
	return nil
}

// cutBatches are the cutters that share a record. A record for each file would make the cut of many files quadratic;
// one for all of them would need space for all originals and all parts at once.
func cutBatches(cutters []*fileCutter) iter.Seq[[]*fileCutter] {
	return slices.Chunk(cutters, 1+len(cutters)/maxSaves)
}

func noteCuts(out *output.Dir, n int) {
	if n > 0 {
		out.Options.Infof("%d files had rows of several regions, because the table has other regions than they were written for: they were cut", n)
	}
}

// stamp is what the file info of a part says, besides its content. It follows from the run, so the same cut gives
// the same bytes.
func (w outputCuts) stamp(c *fileCutter) hfilewriter.Provenance {
	instant := w.out.Manifest.Instant()
	return hfilewriter.Provenance{Created: instant, Loaded: instant, Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d_part_%02d",
		c.of.Region, c.of.Slice, c.of.Family, c.of.Sequence, len(c.parts))}
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

// batch performs all steps for some files.
//
// An error after step 2 leaves the record of the cuts, and is not undone here: FinishCuts does that at the next start,
// from the manifest alone, as after a kill. Undoing it here would need a second way to decide which of the two exists.
func (w outputCuts) batch(ctx context.Context, batch []*fileCutter) error {
	// Step 1. The files themselves are not touched: an error here costs nothing.
	if err := writeParts(ctx, batch); err != nil {
		return err
	}
	var records []manifest.Cut
	for _, c := range batch {
		records = append(records, c.record())
	}
	// Step 2. From here on the parts' names are known, and FinishCuts deletes parts that were renamed in vain.
	w.out.Manifest.Cuts = append(w.out.Manifest.Cuts, records...)
	if err := w.out.Save(); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.Cut)
	// Step 3.
	if err := nameParts(w.out, batch); err != nil {
		return err
	}
	// Step 4, after all parts have their names: the manifest must not list a file that does not exist.
	w.out.Manifest.ReplaceFiles(records)
	if err := w.out.Save(); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.PartsRecorded)
	return w.out.FinishCuts()
}

// liveFamily returns the settings that files of a family have now.
func liveFamily(s *site.Site, table *load.Table, name string) (hfilewriter.Settings, error) {
	i := slices.IndexFunc(table.Families, func(f load.Family) bool { return f.Name == name })
	if i < 0 {
		return hfilewriter.Settings{}, errcode.TableFamily.Errorf("table %s no longer has family %s", table.Name, name)
	}
	settings, err := target.LiveSettings(&table.Families[i])
	if err == nil {
		err = s.Adjust(&settings)
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
// HBase would accept them: a file carries its own compression and encoding. But a family whose owner changed these
// would silently keep the old ones for these rows, until it is compacted. With nothing left to load there is nothing to
// refuse.
func checkSettings(out *output.Dir, table *load.Table) error {
	if len(out.Manifest.NotLoaded()) == 0 {
		return nil
	}
	for name, written := range out.Manifest.Families {
		live, err := liveFamily(out.Site, table, name)
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

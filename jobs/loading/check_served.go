package loading

import (
	"context"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/hfile"
	"bulkload/jobs/manifest"
	"bulkload/load"
)

// CheckServed checks that the table serves the files that were loaded into it: all of them or, if nothing hints at a
// change of the table, one in each region. If rows can't be read it is an error: only a person knows why they are
// gone.
//
// It changes nothing, in the table or in the manifest: rows may have been deleted on purpose, and a command that has
// nothing to do must not bring them back.
func (w *Loader) CheckServed(ctx context.Context, name string) error {
	if err := w.CheckLeftOut(ctx); err != nil {
		return err
	}
	loaded, err := w.Out.Manifest.Hfiles(w.Out.FS, w.Out.Path, func(f *hfile.Summary) bool { return f.Loaded })
	if err != nil || len(loaded) == 0 {
		return err
	}
	// Without a finished load there is no identity to compare: all files are probed.
	identity := ""
	if w.Out.Manifest.State == manifest.Loaded {
		identity = w.Out.Manifest.Table
	}
	return w.probeServed(ctx, name, identity, loaded)
}

// oneOfEachRegion selects one file in each region.
//
// It relies on an unchanged identity: the table was neither created again nor split. What else may have happened, such as
// a region that was truncated, concerns whole regions. One file of each proves less than all, in much less time.
func oneOfEachRegion(files []load.HFile, table *load.Table) []load.HFile {
	splits := table.Splits()
	seen := map[int]bool{}
	return slices.DeleteFunc(slices.Clone(files), func(f load.HFile) bool {
		region := regionOf(splits, f.FirstRow)
		again := seen[region]
		seen[region] = true
		return again
	})
}

// Why a table may lack rows that were loaded, by what comparing its identity has shown.
const (
	lostSomehow   = "Most likely the table was truncated, created again or restored after the load, or the rows were deleted"
	lostByChange  = "The table was changed after the load: created again, truncated, restored, split, or disabled and enabled"
	lostUnchanged = "The table was neither created again nor truncated as a whole after the load: most likely rows were deleted, " +
		"a region was truncated, or the table was restored from a snapshot"
)

// lostHow tells how a table may have lost rows. Its identity after the load is "" if it is not known.
func lostHow(table *load.Table, identity string) string {
	switch identity {
	case "":
		return lostSomehow
	case table.Identity():
		return lostUnchanged
	}
	return lostByChange
}

// refuseUnreadable refuses files whose rows can't be read in the table now. how says how they may have been lost.
func (w *Loader) refuseUnreadable(table string, findings []load.Finding, how string) error {
	all := len(findings)
	// Superseded cells are no loss: newer versions of them are there.
	lost := slices.DeleteFunc(findings, func(f load.Finding) bool { return f.Serving.Readable() })
	if len(lost) == 0 {
		return nil
	}
	return errcode.LoadLost.Errorf("table %s does not serve %d of %d files: %s. %s", table, len(lost), all, lost[0].String(), adviceFor(lost[0].Serving, how))
}

// adviceFor is the advice for rows that can't be read.
func adviceFor(s load.Serving, how string) string {
	switch s {
	case load.Deleted:
		return "Rows were deleted in the table. The delete marker hides everything with these timestamps until a major compaction removes it; after that, --force loads the rows again"
	case load.Expired:
		return "The family's TTL hides them; only a longer TTL makes them readable"
	}
	return how + ". --force writes and loads them again. If another load has written them with the same timestamps, --force would undo that"
}

// refuseServedBefore refuses, for a table that may be another one by now, to rely on cells that were there before the
// load: a snapshot of that time has them too.
func refuseServedBefore(table string, files []load.HFile) error {
	known := slices.IndexFunc(files, func(f load.HFile) bool { return f.ServedBefore })
	if known < 0 {
		return nil
	}
	return errcode.LoadUnsure.Errorf("table %s was changed after the load (created again, restored, disabled or split), and it already had cells like the first and last ones of %s before that load, so it is not certain that the table still has this load: compare it with bulkload verify --live, or write and load again with --force",
		table, files[known].URI)
}

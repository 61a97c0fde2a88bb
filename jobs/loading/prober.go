package loading

import (
	"context"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/options"
	"bulkload/jobs/progress"
	"bulkload/jobs/site"
	"bulkload/load"
)

// prober asks a table whether it serves files.
type prober struct {
	cluster *load.Cluster
	options options.Options
}

// watchProbes begins to count the files that the table is asked for, as a part of the load between two shares of it.
func watchProbes(o options.Options, files int, from, to float64) func(int) {
	probes := progress.NewCounter(progress.Within(o.Watch, from, to), "probe", int64(files), "files")
	return func(n int) { probes.Add(int64(n)) }
}

// probeAndReopen probes files, for which the progress of the load goes from one share to another. Regions that do not
// serve what they took are opened again.
//
// An error says nothing about the files: they may be served or not, and the state stays Loading. A *load.LostError is
// the exception: its files are not served even after their regions were opened again, or these could not be.
func (p prober) probeAndReopen(ctx context.Context, t *load.Table, files []load.HFile, from, to float64) ([]load.Finding, error) {
	table := t.Name
	findings, err := p.cluster.ProbeTable(ctx, t, files, watchProbes(p.options, len(files), from, to))
	if err != nil {
		return nil, err
	}
	// Only missing files: cells that are deleted, expired or superseded are explained, and opening a region again
	// would not bring them back.
	missing := slices.DeleteFunc(slices.Clone(findings), func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(missing) == 0 {
		return findings, nil
	}
	p.options.Warnf("table %s does not serve %d of %d files, such as %s: opening their regions again", table, len(missing), len(files), missing[0].URI)
	if missing, err = p.cluster.ReopenAndProbe(ctx, table, missing); err != nil {
		return nil, err
	}
	lost := slices.DeleteFunc(missing, func(f load.Finding) bool { return f.Serving != load.Missing })
	if len(lost) > 0 {
		return nil, &load.LostError{Table: table, Files: lost}
	}
	// All files again: the reopened regions may serve others now, too.
	return p.cluster.Probe(ctx, table, files)
}

// checkServed probes files that were loaded earlier: all of them, or one in each region if the table's identity is
// unchanged.
func (p prober) checkServed(ctx context.Context, name, identity string, files []load.HFile) error {
	table, err := site.LookUp(ctx, p.cluster, name)
	if err != nil {
		return err
	}
	asked, same := slices.Clone(files), identity != "" && identity == table.Identity()
	if same {
		asked = oneOfEachRegion(files, table)
	}
	findings, err := p.cluster.ProbeTable(ctx, table, asked, watchProbes(p.options, len(asked), 0, 1))
	if err == nil {
		err = refuseUnreadable(name, findings, lostHow(table, identity))
	}
	if err == nil && !same {
		err = refuseServedBefore(name, files)
	}
	return err
}

// oneOfEachRegion selects one file in each region.
//
// It relies on an unchanged identity: the table was neither created again nor split. What else may have happened, such
// as a region that was truncated, concerns whole regions. One file of each proves less than all, in much less time.
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

// lostHow says how a table may have lost rows. Its identity after the load is "" if it is not known.
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
func refuseUnreadable(table string, findings []load.Finding, how string) error {
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

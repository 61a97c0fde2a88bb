package loading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/internal/printable"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// proof decides whether the files of a load are readable in their table now. Every command that ends with 0 asks it:
// after a load, if nothing is left to do, if the ledger says that a load was done, for an input that was archived, and
// for a directory.
//
// It compares the table with what the load recorded, and asks the table for cells of the files:
//
//   - A file is unchanged if the table's identity and the openings of the file's regions are the recorded ones. Then
//     only the family's TTL or a client's delete can have hidden its rows, so it is enough if the table returns its
//     first and last cells, or newer versions of them. Of the unchanged files, only one in each region and family is
//     looked up.
//   - Otherwise a region may have been truncated, the family may have been removed and added again, or the table may be
//     another one. Then cells that were there before the load, and newer versions, prove nothing, because later loads
//     may have put them there. In each region that may hold rows of the file, the table must return one of the file's
//     cells that was not there before, and the region must be one of those that had the file, or come from one of them
//     only by splits: any other may be a merge of one that was truncated and one that was not. Even that proves
//     nothing if, according to the ledger, a later load may have had equal cells. If the table's state was written
//     since (it was created again, truncated, restored, or disabled and enabled), it also proves nothing if an earlier
//     load may have had them, because a snapshot may have brought them back.
//   - If the known cells can't decide, the table is asked for all rows of the run in these regions (AskRows). If
//     those are not known, the error is errcode.LoadUnsure, because only a person can decide.
//
// It does not notice single rows that a client has deleted, because no region is opened for that. bulkload verify finds
// them.
type proof struct {
	cluster *load.Cluster
	options options.Options
	rows    AskRows // nil if the rows are not known: for a directory, or if the input is gone
	compare string  // how to find out whether the table has the files' rows, for people
	again   string  // how to load the files again, for people
	// rewrite: files that the known cells can't prove are written again (*unprovenError), since others are not loaded yet.
	rewrite bool
}

// unprovenError lists files that nothing proves. Writing and loading them again does no harm if the table has them.
type unprovenError struct {
	lost *load.LostError
	why  string
}

func (e *unprovenError) Error() string { return e.why }

// missingError says that the table was asked for all rows of a load in some ranges, and lacks some. The files with
// these rows can't appear later, because a region that was opened after it took a file knows the file.
type missingError struct {
	*load.LostError
	ranges []load.RowRange
}

// Unwrap returns the error for callers that need not know the ranges.
func (e *missingError) Unwrap() error { return e.LostError }

// claim is what a load has recorded: its files, and the table that had them.
type claim struct {
	table    string
	identity string       // load.Table's; "" if it was not recorded
	repeated bool         // an earlier load of the same job and date may have had equal cells
	files    []load.HFile // with their openings
	// missing are ranges, in order, in which the table lacked rows of the load, or may have. The files with these rows
	// were written and loaded again since, but what hid the rows, such as a client's delete marker, may still hide them.
	// So no known cell proves anything there.
	missing []load.RowRange
	// others reports whether, according to the ledger, another load may have had equal cells; with later, only loads that
	// may have ended after this one count. nil: none had. It reads all ledger entries of the table, so it is called only
	// if a region was opened since.
	others func(later bool) (bool, error)
}

// AskRows asks the table for all rows of a run in some ranges, which are in order.
type AskRows func(ctx context.Context, ranges []load.RowRange) (RowsFound, error)

// RowsFound says how many rows of a run were looked up, and how many of their cells the table lacks.
type RowsFound struct {
	Rows    int64  // of the run in the ranges
	Missing int64  // their cells that a reader finds neither as loaded nor in a newer version
	Example string // the first of them, for people
}

// verdict is what the table's answers show about the files of a claim.
type verdict struct {
	table *load.Table        // as it was while it was asked
	files []load.HFile       // that were asked for
	bad   []load.ProbeResult // files whose rows can't be read
	gaps  []gap              // what the known cells can't decide
	// ambiguous: cells that equal a file's may be those of another load that came after this one, or that a snapshot has
	// brought back.
	ambiguous bool
}

// gap is a part of a file's rows, in one region, that no known cell proves.
type gap struct {
	file   load.ProbeResult
	rows   load.RowRange
	reason string // for people
}

// maxLooks bounds how often the table is asked again because it has changed meanwhile. With the growing pauses, that
// takes about a minute and a half.
const maxLooks = 20

// lookPause is how much longer each pause is than the one before.
const lookPause = 500 * time.Millisecond

// look asks the table for the files of a claim: with every, for all of them; otherwise for all changed files, and one
// unchanged file in each region and family. Progress advances from from to to.
//
// It looks up the table's regions before and after the reads. The answers count only if nothing was opened in between,
// because a table that is restored right after the reads has other cells.
func (p proof) look(ctx context.Context, c claim, every bool, from, to float64) (*verdict, error) {
	lookUp := site.LookUp
	if every { // after a load, which is not given up because a master dies right then
		lookUp = site.LookUpThrough
	}
	table, err := lookUp(ctx, p.cluster, c.table)
	if err != nil {
		return nil, err
	}
	type answer struct {
		opening string
		load.ProbeResult
	}
	known := map[string]answer{} // by URI
	for looks := 0; ; looks++ {
		chosen := c.choose(table, every)
		var asked []load.HFile
		for _, f := range chosen {
			if known[f.URI].opening != table.OpeningsOf(&f) {
				asked = append(asked, f)
			}
		}
		findings, err := p.cluster.ProbeTable(ctx, table, asked, watchProbes(p.options, len(asked), from, to))
		if err != nil {
			return nil, err
		}
		for _, f := range findings {
			known[f.URI] = answer{table.OpeningsOf(&f.HFile), f}
		}
		now, err := lookUp(ctx, p.cluster, c.table)
		if err != nil {
			return nil, err
		}
		if !changed(table, now, chosen) {
			v := &verdict{table: now, files: chosen}
			if v.ambiguous, err = c.ambiguous(now, chosen); err != nil {
				return nil, err
			}
			for _, f := range chosen {
				v.add(c, known[f.URI].ProbeResult)
			}
			v.addExpired(c)
			return v, nil
		}
		if looks == maxLooks {
			return nil, errcode.HBaseRegion.Errorf("%w: regions of table %s moved each time the files' rows were read: run "+
				"this again when they no longer move",
				load.ErrUnavailable, c.table)
		}
		if now.Identity() != table.Identity() {
			clear(known)
		}
		table = now
		if err := pause.For(ctx, time.Duration(looks)*lookPause); err != nil {
			return nil, err
		}
	}
}

// changed reports whether, between two looks, the table was replaced, or a region with rows of the files was replaced
// or opened again.
func changed(before, after *load.Table, files []load.HFile) bool {
	return before.Identity() != after.Identity() ||
		slices.ContainsFunc(files, func(f load.HFile) bool { return before.OpeningsOf(&f) != after.OpeningsOf(&f) })
}

// unchanged reports whether the table and the openings of the file's regions are still those that the load recorded.
func (c *claim) unchanged(t *load.Table, f *load.HFile) bool {
	return c.identity != "" && c.identity == t.Identity() && f.Opening == t.OpeningsOf(f)
}

// ambiguous reports whether cells that equal those of the files may be another load's. An earlier load's cells can only
// have come back with the whole table, because a truncated region or a removed family has none of them.
func (c *claim) ambiguous(t *load.Table, files []load.HFile) (bool, error) {
	another := c.identity != t.Identity()
	switch {
	case another && c.repeated:
		return true, nil
	case c.others == nil, !slices.ContainsFunc(files, func(f load.HFile) bool { return !c.unchanged(t, &f) }):
		return false, nil
	}
	return c.others(!another)
}

// choose selects the files that are looked up, and their cells. For an unchanged file in one region, the first and last
// cells are enough.
func (c *claim) choose(t *load.Table, every bool) (chosen []load.HFile) {
	type place struct{ family, region string }
	seen := map[place]bool{}
	for _, f := range c.files {
		if c.unchanged(t, &f) {
			if n := len(f.Probes); n > 2 && len(t.Overlapping(f.FirstRow, f.LastRow)) == 1 {
				f.Probes = []load.Probe{f.Probes[0], f.Probes[n-1]}
			}
			wanted := every || c.asksAll(f.Rows())
			for _, p := range f.Probes { // several regions may share the file, if one split before the load was recorded
				at := place{f.Family, string(t.Overlapping(p.Row, p.Row)[0].Name)}
				wanted, seen[at] = wanted || !seen[at], true
			}
			if !wanted {
				continue
			}
		}
		chosen = append(chosen, f)
	}
	return chosen
}

// asksAll reports whether all rows in a range are to be asked for.
func (c *claim) asksAll(rows load.RowRange) bool {
	return slices.ContainsFunc(c.missing, func(m load.RowRange) bool { return overlap(m, rows) })
}

func overlap(a, b load.RowRange) bool {
	return bytes.Compare(a.First, b.Last) <= 0 && bytes.Compare(b.First, a.Last) <= 0
}

// add evaluates what the table returned for one file.
func (v *verdict) add(c claim, f load.ProbeResult) {
	if !f.Serving.Readable() {
		v.bad = append(v.bad, f)
		return
	}
	unchanged := c.unchanged(v.table, &f.HFile)
	for _, r := range v.table.Overlapping(f.FirstRow, f.LastRow) {
		proven, asked, whole := unchanged, false, r.CameFrom(f.Opening)
		for i := range f.Probes {
			isHere := bytes.Equal(f.Answers[i].Region, r.Name)
			asked = asked || isHere
			proven = proven || whole && !v.ambiguous && f.Proves(i) && isHere
		}
		rows := f.Rows()
		if bytes.Compare(r.Start, rows.First) > 0 {
			rows.First = r.Start
		}
		if len(r.End) > 0 && bytes.Compare(r.End, rows.Last) < 0 {
			rows.Last = r.End // one row too many, because a RowRange can't end before a row
		}
		switch {
		case c.asksAll(rows):
			v.gaps = append(v.gaps, gap{f, rows, fmt.Sprintf("file %s was loaded into table %s once more, and rows that a "+
				"client may have deleted would stay hidden", f.URI, c.table)})
		case !proven && !whole:
			v.gaps = append(v.gaps, gap{f, rows, fmt.Sprintf("%s of table %s was merged since file %s was loaded, or split "+
				"from one that hbase:meta no longer has, so each cell that is known of the file proves only its own row",
				&r, c.table, f.URI)})
		case !proven && f.OnlyMarkers():
			v.gaps = append(v.gaps, gap{f, rows, fmt.Sprintf("%s of table %s was opened again after file %s was loaded, of "+
				"which only delete markers are known, and a major compaction removes those",
				&r, c.table, f.URI)})
		case !proven && !asked:
			v.gaps = append(v.gaps, gap{f, rows, fmt.Sprintf("%s of table %s was opened again after file %s was loaded, and "+
				"none of the cells that are known of the file lie in that region",
				&r, c.table, f.URI)})
		case !proven:
			v.gaps = append(v.gaps, gap{f, rows, fmt.Sprintf("%s of table %s was opened again after file %s was loaded, and "+
				"the cells of the file that it returns were there before, may be another load's, or are hidden by newer ones",
				&r, c.table, f.URI)})
		}
	}
}

// addExpired adds the files whose oldest cells are older than the family's TTL. The probes may not include those cells.
func (v *verdict) addExpired(c claim) {
	known := map[string]bool{} // by URI
	for i := range v.bad {
		known[v.bad[i].URI] = true
	}
	for i := range c.files {
		if finding, expired := v.table.Expired(&c.files[i], time.Now().UnixMilli()); expired && !known[finding.URI] {
			v.bad = append(v.bad, finding)
		}
	}
}

// check returns an error unless all files of a claim are readable. It changes neither the table nor the records: rows
// may have been deleted on purpose, and a command that has nothing to do must not bring them back.
func (p proof) check(ctx context.Context, c claim) error {
	answered := map[string]bool{}
	for looks := 1; ; looks++ {
		v, err := p.look(ctx, c, false, 0, 1)
		if err != nil {
			return err
		}
		if len(v.bad) > 0 {
			return p.lost(c, v.table, v.bad, len(v.files))
		}
		err = p.close(ctx, c, v, answered)
		var missing *missingError
		switch {
		case errors.As(err, &missing):
			return p.lost(c, v.table, missing.Files, len(c.files))
		case !errors.Is(err, errMoved) || looks == maxRowLooks:
			return err
		}
	}
}

// maxRowLooks bounds how often a table is asked again because regions moved while it was asked for all rows of the run.
const maxRowLooks = 5

// errMoved says that a region was opened again while the table was asked for all rows of the run in it.
var errMoved = errors.New("opened again meanwhile")

// confirm is check for files that HBase has just taken, and returns the table that serves them. It asks for each file.
// It opens regions again that do not serve what they took. If that does not help, the error is a *load.LostError, and
// these files must be written again. If the table lacks rows of the files, the error is also a *missingError, or
// errcode.LoadLost if the files were written again before. If files go missing later, while rows are looked up, it is
// errcode.LoadLost, too, because somebody has changed the table meanwhile.
//
// After any other error, the files may or may not be served.
func (p proof) confirm(ctx context.Context, c claim, from, to float64) (*load.Table, error) {
	v, err := p.look(ctx, c, true, from, to)
	if err != nil {
		return nil, err
	}
	// Opening a region again can't bring back cells that are deleted or expired.
	if missing := onlyMissing(v.bad); len(missing) > 0 {
		p.options.Warnf("%d of %s can't be read in table %s, for example %s: opening their regions again", len(missing),
			jobfile.Plural(len(v.files), "loaded file"), c.table, missing[0].URI)
		if missing, err = p.cluster.ReopenAndProbe(ctx, c.table, missing); err != nil {
			return nil, err
		}
		if lost := onlyMissing(missing); len(lost) > 0 {
			return nil, &load.LostError{Table: c.table, Files: lost}
		}
		// All files are looked up again, because the regions that were opened may now serve others, too.
		if v, err = p.look(ctx, c, true, to, to); err != nil {
			return nil, err
		}
		if lost := onlyMissing(v.bad); len(lost) > 0 {
			return nil, &load.LostError{Table: c.table, Files: lost}
		}
	}
	answered := map[string]bool{}
	for looks := 1; ; looks++ {
		if len(v.bad) > 0 {
			return nil, p.lost(c, v.table, v.bad, len(v.files))
		}
		err := p.close(ctx, c, v, answered)
		if !errors.Is(err, errMoved) || looks == maxRowLooks {
			return v.table, err
		}
		if v, err = p.look(ctx, c, true, to, to); err != nil {
			return nil, err
		}
	}
}

// onlyMissing selects the files whose rows are missing without a reason that the table shows.
func onlyMissing(all []load.ProbeResult) []load.ProbeResult {
	return slices.DeleteFunc(slices.Clone(all), func(f load.ProbeResult) bool { return f.Serving != load.Missing })
}

// close asks the table for all rows of the run where the known cells could not decide. The error is a *missingError if
// the table lacks some. The rows may take hours to look up, so afterwards it checks that no region of any file was
// opened again meanwhile (errMoved). answered has the gaps that earlier calls have closed, by file and openings.
func (p proof) close(ctx context.Context, c claim, v *verdict, answered map[string]bool) error {
	key := func(g gap) string {
		return fmt.Sprintf("%s %s %q", g.file.URI, v.table.OpeningsOf(&g.file.HFile), g.rows.First)
	}
	v.gaps = slices.DeleteFunc(v.gaps, func(g gap) bool { return answered[key(g)] })
	if len(v.gaps) == 0 {
		return nil
	}
	why := v.gaps[0].reason
	if p.rewrite {
		lost := &load.LostError{Table: c.table}
		for _, g := range v.gaps {
			g.file.Why = g.reason
			lost.Files = append(lost.Files, g.file)
		}
		return &unprovenError{lost, why}
	}
	if p.rows == nil {
		return errcode.LoadUnsure.Errorf("%s: so it is not certain that the table still has the rows of %s; %s; %s",
			why, jobfile.Plural(len(v.gaps), "file"), p.compare, p.again)
	}
	ranges := rangesOf(v.gaps)
	p.options.Infof("%s: reading the input again, to ask the table for all rows of the run in %s", why,
		jobfile.Plural(len(ranges), "range"))
	found, err := p.rows(ctx, ranges)
	if err != nil {
		return fmt.Errorf("%s, and asking for all rows of the run there failed: %w", why, err)
	}
	p.options.Infof("table %s was asked for %s of the run: %s missing", c.table, jobfile.Plural(int(found.Rows), "row"),
		jobfile.Plural(int(found.Missing), "cell"))
	if found.Missing > 0 {
		missing := jobfile.Plural(int(found.Missing), "cell")
		if slices.ContainsFunc(ranges, c.asksAll) {
			return errcode.LoadLost.Errorf("table %s lacks %s of the rows that were written and loaded again, such as %s: most "+
				"likely delete markers or cells of other clients hide them, or the table lost rows again. A major compaction "+
				"removes markers with what they hide; after that, %s", c.table, missing, found.Example, p.again)
		}
		// The rows were looked up in all families, so any file with rows in these ranges may have had the missing ones.
		lost := &load.LostError{Table: c.table}
		for _, f := range c.files {
			rows := f.Rows()
			i := slices.IndexFunc(ranges, func(r load.RowRange) bool { return overlap(r, rows) })
			if i < 0 {
				continue
			}
			region := fmt.Sprintf("rows %s to %s", printable.Bytes(ranges[i].First), printable.Bytes(ranges[i].Last))
			lost.Files = append(lost.Files, load.ProbeResult{HFile: f, Serving: load.Missing, Region: region,
				Why: fmt.Sprintf("of the run's rows there, %s missing, such as %s", missing, found.Example)})
		}
		return &missingError{lost, ranges}
	}
	now, err := site.LookUp(ctx, p.cluster, c.table)
	if err != nil {
		return err
	}
	for _, g := range v.gaps {
		answered[key(g)] = !changed(v.table, now, []load.HFile{g.file.HFile})
	}
	if changed(v.table, now, v.files) {
		return errcode.HBaseRegion.Errorf(
			"%w: a region of table %s, which was asked for all rows of the run in %s, was %w: run this again",
			load.ErrUnavailable, c.table, jobfile.Plural(len(ranges), "range"), errMoved)
	}
	return nil
}

// rangesOf returns the rows of gaps as ranges in order, without overlaps.
func rangesOf(gaps []gap) (ranges []load.RowRange) {
	sorted := slices.SortedFunc(slices.Values(gaps),
		func(a, b gap) int { return bytes.Compare(a.rows.First, b.rows.First) })
	for _, g := range sorted {
		if n := len(ranges); n > 0 && bytes.Compare(g.rows.First, ranges[n-1].Last) <= 0 {
			if bytes.Compare(g.rows.Last, ranges[n-1].Last) > 0 {
				ranges[n-1].Last = g.rows.Last
			}
			continue
		}
		ranges = append(ranges, g.rows)
	}
	return ranges
}

// watchProbes begins to report the progress of probing files, between two shares of the load. The function that it
// returns counts files that were probed.
func watchProbes(o options.Options, files int, from, to float64) func(int) {
	probes := options.NewCounter(options.Within(o.Watch, from, to), "probe", int64(files), "files")
	return func(n int) { probes.Add(int64(n)) }
}

// lost returns the error for files whose rows can't be read in the table now; of is the number of files that were
// looked up. It says what to do, and why the table may lack the rows, as far as its identity shows that.
func (p proof) lost(c claim, table *load.Table, lost []load.ProbeResult, of int) error {
	advice := "Most likely the table was truncated, created again or restored after the load, or the rows were " +
		"deleted; " + p.again
	switch {
	case lost[0].Serving == load.Deleted:
		advice = "Rows were deleted in the table. The delete marker hides everything with these timestamps until a major " +
			"compaction removes it; after that, " + p.again
	case lost[0].Serving == load.Expired:
		advice = "The family's TTL hides them; only a longer TTL makes them readable"
	case c.identity == "": // it was not recorded
	case c.identity == table.Identity():
		advice = "The table was neither created again nor truncated as a whole after the load: most likely a region was " +
			"truncated, a family was removed and added again, or rows were deleted, which stay hidden until a major " +
			"compaction; " + p.again
	default:
		advice = "The table was changed after the load: created again, truncated, restored, or disabled and " +
			"enabled; " + p.again
	}
	return errcode.LoadLost.Errorf("%d of %s can no longer be read in table %s, for example %s. %s",
		len(lost), jobfile.Plural(of, "loaded file"), c.table, lost[0].String(), advice)
}

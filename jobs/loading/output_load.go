package loading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading/cutting"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// OutputLoad is the load of a run's output, from its turn on. Recover, Load and Confirm are called in this order, and
// End in any case. The manifest records where each file is.
type OutputLoad struct {
	loader   *Loader
	out      *output.Output
	cluster  *load.Cluster
	record   *outputRecord
	lost     lostFiles
	cuts     cutting.OutputCutter
	requests *requests
}

func newOutputLoad(l *Loader, held *lock.Turn) *OutputLoad {
	return &OutputLoad{
		loader:   l,
		out:      l.Out,
		cluster:  l.Cluster,
		record:   &outputRecord{out: l.Out, ledger: l.Ledger, turn: held},
		lost:     lostFiles{l.Ledger, l.Cluster, l.Out.Dir},
		cuts:     cutting.OutputCutter{Out: l.Out},
		requests: &requests{out: l.Out.Dir, turn: held},
	}
}

// End lets the next load begin.
func (l *OutputLoad) End() error { return l.requests.turn.Release() }

// Recover determines what happened to files that an interrupted load left in doubt.
//
// It must come before anything else is done with the files: before a second load, which would miss a file in staging,
// and before files are deleted or written again, because rows might then be in the table twice or not at all.
// Afterwards each file is at its source, or recorded as loaded.
func (l *OutputLoad) Recover(ctx context.Context) error {
	// A file and its parts must not exist together when recover looks up every recorded file.
	if err := l.out.FinishCuts(); err != nil {
		return err
	}
	return l.recover(ctx)
}

// maxCuts bounds how often regions may split during a load.
const maxCuts = 10

// Load loads the manifest's files that the table lacks, and records each file that HBase accepts. The table may still
// not serve it. Load first cuts files with rows of several regions, and does so again if regions split meanwhile.
//
// The order of the steps decides what a kill costs. Ledger and manifest say "loading" before the first request, and the
// manifest names the staging folder before a file can be in it. So the next process knows where to look for each file.
// Only Confirm writes "loaded", after every file was probed, because HBase's word alone does not suffice.
func (l *OutputLoad) Load(ctx context.Context) (*load.Report, error) {
	table, err := l.check(ctx)
	if err != nil {
		return nil, err
	}
	repeats, err := l.repeats()
	if err != nil {
		return nil, err
	}
	if err := l.askAllAgain(); err != nil {
		return nil, err
	}
	if err := l.record.begin(table, repeats); err != nil {
		return nil, err
	}
	// From here on the manifest on disk says "loading", so requests may follow.
	report := &load.Report{}
	l.requests.begin(len(l.out.Manifest.NotLoaded()))
	// Each pass looks up the table again, because the boundaries to cut at and the family settings must be those of the
	// regions that get the files.
	for cuts := 0; len(l.out.Manifest.NotLoaded()) > 0; cuts++ {
		if table, err = site.LookUp(ctx, l.cluster, l.table()); err != nil {
			break
		}
		if err = checkSettings(l.out, table); err != nil {
			break
		}
		if err = l.cuts.Cut(ctx, table); err != nil {
			break
		}
		// This sets the openings of the files that this pass loads; the hooks save them before the first request. A region
		// that is opened after that may lose what it took.
		if err = l.out.Manifest.SetOpenings(table, func(f *hfiles.FileMeta) bool { return !f.Loaded }); err != nil {
			break
		}
		var files []load.HFile
		if files, err = l.out.Manifest.Unloaded(l.out.FS, l.out.Path); err != nil {
			break
		}
		var one *load.Report
		hooks := l.requests.hooks(len(files), l.record.hooks(len(files)))
		hooks.Folder = l.out.Manifest.Staging
		one, err = l.cluster.LoadFrom(ctx, l.out.FS, table.Name, files, hooks)
		report.Add(one)
		// Save which files are loaded, whatever LoadFrom returned: its error must not hide files that the table has.
		if failed := l.record.saveLoaded(); failed != nil {
			err = errors.Join(err, failed)
			break
		}
		if err == nil || !errors.Is(err, load.ErrStraddles) {
			break
		}
		if cuts == maxCuts {
			err = stillSplitting(table.Name)
			break
		}
		// A region split during the load. Before the next pass every file must be at its source again or recorded as
		// loaded: cutting a file that HBase still holds would put its rows into the table twice.
		if err = l.recover(ctx); err != nil {
			return report, err // recover has described it, and recorded lost files
		}
	}
	if err != nil {
		return report, l.describeFailure(ctx, err)
	}
	// Files that are left without an error would be a bug of this program. An error is better than a table that lacks
	// rows.
	if missing := l.out.Manifest.NotLoaded(); missing != nil {
		return report, errcode.LoadIncomplete.Errorf("%s: the table lacks %s after the load",
			l.out.FS.URI(l.out.Path), failure.FirstFew(missing))
	}
	return report, nil
}

// Confirm ends a load. The manifest says that it is loaded only if the table serves every file, so that every row is
// readable.
func (l *OutputLoad) Confirm(ctx context.Context) error {
	c, err := l.loader.claim(l.out.Manifest.Files())
	if err != nil {
		return err
	}
	// After an error the state on disk stays Loading, so the next command probes again, whatever a person did to the table
	// meanwhile.
	table, err := l.loader.proof().confirm(ctx, c, loadsShare, 1)
	if err != nil {
		return l.describeFailure(ctx, err)
	}
	return l.record.end(table)
}

// table returns the name of the table.
func (l *OutputLoad) table() string { return l.out.Manifest.Run.Table }

// check refuses a load before its first request if files are damaged or lost, a region would get too many, the load
// would undo a later one, or other cells may win over these later. It opens regions again that do not serve their
// files.
func (l *OutputLoad) check(ctx context.Context) (*load.Table, error) {
	if err := VerifyBeforeLoad(ctx, l.out); err != nil {
		return nil, err
	}
	table, err := site.LookUp(ctx, l.cluster, l.table())
	if err != nil {
		return nil, err
	}
	if err := l.checkLoaded(ctx, table); err != nil {
		return nil, err
	}
	if err := l.checkUnloadedCounts(table); err != nil {
		return nil, err
	}
	if err := l.checkHistory(); err != nil {
		return nil, err
	}
	return table, l.lost.checkCorrection(ctx, table, cellsOf(l.out.Manifest))
}

// checkLoaded probes the files that an earlier process has loaded, and opens regions again that do not serve theirs. If
// the table is still the same, files that it lacks even then are written again, as the earlier process would have done.
// If it was created again or restored since, only a person knows whether rows are missing on purpose.
func (l *OutputLoad) checkLoaded(ctx context.Context, table *load.Table) error {
	c, err := l.loader.claim(l.out.Manifest.Files().Loaded())
	if err != nil || len(c.files) == 0 {
		return err
	}
	c.missing = nil // Confirm looks up all rows there
	p := l.loader.proof()
	p.rewrite = l.out.ByJob // not all rows of the input are loaded yet, so looking them up proves nothing
	_, err = p.confirm(ctx, c, 0, checkShare)
	var unproven *unprovenError
	var lost *load.LostError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unproven):
		return l.rewrite(unproven.lost)
	case errors.As(err, &lost) && c.identity != table.Identity():
		if err := l.lost.add(ctx, lost, cellsOf(l.out.Manifest)); err != nil { // they may still appear
			return err
		}
		return p.lost(c, table, lost.Files, len(c.files))
	}
	return l.describeFailure(ctx, err)
}

// checkHistory refuses to undo a later load. It returns an error if the ledger names another run of this job and date,
// unless this run was begun to replace that one, or the command says --on-change reload.
func (l *OutputLoad) checkHistory() error {
	m := l.out.Manifest
	e, err := l.loader.Entry()
	if e == nil || err != nil || len(e.Files) == 0 || e.Run == m.Run.ID || e.Run == m.Corrects {
		return err
	}
	when := e.Time.Format(time.RFC3339)
	if l.out.Options.OnChange == options.Reload {
		l.out.Options.Infof("run %s of this job and date was loaded into table %s on %s: loading run %s over it "+
			"(--on-change reload)", e.Run, e.Table, when, m.Run.ID)
		return nil
	}
	return errcode.LoadOther.Errorf("the files of %s are those of run %s, but according to the ledger another run of "+
		"this job and date, %s, was loaded into table %s on %s from %s: they may be an older version of its rows, as from "+
		"a backup. To load them over it, run the job with --on-change reload",
		l.out.FS.URI(l.out.Path), m.Run.ID, e.Run, e.Table, when, e.Output)
}

// checkUnloadedCounts is checkCounts for the files that are not loaded.
func (l *OutputLoad) checkUnloadedCounts(table *load.Table) error {
	files, err := l.out.Manifest.Unloaded(l.out.FS, l.out.Path)
	if err != nil {
		return err
	}
	return checkCounts(l.out.Dir, table, files,
		", or "+writeAgain(l.out)+" to write the files for the table's present regions")
}

// repeats reports whether an earlier run of this job and date may have put equal cells into the table. The ledger's
// entry of that run is about to be replaced, so it is asked now.
func (l *OutputLoad) repeats() (bool, error) {
	m := l.out.Manifest
	e, err := l.loader.Entry()
	return m.Corrects != "" || e != nil && (e.Repeated || e.Run != m.Run.ID && len(e.Files) > 0), err
}

// askAllAgain has all rows looked up of a run that loads its own rows once more (--force). Rows are probably missing,
// and what hid them may still hide them.
func (l *OutputLoad) askAllAgain() error {
	m := l.out.Manifest
	if m.Corrects != m.Run.ID || m.Missing != nil || l.loader.Rows == nil {
		return nil
	}
	files, err := m.Files().Loadable(l.out.FS, l.out.Path)
	if err != nil || len(files) == 0 {
		return err
	}
	first := slices.MinFunc(files, func(a, b load.HFile) int { return bytes.Compare(a.FirstRow, b.FirstRow) })
	last := slices.MaxFunc(files, func(a, b load.HFile) int { return bytes.Compare(a.LastRow, b.LastRow) })
	m.SetMissing([]load.RowRange{{First: first.FirstRow, Last: last.LastRow}})
	return nil
}

// stillSplitting returns the error of a load whose files were cut maxCuts times.
func stillSplitting(table string) error {
	return errcode.HBaseRegion.Errorf("%w: the files were cut %d times during the load, and regions of table %s have "+
		"split again: run this again when they no longer split",
		load.ErrUnavailable, maxCuts, table)
}

// describeFailure adds to the error of a load how far it came, and what to do. It has lost files written again.
func (l *OutputLoad) describeFailure(ctx context.Context, err error) error {
	var lost *load.LostError
	var missing *missingError
	switch {
	case errors.As(err, &missing):
		l.out.Manifest.SetMissing(missing.ranges)
		return l.rewrite(missing.LostError)
	case errors.As(err, &lost):
		return l.rewriteLost(ctx, lost)
	}
	if code := failure.CodeOf(err); code == errcode.LoadLost || code == errcode.LoadUnsure {
		return err // which speaks of files that were in the table
	}
	all := len(l.out.Manifest.Files())
	return fmt.Errorf("%w; %d of %d files are in the table", err, all-len(l.out.Manifest.NotLoaded()), all)
}

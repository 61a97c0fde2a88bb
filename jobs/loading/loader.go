// Package loading loads the files of a directory into a table. It cuts files at new region boundaries, recovers
// interrupted loads, and succeeds only if the table serves all files.
//
// There are two kinds of load. The load of a run's output is recorded in the output's manifest (Loader, OutputLoad);
// the load of a directory without a manifest, only in the ledger (directoryLoad). Both consist of the same parts:
// requests guards and counts the requests to HBase, proof decides whether files are served, lostFiles records those
// that are not, and package cutting cuts files with rows of several regions.
package loading

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// Loader loads the files of a run's output into the run's table.
//
// Everything that the next command must know is in the manifest or the ledger before it matters. The state of a load is
// in its OutputLoad.
type Loader struct {
	Out     *output.Output
	Cluster *load.Cluster   // nil if the output needs none
	Ledger  *ledger.Ledger  // nil if nothing is loaded
	Table   *lock.TableLock // by which loads take turns; nil if they take none
	Rows    AskRows         // nil if the run's rows are not known
	Adopted *ledger.Entry   // the load that Adopt has found, whose files the manifest does not name; else nil
}

// AwaitTurn waits for this load's turn. OutputLoad.End must follow.
func (l *Loader) AwaitTurn(ctx context.Context) (*OutputLoad, error) {
	held, err := awaitTurn(ctx, l.Out.Dir, l.Table)
	if err != nil {
		return nil, err
	}
	return newOutputLoad(l, held), nil
}

// awaitTurn waits until a load may begin, and returns the table's lock; nil if loads take no turns.
func awaitTurn(ctx context.Context, out *output.Dir, table *lock.TableLock) (*lock.Turn, error) {
	if table == nil {
		return nil, nil
	}
	// Whoever holds the output's lock can take over the table's. A run that has lost the output's lock meanwhile must not.
	if err := out.CheckLock(); err != nil {
		return nil, err
	}
	return table.Lock(ctx, out.Options)
}

// CheckServed returns an error if the table does not serve the files that were loaded, because only a person knows why
// they are gone. It changes nothing; see proof.
func (l *Loader) CheckServed(ctx context.Context) error {
	if err := l.checkLatest(); err != nil {
		return err
	}
	if l.Adopted != nil {
		return l.checkEntry(ctx, l.Adopted)
	}
	c, err := l.claim(l.Out.Manifest.Files().Loaded())
	if err != nil || len(c.files) == 0 {
		return err
	}
	return l.proof().check(ctx, c)
}

// checkLatest refuses a loaded output if, according to the ledger, another run of its job and date was loaded since.
// Then the output was restored from a copy, and the table has other rows.
func (l *Loader) checkLatest() error {
	m := l.Out.Manifest
	e, err := l.Entry()
	if e == nil || err != nil || len(e.Files) == 0 || e.Run == m.Run.ID {
		return err
	}
	return errcode.LoadOther.Errorf("%s was loaded as run %s, but according to the ledger another run of this job and "+
		"date, %s, was loaded into table %s on %s from %s: the output may be an older version, as from a backup; %s to "+
		"write and load its input again",
		l.Out.FS.URI(l.Out.Path), m.Run.ID, e.Run, e.Table, e.Time.Format(time.RFC3339), e.Output, writeAgain(l.Out))
}

// claim returns what the manifest says of some of its files.
func (l *Loader) claim(files manifest.Files) (claim, error) {
	m := l.Out.Manifest
	loadable, err := files.Loadable(l.Out.FS, l.Out.Path)
	if err != nil {
		return claim{}, err
	}
	missing, err := m.MissingRows()
	others := func(later bool) (bool, error) { return l.othersHadEqualCells(m.Run.ID, later) }
	return claim{m.Run.Table, m.Table, m.Repeated, loadable, missing, others}, err
}

// othersHadEqualCells reports whether, according to the ledger, loads of other runs may have put cells with this run's
// timestamps into the table. With later, only loads that may have ended after this one count. Without a ledger, any may
// have.
func (l *Loader) othersHadEqualCells(run string, later bool) (bool, error) {
	if l.Ledger == nil {
		return true, nil
	}
	m := l.Out.Manifest
	all, damaged, err := l.Ledger.Entries(m.Run.Table)
	own := slices.IndexFunc(all, func(e *ledger.Entry) bool { return e.Run == run })
	return len(damaged) > 0 || slices.ContainsFunc(all, func(e *ledger.Entry) bool {
		return e.Run != run && len(e.Files) > 0 && (m.Timestamp == 0 || e.MayHaveTimestamp(m.Timestamp)) &&
			!(later && own >= 0 && e.EndedBefore(all[own]))
	}), err
}

// Replace deletes the run that w replaces. It is step 5 of output.Run.Replaces: the old run stays as it is until the
// new one is sorted, and only its writing can still fail.
func (l *Loader) Replace(ctx context.Context, w *output.Run) error {
	if !w.Replaces() {
		return nil
	}
	if err := w.CheckLock(); err != nil {
		return err
	}
	old := w.Present
	interrupted := old.Staging != ""
	switch {
	case interrupted && l.Cluster == nil:
		w.Options.Warnf("an interrupted load may have left files in HBase's staging folder %s", old.Staging)
	case interrupted:
		// Files in the staging folder come back first, to be deleted with the others. Otherwise HBase might load them later.
		files, err := old.Unloaded(w.FS, w.Path)
		if err != nil {
			return err
		}
		_, err = l.Cluster.RecoverStaging(ctx, w.FS, old.Run.Table, old.Staging, files, nil)
		var lost *load.LostError
		if errors.As(err, &lost) {
			err = l.recordLost(ctx, w, lost)
		}
		if err != nil {
			return err
		}
	}
	w.Options.Infof("cleaning the output of run %s", old.Run.ID)
	// A kill before the next Save leaves the old manifest, which names the files that are left, or no manifest and no
	// files. Either way, no file is left that no manifest names.
	if err := w.Clean(old); err != nil {
		return err
	}
	w.Present = w.Manifest
	return w.Save()
}

// recordLost records lost files of a run that is being replaced, although nobody wants them any more: a file that
// appears later may win over rows of the new run with the same timestamps.
func (l *Loader) recordLost(ctx context.Context, w *output.Run, lost *load.LostError) (err error) {
	record := lostFiles{l.Ledger, l.Cluster, w.Dir}
	if record.ledger == nil { // --no-load
		if record.ledger, err = w.Site.OpenLedger(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, record.ledger.Close()) }()
	}
	return record.add(ctx, lost, cellsOf(w.Present))
}

func (l *Loader) proof() proof {
	return proof{cluster: l.Cluster, options: l.Out.Options, rows: l.Rows,
		compare: fmt.Sprintf("compare it with the source (bulkload verify %s --live)", whichJob(l.Out)),
		again: writeAgain(l.Out) + " to write and load them again. If another load has written them with the same " +
			"timestamps, that would undo it"}
}

// whichJob returns an output's job and date as arguments of a command, for people. Unlike run, load DIR is not given a
// job, so the message must name it.
func whichJob(out *output.Output) string {
	if out.ByJob {
		return "JOB"
	}
	return jobOf(out.Manifest)
}

// jobOf returns the job that wrote a manifest, and its date, as arguments of bulkload run.
func jobOf(m *manifest.Manifest) string {
	if m.Run.Date == "" {
		return m.Run.Job
	}
	return m.Run.Job + " --date " + m.Run.Date
}

// writeAgain says how to write an output's files again, for people: with run, because load DIR has no --force.
func writeAgain(out *output.Output) string {
	if out.ByJob {
		return "run again with --force"
	}
	return fmt.Sprintf("run its job (bulkload run %s --force)", whichJob(out))
}

// LoadResult is the result of a load.
type LoadResult struct {
	Requested bool `json:"wanted"`
	load.Report
}

// Apply sets the report of a load; nil: the load did not get as far as its requests.
func (l *LoadResult) Apply(r *load.Report) {
	if r != nil {
		l.Report = *r
	}
}

// Package loading loads the files of a directory into a table. It cuts files at new region boundaries, recovers
// interrupted loads, and succeeds only if the table serves all files.
//
// There are two kinds of load. That of a run's output is recorded in the output's manifest (Loader, outputLoad), that
// of a directory without a manifest in the ledger alone (directoryLoad). Both are made of the same parts: handover
// sends the requests, prober asks whether files are served, lostFiles records those that are not, and package cutting cuts
// files with rows of several regions.
package loading

import (
	"context"
	"errors"

	"bulkload/internal/errcode"
	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/jobs/output"
	"bulkload/jobs/tablelock"
	"bulkload/load"
)

// Loader loads the files of a run's output into the run's table.
//
// All that the next command must know is in the manifest or the ledger before it matters. So a Loader has no state of
// its own: that of a load ends with its Turn.
type Loader struct {
	Out     *output.Dir
	Cluster *load.Cluster    // nil if the output needs none
	Ledger  *ledger.Ledger   // nil if nothing is loaded
	Table   *tablelock.Table // as jobs share it; nil if loads into it take no turns
}

// AwaitTurn returns when it is this load's turn. Turn.End must follow.
func (l *Loader) AwaitTurn(ctx context.Context) (*Turn, error) {
	held, err := awaitTurn(ctx, l.Out, l.Table)
	if err != nil {
		return nil, err
	}
	return &Turn{newOutputLoad(l, held)}, nil
}

// awaitTurn returns when a load may begin, with the table's lock; nil if loads take no turns.
func awaitTurn(ctx context.Context, out *output.Dir, table *tablelock.Table) (*tablelock.Lock, error) {
	if table == nil {
		return nil, nil
	}
	// The table's lock passes to whoever has the output's lock: a run that waited, and lost that one meanwhile, must not
	// take it.
	if err := out.CheckLock(); err != nil {
		return nil, err
	}
	return table.Lock(ctx, out.Options)
}

// CheckLeftOut checks that the table still has the rows that this run left out because the table had them: it is an
// error if the table was created, truncated, restored or enabled since they were looked up.
func (l *Loader) CheckLeftOut(ctx context.Context) error {
	e, table := l.Out.Manifest.Existing, l.Out.Manifest.Run.Table
	if !e.LeftOut() {
		return nil
	}
	enabled, err := l.Cluster.Enabled(ctx, table)
	if err != nil || enabled == e.Enabled {
		return err
	}
	return errcode.LoadUnsure.Errorf("%d rows were left out because table %s had them at %s (duplicates.live: skip), but since then it was created, truncated, restored, or disabled and enabled: it may have lost them. Run again with --force, which looks them up again",
		e.Found, table, e.Asked.Format("2006-01-02 15:04:05 MST"))
}

// CheckServed checks that the table serves the files that were loaded into it: all of them or, if nothing hints at a
// change of the table, one in each region. If rows can't be read it is an error: only a person knows why they are
// gone.
//
// It changes nothing, in the table or in the manifest: rows may have been deleted on purpose, and a command that has
// nothing to do must not bring them back.
func (l *Loader) CheckServed(ctx context.Context) error {
	if err := l.CheckLeftOut(ctx); err != nil {
		return err
	}
	m := l.Out.Manifest
	loaded, err := m.Files().Loaded().Loadable(l.Out.FS, l.Out.Path)
	if err != nil || len(loaded) == 0 {
		return err
	}
	// Without a finished load there is no identity to compare: all files are probed.
	identity := ""
	if m.State == manifest.Loaded {
		identity = m.Table
	}
	return l.prober().checkServed(ctx, m.Run.Table, identity, loaded)
}

// Replace deletes the run that --force replaces. The old run stays as it is until the new one is sorted, and nothing
// but its writing can fail.
func (l *Loader) Replace(ctx context.Context) error {
	if l.Out.Replaced == nil {
		return nil
	}
	if err := l.Out.Lock.Check(); err != nil {
		return err
	}
	// Files of the old run in HBase's staging folder come back first. Otherwise HBase might load them after the
	// output was cleaned.
	if err := l.recoverReplaced(ctx); err != nil {
		return err
	}
	l.Out.Options.Infof("cleaning the output of run %s", l.Out.Replaced.Run.ID)
	// A kill before the next Save leaves an output without a manifest, or with the old one that names what is left. Either
	// way no file is left that no manifest names.
	if err := l.Out.Clean(l.Out.Replaced); err != nil {
		return err
	}
	l.Out.Replaced = nil
	return l.Out.Save()
}

// recoverReplaced moves back what an interrupted load of the run that --force replaces has left in HBase's staging
// folder, so that it is deleted with the rest of the output.
//
// Lost files of the old run are recorded in the ledger although nobody wants them any more: one that appears later may
// win over rows of the new run with the same timestamps.
func (l *Loader) recoverReplaced(ctx context.Context) (err error) {
	old := l.Out.Replaced
	if old.State != manifest.Loading || old.Staging == "" {
		return nil
	}
	if l.Cluster == nil {
		l.Out.Options.Warnf("an interrupted load may have left files in HBase's staging folder %s", old.Staging)
		return nil
	}
	files, err := old.Unloaded(l.Out.FS, l.Out.Path)
	if err != nil {
		return err
	}
	_, err = l.Cluster.RecoverStaging(ctx, l.Out.FS, old.Run.Table, old.Staging, files)
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	record := lostFiles{l.Ledger, l.Cluster, l.Out}
	if record.ledger == nil { // --no-load
		if record.ledger, err = l.Out.Site.OpenLedger(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, record.ledger.Close()) }()
	}
	return record.add(ctx, lost, old.Run.ID, old.Digest)
}

func (l *Loader) prober() prober { return prober{l.Cluster, l.Out.Options} }

// Summary is the result of a load.
type Summary struct {
	Requested bool   `json:"wanted"`
	Files     int    `json:"files"`
	Regions   int    `json:"regions"`
	Rounds    int    `json:"rounds"`
	Staging   string `json:"staging,omitempty"` // HBase's staging folder, if it still exists
}

// Apply copies a load's report, which may be nil.
func (l *Summary) Apply(r *load.Report) {
	if r != nil {
		l.Files, l.Regions, l.Rounds, l.Staging = r.Files, r.Regions, r.Rounds, r.Staging
	}
}

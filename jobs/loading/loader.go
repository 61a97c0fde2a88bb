package loading

import (
	"context"

	"bulkload/internal/errcode"
	"bulkload/jobs/ledger"
	"bulkload/jobs/output"
	"bulkload/jobs/progress"
	"bulkload/jobs/tablelock"
	"bulkload/load"
)

// Loader loads the files of an output directory into a table.
//
// It holds what one command has done so far. Everything that the next one must know is in the manifest or the ledger before
// it matters; unsaved is the one exception, and recovery makes up for it by probes.
type Loader struct {
	Out     *output.Dir
	Cluster *load.Cluster    // nil if the output needs none
	Ledger  *ledger.Ledger   // nil if nothing is loaded
	Table   *tablelock.Table // as jobs share it; nil if loads into it take no turns
	turn    *tablelock.Lock  // while this load has its turn
	lost    func(error)      // of a directory's load: called if a lock is lost
	loads   *progress.Meter  // of loaded files; nil before the first request
	toLoad  int              // files at the beginning of a load
	unsaved int              // load requests whose end is not in the saved manifest yet
}

// LockTable returns when it is this load's turn. UnlockTable must follow.
func (w *Loader) LockTable(ctx context.Context) (err error) {
	if w.Table == nil {
		return nil
	}
	// The table's lock passes to whoever has the output's lock: a run that waited, and lost that one meanwhile, must not take it.
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	w.turn, err = w.Table.Lock(ctx, w.Out.Options)
	return err
}

// CheckLeftOut checks that the table still has the rows that this run left out because the table had them: it is an error if
// the table was created, truncated, restored or enabled since they were looked up.
func (w *Loader) CheckLeftOut(ctx context.Context) error {
	e, table := w.Out.Manifest.Existing, w.Out.Manifest.Run.Table
	if !e.LeftOut() {
		return nil
	}
	enabled, err := w.Cluster.Enabled(ctx, table)
	if err != nil || enabled == e.Enabled {
		return err
	}
	return errcode.LoadUnsure.Errorf("%d rows were left out because table %s had them at %s (duplicates.live: skip), but since then it was created, truncated, restored, or disabled and enabled: it may have lost them. Run again with --force, which looks them up again",
		e.Found, table, e.Asked.Format("2006-01-02 15:04:05 MST"))
}

// UnlockTable ends this load's turn.
func (w *Loader) UnlockTable() error {
	turn := w.turn
	w.turn = nil
	return turn.Release()
}

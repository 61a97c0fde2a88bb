package loading

import (
	"context"

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
	w.turn, err = w.Table.Lock(ctx, w.Out.Options)
	return err
}

// UnlockTable ends this load's turn.
func (w *Loader) UnlockTable() error {
	turn := w.turn
	w.turn = nil
	return turn.Release()
}

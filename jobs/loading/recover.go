package loading

import (
	"context"
	"errors"

	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/load"
)

// RecoverLoad determines what happened to files that an interrupted load has left in doubt. HBase moves a file when
// it takes it, and the run may have been killed before it recorded that. Files in the staging folder are not loaded,
// and are moved back. Of the others, a file is loaded if the table serves it.
//
// It must come before anything else is done with the files: before a second load, because a file in staging would be
// missing there; before they are deleted or written again, because rows might then be in the table twice or not at
// all.
func (w *Loader) RecoverLoad(ctx context.Context, table string) error {
	m := w.Out.Manifest
	// In the other states no file is in doubt: none was handed over since it was written, or all were probed.
	if m.State != manifest.Loading {
		return nil
	}
	files, err := m.Unloaded(w.Out.FS, w.Out.Path)
	if err != nil || len(files) == 0 {
		return err
	}
	w.Out.Options.Infof("a load was interrupted: looking for its files in the staging folder and in the table")
	// The manifest may not name a folder: the process was killed before the first request. Then no file can have
	// moved, and all are at their source.
	loaded, err := w.Cluster.RecoverStaging(ctx, w.Out.FS, table, m.Staging, files)
	// n = 0 makes Done save at once. Loaded files are recorded even if others are lost or in doubt.
	if failed := w.RecordLoad(0).Done(loaded); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return w.describeFailure(ctx, err)
	}
	return nil
}

// recoverDirectory moves files back that an interrupted load of this directory has left in HBase's staging folder.
func (w *Loader) recoverDirectory(ctx context.Context, table string) error {
	e, err := w.directoryEntry(table)
	if e == nil || err != nil || e.State != ledger.Loading || e.Staging == "" {
		return err
	}
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	w.Out.Options.Infof("a load of this directory was interrupted: looking for its files in the staging folder and in the table")
	_, err = w.Cluster.RecoverStaging(ctx, w.Out.FS, table, e.Staging, files)
	return w.recordForeignLost(ctx, err)
}

// recoverReplaced moves back what an interrupted load of the run that --force replaces has left in HBase's staging
// folder, so that it is deleted with the rest of the output.
//
// Lost files of the old run are recorded in the ledger although nobody wants them any more: one that appears later may
// win over rows of the new run with the same timestamps.
func (w *Loader) recoverReplaced(ctx context.Context) (err error) {
	old := w.Out.Replaced
	if old.State != manifest.Loading || old.Staging == "" {
		return nil
	}
	if w.Cluster == nil {
		w.Out.Options.Warnf("an interrupted load may have left files in HBase's staging folder %s", old.Staging)
		return nil
	}
	files, err := old.Unloaded(w.Out.FS, w.Out.Path)
	if err != nil {
		return err
	}
	_, err = w.Cluster.RecoverStaging(ctx, w.Out.FS, old.Run.Table, old.Staging, files)
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	if w.Ledger == nil { // --no-load
		if w.Ledger, err = w.Out.Site.OpenLedger(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Ledger.Close()); w.Ledger = nil }()
	}
	return w.recordUnserved(ctx, lost, old.Run.ID, old.Digest)
}

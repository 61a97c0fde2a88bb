package loading

import (
	"context"
	"errors"

	"bulkload/jobs/env/ledger"
)

// recover finds the files of an interrupted load: HBase moves a file when it takes it, and the run may have been killed
// before it recorded that. Files in the staging folder are not loaded, so they are moved back. A file that is neither
// there nor at its source is loaded if the table serves it.
func (l *OutputLoad) recover(ctx context.Context) error {
	m := l.out.Manifest
	// Otherwise no file is in doubt: none was submitted since it was written, or all were probed.
	if !m.Interrupted() {
		return nil
	}
	files, err := m.Unloaded(l.out.FS, l.out.Path)
	if err != nil || len(files) == 0 && m.Staging == "" {
		return err
	}
	l.out.Options.Infof("a load was interrupted: looking for its files in the staging folder and in the table")
	// If the manifest names no folder, no file can be in one: nothing was sent, or all files were found.
	loaded, err := l.cluster.RecoverStaging(ctx, l.out.FS, l.table(), m.Staging, files,
		func() error { return l.record.hooks(0).Staging("") })
	l.requests.count(len(loaded))
	// With n = 0, Done saves at once. Loaded files are recorded even if others are lost or in doubt.
	if failed := l.record.hooks(0).Done(loaded); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return l.describeFailure(ctx, err)
	}
	return nil
}

// recover moves back files that an interrupted load of the directory has left in HBase's staging folder.
func (l *directoryLoad) recover(ctx context.Context) error {
	e, err := l.record.read()
	if e == nil || err != nil || e.State != ledger.Loading {
		return err
	}
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	l.out.Options.Infof("a load of this directory was interrupted: looking for its files in the staging folder and in " +
		"the table")
	_, err = l.cluster.RecoverStaging(ctx, l.out.FS, l.table, e.Staging, files,
		func() error { return l.record.hooks(e).Staging("") })
	return l.describeFailure(ctx, err)
}

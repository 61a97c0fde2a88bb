package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/jobs/ledger"
	"bulkload/load"
)

// rewriteError says that slices are to be written and loaded again: HBase took their files and does not serve them. The
// same command does that.
type rewriteError struct {
	lost *load.LostError
}

func (e *rewriteError) Error() string {
	return fmt.Sprintf("%v. They are written and loaded again", e.lost)
}

// Unwrap is the *load.LostError.
func (e *rewriteError) Unwrap() error { return e.lost }

// lose takes the slices of lost files out of the manifest, so that they are written again: the same bytes under the same
// names. Where a server brings a lost file back later, it doubles equal cells, which readers do not see.
func (w *workplace) lose(ctx context.Context, lost *load.LostError) error {
	if w.job == nil {
		return fmt.Errorf("%w; have the region opened again (move it to another server in the HBase shell), and run this again", lost)
	}
	gone := map[string]bool{}
	for _, f := range lost.Files {
		gone[f.URI] = true
	}
	m := w.manifest
	m.Slices = slices.DeleteFunc(m.Slices, func(r sliceRecord) bool { return w.dropLost(r, gone) })
	m.State = stateWriting
	if err := w.noteLost(ctx, lost); err != nil {
		return err
	}
	if err := w.save(); err != nil {
		return err
	}
	return &rewriteError{lost}
}

// noteLost remembers the lost files beyond this output.
func (w *workplace) noteLost(ctx context.Context, lost *load.LostError) error {
	table, err := lookUp(ctx, w.cluster, lost.Table)
	if err != nil {
		return err
	}
	return w.note(ledger.Loading, unservedOf(lost, table, w.manifest)...)
}

// recoverReplaced brings back what an interrupted load of the run that --force gives up has left in HBase's staging folder:
// it is deleted with the rest of the output.
func (w *workplace) recoverReplaced(ctx context.Context) error {
	old := w.replaced
	if old.State != stateLoading || old.Staging == "" {
		return nil
	}
	if w.cluster == nil {
		sayf(w.options, "an interrupted load may have left files in HBase's staging folder %s", old.Staging)
		return nil
	}
	files, err := old.unloaded(w.fsys, w.dir)
	if err != nil {
		return err
	}
	_, err = w.cluster.RecoverStaging(ctx, w.fsys, old.Run.Table, old.Staging, files)
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	table, err := lookUp(ctx, w.cluster, lost.Table)
	if err != nil {
		return err
	}
	return w.note(ledger.Loading, unservedOf(lost, table, old)...)
}

// dropLost tells whether a slice has a lost file. Its other files that are loaded stay known.
func (w *workplace) dropLost(r sliceRecord, gone map[string]bool) bool {
	if !slices.ContainsFunc(r.Files, func(f FileSummary) bool { return gone[w.uri(f.Path)] }) {
		return false
	}
	for _, f := range r.Files {
		if f.Loaded && !gone[w.uri(f.Path)] {
			w.manifest.Kept = append(w.manifest.Kept, f)
		}
	}
	return true
}

// kept is the record of a file that the table serves already, nil for another. The same slice gives the same file again.
func (m *manifest) kept(f *FileSummary) *FileSummary {
	i := slices.IndexFunc(m.Kept, func(k FileSummary) bool {
		return k.Path == f.Path && k.Bytes == f.Bytes && k.Digest == f.Digest
	})
	if i < 0 {
		return nil
	}
	return &m.Kept[i]
}

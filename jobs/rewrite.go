package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/printable"
	"bulkload/load"
)

// rewriteError says that slices are to be written and loaded again: HBase took their files and does not serve them. The
// same command does that.
type rewriteError struct {
	lost *load.LostError
}

func (e *rewriteError) Error() string {
	return fmt.Sprintf("%v. The same command writes and loads them again", e.lost)
}

// Unwrap is the *load.LostError.
func (e *rewriteError) Unwrap() error { return e.lost }

// lose takes the slices of lost files out of the manifest, so that they are written again: the same bytes under the same
// names. Where a server brings a lost file back later, it doubles equal cells, which readers do not see.
func (w *workplace) lose(ctx context.Context, lost *load.LostError) error {
	m := w.manifest
	if err := w.noteUnserved(ctx, lost, m.Run.ID, m.Digest); err != nil {
		return err
	}
	if w.job == nil {
		return fmt.Errorf("%w; run the job %s to have them written and loaded again, or move the region to another server in the HBase shell and run this again",
			lost, m.Run.Job)
	}
	gone := map[string]bool{}
	for _, f := range lost.Files {
		gone[f.URI] = true
	}
	m.Slices = slices.DeleteFunc(m.Slices, func(r sliceRecord) bool { return w.dropLost(r, gone) })
	m.State = stateWriting
	if err := w.save(); err != nil {
		return err
	}
	if err := w.finishCuts(); err != nil {
		return err
	}
	return &rewriteError{lost}
}

// dropLost tells whether a slice has a lost file. Its other files that are loaded stay known; those that are not are
// deleted, for which the manifest has them as cuts without parts.
func (w *workplace) dropLost(r sliceRecord, gone map[string]bool) bool {
	if !slices.ContainsFunc(r.Files, func(f FileSummary) bool { return gone[w.uri(f.Path)] }) {
		return false
	}
	for _, f := range r.Files {
		switch {
		case gone[w.uri(f.Path)]:
		case f.Loaded:
			w.manifest.Kept = append(w.manifest.Kept, f)
		default:
			w.manifest.Cuts = append(w.manifest.Cuts, cutRecord{Of: f.Path})
		}
	}
	return true
}

// recoverReplaced brings back what an interrupted load of the run that --force gives up has left in HBase's staging folder:
// it is deleted with the rest of the output.
func (w *workplace) recoverReplaced(ctx context.Context) (err error) {
	old := w.replaced
	if old.State != stateLoading || old.Staging == "" {
		return nil
	}
	if w.cluster == nil {
		w.options.Sayf("an interrupted load may have left files in HBase's staging folder %s", old.Staging)
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
	if w.ledger == nil { // --no-load
		if w.ledger, err = w.site.openLedger(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.ledger.Close()); w.ledger = nil }()
	}
	return w.noteUnserved(ctx, lost, old.Run.ID, old.Digest)
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

// keepSplits plans with the boundaries that the run began with where some of its files are loaded: only what is missing is
// written then, and cut at the present boundaries.
func (w *workplace) keepSplits() error {
	m := w.manifest
	if len(m.Kept) == 0 && !slices.ContainsFunc(m.files(), func(f *FileSummary) bool { return f.Loaded }) {
		return nil
	}
	var splits [][]byte
	for _, text := range m.Splits {
		split, err := printable.Parse(text)
		if err != nil {
			return fmt.Errorf("read the manifest: %w", err)
		}
		splits = append(splits, split)
	}
	return w.target.setSplits(splits, w.job.Wide != nil)
}

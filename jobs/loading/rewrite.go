package loading

import (
	"context"
	"fmt"
	"slices"

	"bulkload/jobs/hfile"
	"bulkload/jobs/manifest"
	"bulkload/load"
)

// RewriteError says that slices are to be written and loaded again: HBase took their files and does not serve them. The
// same command does that.
type RewriteError struct {
	Lost *load.LostError
}

// Error says which files were lost.
func (e *RewriteError) Error() string {
	return fmt.Sprintf("%v. The same command writes and loads them again", e.Lost)
}

// Unwrap is the *load.LostError.
func (e *RewriteError) Unwrap() error { return e.Lost }

// lose takes the slices of lost files out of the manifest, so that they are written again: the same bytes under the same
// names. Where a server brings a lost file back later, it doubles equal cells, which readers do not see.
func (w *Loader) lose(ctx context.Context, lost *load.LostError) error {
	m := w.Out.Manifest
	if err := w.noteUnserved(ctx, lost, m.Run.ID, m.Digest); err != nil {
		return err
	}
	if w.Out.Job == nil {
		return fmt.Errorf("%w; run the job %s to have them written and loaded again, or move the region to another server in the HBase shell and run this again",
			lost, m.Run.Job)
	}
	gone := map[string]bool{}
	for _, f := range lost.Files {
		gone[f.URI] = true
	}
	m.Slices = slices.DeleteFunc(m.Slices, func(r manifest.Slice) bool { return w.dropLost(r, gone) })
	m.State = manifest.Writing
	if err := w.Out.Save(); err != nil {
		return err
	}
	if err := w.Out.FinishCuts(); err != nil {
		return err
	}
	return &RewriteError{lost}
}

// dropLost tells whether a slice has a lost file. Its other files that are loaded stay known; those that are not are
// deleted, for which the manifest has them as cuts without parts.
func (w *Loader) dropLost(r manifest.Slice, gone map[string]bool) bool {
	if !slices.ContainsFunc(r.Files, func(f hfile.Summary) bool { return gone[w.Out.URI(f.Path)] }) {
		return false
	}
	for _, f := range r.Files {
		switch {
		case gone[w.Out.URI(f.Path)]:
		case f.Loaded:
			w.Out.Manifest.Kept = append(w.Out.Manifest.Kept, f)
		default:
			w.Out.Manifest.Cuts = append(w.Out.Manifest.Cuts, manifest.Cut{Of: f.Path})
		}
	}
	return true
}

package loading

import (
	"context"
	"fmt"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/load"
)

// RewriteError says that slices must be written and loaded again: HBase took their files and does not serve them. The
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

// rewriteLost removes the slices of lost files from the manifest, so that they are written again: the same bytes
// under the same names. If a server brings a lost file back later, its cells are equal to those of the new one, and
// readers see them once.
//
// The ledger is written first: if the process is killed after the manifest was saved, it would be the only trace of
// the lost files.
func (l *Turn) rewriteLost(ctx context.Context, lost *load.LostError) error {
	m := l.out.Manifest
	if err := l.lost.add(ctx, lost, cellsOf(m)); err != nil {
		return err
	}
	if l.out.Job == nil {
		return errcode.LoadLost.Errorf("%v; run the job %s to have them written and loaded again, or move the region to another server in the HBase shell and run this again",
			lost, m.Run.Job)
	}
	return l.rewrite(lost)
}

// rewrite is rewriteLost for files that can't appear later: their regions know them, or have lost them with all that they had.
func (l *Turn) rewrite(lost *load.LostError) error {
	m := l.out.Manifest
	gone := map[string]bool{}
	for _, f := range lost.Files {
		gone[f.URI] = true
	}
	m.Slices = slices.DeleteFunc(m.Slices, func(r manifest.Slice) bool { return l.dropLost(r, gone) })
	// A file that was kept when others of its slice were written again may be lost now. Otherwise the write stage would take it
	// for loaded again.
	m.ForgetLoaded(func(f *hfiles.Summary) bool { return gone[l.out.URI(f.Path)] })
	// The run has files to write again. The loaded files of these slices move to LoadedBefore, so they are neither
	// written nor loaded twice.
	m.State = manifest.Writing
	if err := l.out.Save(); err != nil {
		return err
	}
	// Deletes the files that dropLost listed as cuts without parts.
	if err := l.out.FinishCuts(); err != nil {
		return err
	}
	return &RewriteError{lost}
}

// dropLost reports whether a slice has a lost file. Its other files that are loaded stay recorded as such. Those that
// are not loaded are deleted; for that the manifest lists them as cuts without parts.
//
// The whole slice goes, not the file alone: slices are what the write stage writes. A part of a cut file that stayed at
// its source, unrecorded, would be foreign to the next run, which can't derive its name from the slice; hence the cuts.
func (l *Turn) dropLost(r manifest.Slice, gone map[string]bool) bool {
	if !slices.ContainsFunc(r.Files, func(f hfiles.Summary) bool { return gone[l.out.URI(f.Path)] }) {
		return false
	}
	for _, f := range r.Files {
		switch {
		case gone[l.out.URI(f.Path)]:
		case f.Loaded:
			l.out.Manifest.LoadedBefore = append(l.out.Manifest.LoadedBefore, f)
		default:
			l.out.Manifest.Cuts = append(l.out.Manifest.Cuts, manifest.Cut{Of: f.Path})
		}
	}
	return true
}

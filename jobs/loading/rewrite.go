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

// RewriteError says that slices must be written and loaded again, because HBase took their files but does not serve
// them, or nothing proves that it does. The same command does that.
type RewriteError struct {
	Lost *load.LostError
}

// Error says which files were lost.
func (e *RewriteError) Error() string {
	return fmt.Sprintf("%v. The same command writes and loads them again", e.Lost)
}

// Unwrap returns the *load.LostError.
func (e *RewriteError) Unwrap() error { return e.Lost }

// rewriteLost removes the slices of lost files from the manifest, so that they are written again: the same bytes under
// the same names. If a server brings a lost file back later, its cells equal those of the new one, and readers see them
// once.
//
// The ledger is written first: if the process is killed after the manifest was saved, only the ledger still names the
// lost files.
func (l *OutputLoad) rewriteLost(ctx context.Context, lost *load.LostError) error {
	m := l.out.Manifest
	if err := l.lost.add(ctx, lost, cellsOf(m)); err != nil {
		return err
	}
	if !l.out.ByJob {
		return errcode.LoadLost.Errorf("%v; run the job %s to have them written and loaded again, or move the region to "+
			"another server in the HBase shell and run this again",
			lost, jobOf(m))
	}
	return l.rewrite(lost)
}

// rewrite is rewriteLost for files that can't appear later, because their regions know them, or have lost them with
// everything else.
//
// It removes the whole slice of a lost file, because the write stage writes whole slices. Other files of the slice move
// to LoadedBefore if they are loaded, so they are neither written nor loaded twice. Unloaded ones are deleted; for
// that, the manifest lists them as cuts without parts. Otherwise a part of a cut file would stay at its source without
// a record, and the next run, which can't derive its name from the slice, would take it for a foreign file.
func (l *OutputLoad) rewrite(lost *load.LostError) error {
	m := l.out.Manifest
	gone := map[string]bool{}
	for _, f := range lost.Files {
		gone[f.URI] = true
	}
	isGone := func(f hfiles.FileMeta) bool { return gone[l.out.URI(f.Path)] }
	m.Slices = slices.DeleteFunc(m.Slices, func(r manifest.RecordedSlice) bool {
		if !slices.ContainsFunc(r.Files, isGone) {
			return false
		}
		for _, f := range r.Files {
			switch {
			case isGone(f):
				m.Rewrite(f)
			case f.Loaded:
				m.LoadedBefore = append(m.LoadedBefore, f)
			default:
				m.Rewrite(f)
				m.Cuts = append(m.Cuts, manifest.Cut{Of: f.Path})
			}
		}
		return true
	})
	// A file that stayed loaded when others of its slice were written again may be lost now. The write stage must not take
	// it for loaded any more.
	m.ForgetLoaded(func(f *hfiles.FileMeta) bool { return isGone(*f) })
	m.State = manifest.Writing // the run has files to write again
	if err := l.out.Save(); err != nil {
		return err
	}
	// This deletes the files that are listed as cuts without parts.
	if err := l.out.FinishCuts(); err != nil {
		return err
	}
	return &RewriteError{lost}
}

package loading

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/output"

	"golang.org/x/sync/errgroup"
)

// VerifyBeforeLoad verifies the files that are about to be loaded but were written by an earlier process, because disks
// change bytes, and a table must not get them. It reads each file in full and compares it with the digest in the
// manifest.
func VerifyBeforeLoad(ctx context.Context, out *output.Output) error {
	doubtful := out.Unverified()
	if len(doubtful) == 0 {
		return nil
	}
	out.Options.Infof("reading %s of an earlier run again before they are loaded", doubtful.Amount())
	group, running := errgroup.WithContext(ctx)
	// The first damaged file ends it. Nothing has been submitted yet, so nothing has to be undone.
	group.SetLimit(parallel.Workers())
	for _, f := range doubtful {
		group.Go(func() error { return rereadFile(running, out, f) })
	}
	return group.Wait()
}

func rereadFile(ctx context.Context, out *output.Output, f *hfiles.FileMeta) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := path.Join(out.Path, f.Path)
	in, err := out.FS.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && out.Manifest.Interrupted():
		// It was at its source when the interrupted load was recovered, just before or, if a lost file had to be written
		// again, before that. A server that hung with a request of that load has woken up, and its request goes on. Only the
		// table can tell whether it has the file now.
		return errcode.RunAgain.Errorf("%s is gone since the interrupted load was recovered: a region server that hung "+
			"has most likely taken it; run this again, which asks the table for it", out.FS.URI(name))
	case errors.Is(err, fs.ErrNotExist):
		return errcode.OutputChanged.Errorf("%s, which was not loaded, is gone since the run began: %s to write it again "+
			"(%w)", out.FS.URI(name), writeAgain(out), err)
	case err != nil:
		return fmt.Errorf("read %s again before the load: %w", out.FS.URI(name), err)
	}
	defer in.Close()
	report, sum, _, err := hfiles.Verify(ctx, in, nil)
	if err != nil {
		return failure.Damagedf("read %s again before the load: %w; it was not loaded; %s to write it again",
			out.FS.URI(name), err, writeAgain(out))
	}
	// A sound HFile may still be the wrong one: size, rows and digest must be those of the manifest.
	if in.Size() != f.Bytes || report.Rows != f.Rows || sum != f.Digest {
		return errcode.HFileCorrupt.Errorf("%s has %d bytes, %d rows and digest %v, but %d, %d and %v were written: it was "+
			"changed afterwards and was not loaded; %s to write it again",
			out.FS.URI(name), in.Size(), report.Rows, sum, f.Bytes, f.Rows, f.Digest, writeAgain(out))
	}
	return nil
}

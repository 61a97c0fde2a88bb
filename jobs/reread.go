package jobs

import (
	"context"
	"fmt"
	"path"

	"bulkload/internal/parallel"
	"bulkload/jobs/failure"

	"golang.org/x/sync/errgroup"
)

// reread verifies the files that are about to be loaded and that an earlier process has written: disks change bytes, and
// a table should not take them. They are read in full and held against the digests in the manifest.
func (w *workplace) reread(ctx context.Context) error {
	var doubtful []*FileSummary
	for _, f := range w.manifest.files() {
		if !f.Loaded && (w.earlier == nil || w.earlier[f.Path]) {
			doubtful = append(doubtful, f)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	w.options.Sayf("reading %s of an earlier run again before they are loaded", written(doubtful))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, f := range doubtful {
		group.Go(func() error { return w.rereadFile(running, f) })
	}
	return group.Wait()
}

func (w *workplace) rereadFile(ctx context.Context, f *FileSummary) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := path.Join(w.dir, f.Path)
	in, err := w.fsys.Open(name)
	if err != nil {
		return fmt.Errorf("read %s again before the load: %w", w.fsys.URI(name), err)
	}
	defer in.Close()
	report, sum, probes, err := verifyHFile(ctx, in)
	if err != nil {
		return failure.Damagedf("read %s again before the load: %w; it is not loaded; --force writes it anew", w.fsys.URI(name), err)
	}
	if in.Size() != f.Bytes || report.Rows != f.Rows || sum != f.Digest {
		return failure.Differsf("%s holds %d bytes, %d rows, digest %v; written were %d, %d, %v: it was changed since, and is not loaded; --force writes it anew",
			w.fsys.URI(name), in.Size(), report.Rows, sum, f.Bytes, f.Rows, f.Digest)
	}
	f.Probes = probes // an older bulkload recorded none
	return nil
}

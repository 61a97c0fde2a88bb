package run

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// loadedWithoutInput ends a run that finds no input: if its input was archived after the load and the table serves
// what was loaded, there is nothing to do. Otherwise it returns cause, which says that there is no input. s is the
// site as open has opened it.
func loadedWithoutInput(ctx context.Context, j *jobfile.Job, o options.Options, s *site.Site, into *summary.Summary, cause error) (err error) {
	r := &opened{job: j, options: o, site: s}
	defer func() { err = errors.Join(err, r.close()) }()
	if loaded, err := r.loadedBefore(ctx); err != nil || !loaded {
		return errors.Join(cause, err)
	}
	for i, w := range r.outputs {
		w.report = into.Output(i)
	}
	if r.cluster, err = s.Connect(ctx); err != nil {
		return err
	}
	for _, w := range r.outputs {
		w.loader.Cluster = r.cluster
		if err := w.checkLoadedWithoutInput(ctx); err != nil {
			return r.wrap(w, err)
		}
	}
	o.Infof("%v; it was loaded earlier, and the table serves it", cause)
	into.SetStatus()
	return nil
}

// loadedBefore reports whether manifests or ledger say that all outputs were loaded. It opens the outputs without
// locking them.
func (r *opened) loadedBefore(ctx context.Context) (loaded bool, err error) {
	if slices.ContainsFunc(r.job.Feeds(), func(out *jobfile.Job) bool { return !out.Load }) {
		return false, nil
	}
	loaded = true
	err = r.openParts(ctx, opening{ledger: (*site.Site).ReadLedger, step: func(_, _ string, err error) error { return err }, output: func(_ context.Context, w *outputRun) (err error) {
		if !loaded {
			return nil
		}
		if w.out.FS, w.out.Path, err = r.site.Resolve(w.out.Job.Output, w.out.Job.Dir); err != nil {
			return err
		}
		w.loader.Ledger = r.ledger
		loaded, err = w.loader.WasLoaded()
		return err
	}})
	return loaded && err == nil, err
}

// mayBeArchived reports whether a run without input may have nothing to do.
func mayBeArchived(j *jobfile.Job, o options.Options) bool { return j.Load && !o.NoLoad && !o.Force }

// wasLoaded is loadedBefore for a run that has opened no output yet. It is false if that can't be determined.
func wasLoaded(ctx context.Context, j *jobfile.Job, o options.Options, s *site.Site) bool {
	r := &opened{job: j, options: o, site: s}
	loaded, err := r.loadedBefore(ctx)
	return errors.Join(err, r.close()) == nil && loaded
}

// checkLoadedWithoutInput checks that the table serves what was loaded, and reports it.
func (w *outputRun) checkLoadedWithoutInput(ctx context.Context) error {
	if w.out.Manifest.State == manifest.Loaded {
		if err := w.loader.CheckServed(ctx); err != nil {
			return err
		}
	} else {
		e, err := w.loader.Entry()
		if err != nil {
			return err
		}
		if e == nil {
			return errcode.LoadAgain.Errorf("the ledger's entry of this load was just removed; try again")
		}
		if err := w.loader.Adopt(ctx, e); err != nil {
			return err
		}
	}
	w.report.Fill(w.out.Manifest)
	w.report.SetManifest(w.out.Manifest)
	w.report.Load.Requested, w.report.Status = true, failure.StatusNothing
	return nil
}

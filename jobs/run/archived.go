package run

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// archivedOutput is an output of a run whose input was archived. It is not locked, because nothing in it is changed.
type archivedOutput struct {
	job    *jobfile.Job
	loader *loading.Loader
}

// withoutInput ends a run that could not be opened. If its input is missing, it may have been archived after the load.
func (r *runner) withoutInput(ctx context.Context, err error) error {
	if r.opened.mayBeArchived(err) {
		return r.loadedWithoutInput(ctx, err)
	}
	return err
}

// loadedWithoutInput ends a run without an input. If, on record, the input was loaded before it was archived, the run
// has nothing to do, but the table must still serve what was loaded. Otherwise the error is cause, which says why there
// is no input.
func (r *runner) loadedWithoutInput(ctx context.Context, cause error) (err error) {
	before := r.opened.again()
	outputs, loaded, err := before.loadedBefore(ctx)
	defer func() { err = errors.Join(err, before.closeArchived(outputs)) }()
	if err != nil || !loaded {
		return errors.Join(cause, err)
	}
	if before.cluster, err = before.site.Connect(ctx); err != nil {
		return err
	}
	for i, w := range outputs {
		w.loader.Cluster = before.cluster
		report := r.summary.Output(i)
		if err := w.checkServed(ctx, report); err != nil {
			if len(outputs) > 1 {
				report.Status = failure.StatusFailed
			}
			return about(w.job, len(outputs) > 1, err)
		}
	}
	before.options.Infof("%v; it was loaded earlier, and the table serves it", cause)
	r.summary.SetStatus()
	return nil
}

// again returns the run with only its site open.
func (r *opened) again() *opened { return &opened{job: r.job, options: r.options, site: r.site} }

// loadedBefore reports whether, according to manifests or ledger, all outputs were loaded. It opens the outputs for
// that, so closeArchived must follow, even after an error.
func (r *opened) loadedBefore(ctx context.Context) (outputs []*archivedOutput, loaded bool, err error) {
	if slices.ContainsFunc(r.job.Feeds(), func(out *jobfile.Job) bool { return !out.Load }) {
		return nil, false, nil
	}
	loaded = true
	how := opening{ledger: (*site.Site).ReadLedger, step: func(_, _ string, err error) error { return err }}
	how.output = func(_ context.Context, j *jobfile.Job) error {
		if !loaded {
			return nil
		}
		dir, err := output.Of(j, r.site, r.options)
		if err != nil {
			return err
		}
		out := output.New(dir, manifest.New(j))
		out.ByJob = true
		w := &archivedOutput{j, &loading.Loader{Out: out, Ledger: r.ledger}}
		outputs = append(outputs, w)
		loaded, err = w.loader.WasLoaded()
		return err
	}
	err = r.openParts(ctx, how)
	return outputs, loaded && err == nil, err
}

// closeArchived closes what loadedBefore has opened, and everything else.
func (r *opened) closeArchived(outputs []*archivedOutput) error {
	var errs []error
	for _, w := range outputs {
		errs = append(errs, w.loader.Out.Close())
	}
	return errors.Join(append(errs, r.close())...)
}

// mayBeArchived reports whether a run may have nothing to do because its input is missing.
func (r *opened) mayBeArchived(err error) bool {
	var missing *source.MissingError
	return errors.As(err, &missing) && r.loads(r.job) && !r.options.Force
}

// wasArchived reports whether a run has nothing to do because its missing input was loaded before. It is false if that
// can't be determined.
func (r *opened) wasArchived(ctx context.Context, err error) bool {
	if !r.mayBeArchived(err) {
		return false
	}
	before := r.again()
	outputs, loaded, err := before.loadedBefore(ctx)
	return errors.Join(err, before.closeArchived(outputs)) == nil && loaded
}

// checkServed checks that the table serves what was loaded, and reports it.
func (w *archivedOutput) checkServed(ctx context.Context, report *summary.OutputReport) error {
	m := w.loader.Out.Manifest
	if m.State == manifest.Loaded {
		if err := w.loader.CheckServed(ctx); err != nil {
			return err
		}
	} else {
		e, err := w.loader.Entry()
		if err != nil {
			return err
		}
		if e == nil {
			return errcode.RunAgain.Errorf("the ledger's entry of this load was just removed; try again")
		}
		if err := w.loader.Adopt(ctx, e); err != nil {
			return err
		}
	}
	report.Fill(m)
	report.SetManifest(m)
	report.Load.Requested, report.Status = true, failure.StatusNothing
	return nil
}

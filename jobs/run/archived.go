package run

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// archivedOutput is an output of a run whose input was archived. It is not locked: nothing in it is changed.
type archivedOutput struct {
	job    *jobfile.Job
	loader *loading.Loader
}

// loadedWithoutInput ends a run that finds no input: if its input was archived after the load and the table serves
// what was loaded, there is nothing to do. Otherwise it returns cause, which says that there is no input. s is the
// site as open has opened it.
func loadedWithoutInput(ctx context.Context, j *jobfile.Job, o options.Options, s *site.Site, into *summary.Summary, cause error) (err error) {
	r := &opened{job: j, options: o, site: s}
	outputs, loaded, err := r.loadedBefore(ctx)
	defer func() { err = errors.Join(err, r.closeArchived(outputs)) }()
	if err != nil || !loaded {
		return errors.Join(cause, err)
	}
	if r.cluster, err = s.Connect(ctx); err != nil {
		return err
	}
	for i, w := range outputs {
		w.loader.Cluster = r.cluster
		if err := w.checkServed(ctx, into.Output(i)); err != nil {
			if len(outputs) > 1 {
				into.Output(i).Status = failure.StatusFailed
			}
			return about(w.job, len(outputs) > 1, err)
		}
	}
	o.Infof("%v; it was loaded earlier, and the table serves it", cause)
	into.SetStatus()
	return nil
}

// loadedBefore reports whether manifests or ledger say that all outputs were loaded, and opens the outputs for that.
// closeArchived must follow.
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
		fsys, dir, err := r.site.Resolve(j.Output, j.Dir)
		if err != nil {
			return err
		}
		out := output.New(output.At(fsys, dir, r.site, r.options), manifest.Of(j))
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

// mayBeArchived reports whether a run without input may have nothing to do.
func mayBeArchived(j *jobfile.Job, o options.Options) bool { return j.Load && !o.NoLoad && !o.Force }

// wasLoaded is loadedBefore for a run that has opened no output yet. It is false if that can't be determined.
func wasLoaded(ctx context.Context, j *jobfile.Job, o options.Options, s *site.Site) bool {
	r := &opened{job: j, options: o, site: s}
	outputs, loaded, err := r.loadedBefore(ctx)
	return errors.Join(err, r.closeArchived(outputs)) == nil && loaded
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
			return errcode.LoadAgain.Errorf("the ledger's entry of this load was just removed; try again")
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

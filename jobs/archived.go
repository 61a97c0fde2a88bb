package jobs

import (
	"context"
	"errors"

	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/loading"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
)

// loadedWithoutInput ends a run that finds no input: a job whose input was archived after its load has nothing to do, if
// the table serves what was loaded. Where that is not so, cause is returned, which says that there is no input. s is the
// site as newRunner opened it.
func loadedWithoutInput(ctx context.Context, j *jobfile.Job, o options.Options, s *site.Site, summary *Summary, cause error) (err error) {
	r := &runner{job: j, options: o, site: s}
	defer func() { err = errors.Join(err, r.close()) }()
	for i, out := range j.Feeds() {
		if !out.Load {
			return cause
		}
		w := newOutputRun(&output.Dir{Job: out, Options: o, Site: s})
		w.report = summary.output(i)
		r.places = append(r.places, w)
		if w.out.FS, w.out.Path, err = s.Resolve(out.Output, out.Dir); err != nil {
			return err
		}
		if r.ledger == nil {
			if r.ledger, err = loading.OpenLedger(s); err != nil {
				return err
			}
		}
		w.loader.Ledger = r.ledger
		loaded, err := w.loader.WasLoaded()
		if err != nil || !loaded {
			return errors.Join(cause, err)
		}
	}
	if r.cluster, err = s.Connect(ctx); err != nil {
		return err
	}
	for _, w := range r.places {
		w.loader.Cluster = r.cluster
		if err := w.checkLoadedWithoutInput(ctx); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	o.Infof("%v; it was loaded before, and the table serves it", cause)
	summary.setStatus()
	return nil
}

// checkLoadedWithoutInput asks whether the table serves what was loaded, and reports it.
func (w *outputRun) checkLoadedWithoutInput(ctx context.Context) error {
	if w.out.Manifest.State == manifest.Loaded {
		if err := w.loader.CheckServed(ctx, w.out.Job.Table); err != nil {
			return err
		}
	} else {
		e, err := w.loader.Entry()
		if err != nil {
			return err
		}
		if e == nil {
			return failure.Laterf("the ledger's entry of this load was just removed; try again")
		}
		if err := w.loader.Adopt(ctx, e); err != nil {
			return err
		}
	}
	w.report.fill(w.out.Manifest)
	w.report.Load.Requested, w.report.Status = true, outcome.Nothing
	return nil
}

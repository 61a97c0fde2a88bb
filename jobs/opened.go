package jobs

import (
	"context"
	"errors"

	"bulkload/jobs/checkpoint"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/loading"
	"bulkload/jobs/options"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/load"
)

// runner is a job being run: what its outputs share, and the place of each.
type runner struct {
	job     *jobfile.Job
	options options.Options
	site    *site.Site
	source  *source.Source
	cluster *load.Cluster  // nil where the job needs none
	ledger  *ledger.Ledger // nil where nothing is loaded
	places  []*outputRun
	keeper  *checkpoint.Store // from the sort on
}

// newRunner finds the input, connects, and locks the outputs. lost is called when a lock is lost later.
func newRunner(ctx context.Context, j *jobfile.Job, o options.Options, lost func(error)) (r *runner, err error) {
	r = &runner{job: j, options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.site, err = site.Open(o, j.HBase, j.Remote(!o.NoLoad)); err != nil {
		return r, err
	}
	if r.source, err = source.Open(j, r.site); err != nil {
		return r, err
	}
	if j.Connects(!o.NoLoad) {
		if r.cluster, err = r.site.Connect(ctx); err != nil {
			return r, err
		}
	}
	for _, out := range j.Feeds() {
		w := newOutputRun(&output.Dir{Job: out, Options: o, Site: r.site, Source: r.source})
		w.part = j.Part(out)
		if out.Connects(!o.NoLoad) {
			w.loader.Cluster = r.cluster
		}
		if out.Load && !o.NoLoad {
			if r.ledger == nil {
				if r.ledger, err = loading.OpenLedger(r.site); err != nil {
					return r, err
				}
			}
			w.loader.Ledger = r.ledger
		}
		r.places = append(r.places, w)
		if err = w.out.Open(ctx, lost); err != nil {
			return r, r.wrapOutput(w, err)
		}
	}
	return r, nil
}

// close gives everything back.
func (r *runner) close() error {
	var errs []error
	for _, w := range r.places {
		errs = append(errs, w.out.Close())
	}
	return errors.Join(append(errs, r.closeShared())...)
}

func (r *runner) closeShared() error {
	var errs []error
	if r.cluster != nil {
		errs = append(errs, r.cluster.Close())
	}
	if r.ledger != nil {
		errs = append(errs, r.ledger.Close())
	}
	if r.source != nil {
		errs = append(errs, r.source.Close())
	}
	return errors.Join(errs...)
}

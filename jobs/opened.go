package jobs

import (
	"context"
	"errors"

	"bulkload/jobs/checkpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/loading"
	"bulkload/jobs/options"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/load"
)

// jobRun is a job being run: what its outputs share, and the place of each.
type jobRun struct {
	job     *jobfile.Job
	options options.Options
	site    *site.Site
	source  *source.Source
	cluster *load.Cluster  // nil where the job needs none
	ledger  *ledger.Ledger // nil where nothing is loaded
	places  []*outputRun
	keeper  *checkpoint.Keeper // from the sort on
}

// openRun finds the input, connects, and locks the outputs. lost is called when a lock is lost later.
func openRun(ctx context.Context, j *jobfile.Job, o options.Options, lost func(error)) (r *jobRun, err error) {
	r = &jobRun{job: j, options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.site, err = site.Open(o, j.HBase, j.Remote(!o.NoLoad)); err != nil {
		return r, err
	}
	if err = r.findInput(ctx); err != nil {
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
			return r, r.named(w, err)
		}
	}
	return r, nil
}

// findInput finds the input, and waits for it where that is asked for; not for an input that was loaded and is archived.
func (r *jobRun) findInput(ctx context.Context) (err error) {
	j, o := r.job, r.options
	r.source, err = source.Open(j, r.site)
	if o.Wait.For <= 0 {
		return err
	}
	var missing *source.MissingError
	if errors.As(err, &missing) && mayBeArchived(j, o) && wasLoaded(j, o, r.site) {
		return err
	}
	if r.source != nil {
		err = errors.Join(err, r.source.Close())
		r.source = nil
	}
	if kind := failure.KindOf(err); err != nil && kind != failure.NotYet && kind != failure.Later {
		return err
	}
	r.source, err = source.Await(ctx, j, r.site, o)
	return err
}

// close gives everything back.
func (r *jobRun) close() error {
	var errs []error
	for _, w := range r.places {
		errs = append(errs, w.out.Close())
	}
	return errors.Join(append(errs, r.closeShared())...)
}

func (r *jobRun) closeShared() error {
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

package jobs

import (
	"context"
	"errors"

	"bulkload/jobs/checkpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/options"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/load"
)

// runner runs a job: it has what the outputs share, and each output's directory.
type runner struct {
	job         *jobfile.Job
	options     options.Options
	site        *site.Site
	source      *source.Source
	cluster     *load.Cluster  // nil if the job needs none
	ledger      *ledger.Ledger // nil if nothing is loaded
	outputs     []*outputRun
	lost        func(error)       // called if a lock is lost
	by          *ByTasks          // nil: the run is done in this process
	checkpoints *checkpoint.Store // from the sort on
}

// newRunner finds the input, connects, and locks the outputs. lost is called if a lock is lost later.
func newRunner(ctx context.Context, j *jobfile.Job, by *ByTasks, o options.Options, lost func(error)) (r *runner, err error) {
	r = &runner{job: j, by: by, options: o, lost: lost}
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
		w.part, w.tasks = j.Part(out), r.by != nil && len(r.outputs) == 0
		if out.Connects(!o.NoLoad) {
			w.loader.Cluster = r.cluster
		}
		if out.Load && !o.NoLoad {
			if r.ledger == nil {
				if r.ledger, err = r.site.OpenLedger(); err != nil {
					return r, err
				}
			}
			w.loader.Ledger = r.ledger
		}
		r.outputs = append(r.outputs, w)
		if err = w.out.Open(ctx, lost); err != nil {
			return r, r.wrapOutput(w, err)
		}
	}
	return r, nil
}

// findInput finds the input, and waits for it if requested, but not for an input that was loaded and archived.
func (r *runner) findInput(ctx context.Context) (err error) {
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

// close closes everything.
func (r *runner) close() error {
	var errs []error
	for _, w := range r.outputs {
		errs = append(errs, w.loader.Table.Close(), w.out.Close())
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

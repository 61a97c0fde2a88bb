package jobs

import (
	"context"
	"errors"

	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
)

// loadedWithoutInput ends a run that finds no input: a job whose input was archived after its load has nothing to do, if
// the table serves what was loaded. Where that is not so, cause is returned, which says that there is no input.
func loadedWithoutInput(ctx context.Context, j *jobfile.Job, o options.Options, summary *Summary, cause error) (err error) {
	s, err := openSite(o, j.HBase, true)
	if err != nil {
		return err
	}
	r := &jobRun{job: j, options: o, site: s}
	defer func() { err = errors.Join(err, r.close()) }()
	for i, out := range j.Feeds() {
		if !out.Load {
			return cause
		}
		w := &workplace{job: out, options: o, site: s, report: summary.output(i)}
		r.places = append(r.places, w)
		if w.fsys, w.dir, err = s.resolve(out.Output, out.Dir); err != nil {
			return err
		}
		if r.ledger == nil {
			if r.ledger, err = s.openLedger(); err != nil {
				return err
			}
		}
		w.ledger = r.ledger
		loaded, err := w.wasLoaded()
		if err != nil || !loaded {
			return errors.Join(cause, err)
		}
	}
	if r.cluster, err = s.connect(ctx); err != nil {
		return err
	}
	for _, w := range r.places {
		w.cluster = r.cluster
		if err := w.checkLoadedWithoutInput(ctx); err != nil {
			return r.named(w, err)
		}
	}
	o.Sayf("%v; it was loaded before, and the table serves it", cause)
	summary.settle()
	return nil
}

// wasLoaded tells whether the output's manifest or the ledger says that this job and date was loaded.
func (w *workplace) wasLoaded() (bool, error) {
	m, err := readManifest(w.fsys, w.dir)
	if err != nil {
		return false, err
	}
	w.manifest = &manifest{JobHash: w.job.Hash(), Run: w.job.Info()}
	if m == nil {
		e, err := w.entry()
		return e != nil && e.State == ledger.Loaded, err
	}
	same := m.State == stateLoaded && m.JobHash == w.job.Hash() && m.Run.Date == w.manifest.Run.Date
	if same {
		w.manifest = m
	}
	return same, nil
}

// checkLoadedWithoutInput asks whether the table serves what was loaded, and reports it.
func (w *workplace) checkLoadedWithoutInput(ctx context.Context) error {
	if w.manifest.State == stateLoaded {
		if err := w.checkServed(ctx, w.job.Table); err != nil {
			return err
		}
	} else {
		e, err := w.entry()
		if err != nil {
			return err
		}
		if e == nil {
			return failure.Laterf("the ledger's entry of this load was just removed; try again")
		}
		if err := w.adopt(ctx, e); err != nil {
			return err
		}
	}
	w.report.fill(w.manifest)
	w.report.Load.Wanted, w.report.Status = true, outcome.Nothing
	return nil
}

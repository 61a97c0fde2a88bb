package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/output"
	"bulkload/jobs/preflight"
	"bulkload/jobs/site"
	"bulkload/jobs/source"
	"bulkload/jobs/tablelock"
)

// CheckReport is what the checks of several runs found, without the runs.
type CheckReport struct {
	outcome.Outcome
	Runs []*CheckedRun `json:"runs"`
}

// CheckedRun is what the checks of one run found.
type CheckedRun struct {
	Run    jobfile.RunInfo    `json:"run"`
	Checks preflight.Findings `json:"checks"`
}

// Finding is preflight.Finding.
type Finding = preflight.Finding

// The values of Finding.State.
const (
	CheckOK      = preflight.OK
	CheckWarning = preflight.Warning
	CheckFailed  = preflight.Failed
	CheckUnknown = preflight.Unknown
)

// Check makes all checks of runs and nothing else: no input is read, no file is written that stays. The error is of the
// worst kind among the failures. Unlike a run it goes on after a failure as far as it can.
func Check(ctx context.Context, all []*jobfile.Job, o options.Options) (*CheckReport, error) {
	report := &CheckReport{Outcome: outcome.New(), Runs: []*CheckedRun{}}
	o, err := o.WithDefaults()
	if err != nil {
		return report, err
	}
	var failed preflight.Findings
	checks := 0
	for _, j := range all {
		c := &checking{r: &runner{job: j, options: o, lost: func(error) {}}}
		err := errors.Join(c.run(ctx), c.r.close())
		for _, remove := range c.made {
			remove()
		}
		report.Runs = append(report.Runs, &CheckedRun{Run: j.Info(), Checks: c.found})
		if err != nil {
			return report, err
		}
		checks += len(c.found)
		failed = append(failed, c.found.Failed()...)
	}
	if len(failed) == 0 {
		report.Status = outcome.Done
		return report, nil
	}
	name, worst := failed.Worst()
	return report, fmt.Errorf("%d of %d checks failed; the worst is %s: %w", len(failed), checks, name, worst)
}

// checking is the checks of one run at work. What a run would open is opened one after the other; what can't be opened is
// a finding.
type checking struct {
	r     *runner // opens what a run opens; nothing is run
	found preflight.Findings
	made  []func() // remove the directories that the checks make
}

func (c *checking) ok(name, format string, args ...any) {
	c.found = append(c.found, preflight.Finding{Name: name, State: preflight.OK, Detail: fmt.Sprintf(format, args...)})
}

func (c *checking) fail(name string, err error) {
	c.found = append(c.found, preflight.Fail(name, err, ""))
}

// run makes the checks. The error is only that the context ended.
func (c *checking) run(ctx context.Context) (err error) {
	j, o := c.r.job, c.r.options
	if c.r.site, err = site.Open(o, j.HBase, j.Remote(!o.NoLoad)); err != nil {
		c.fail("site files", err)
		return nil
	}
	c.openInput()
	if j.Connects(!o.NoLoad) {
		if c.r.cluster, err = c.r.site.Connect(ctx); err != nil {
			c.fail("hbase", err)
		} else {
			c.ok("hbase", "a master answers")
		}
	}
	if j.Load && !o.NoLoad {
		if c.r.ledger, err = c.r.site.TryLedger(); err != nil {
			c.fail("ledger", err)
		} else {
			c.ok("ledger", "%s", c.r.ledger.URI())
		}
	}
	for _, out := range j.Feeds() {
		c.checkOutput(ctx, out)
	}
	opened := !slices.ContainsFunc(c.r.outputs, func(w *outputRun) bool { return w.out.FS == nil })
	if c.r.source != nil && opened {
		c.found = append(c.found, c.r.checkDisk(c.r.outputs)...)
	}
	return ctx.Err()
}

func (c *checking) openInput() {
	var err error
	c.r.source, err = source.Open(c.r.job, c.r.site)
	var missing *source.MissingError
	switch {
	case err == nil:
		c.ok("input", "%s, %s", jobfile.Plural(len(c.r.source.Files), "file"), bytesize.Format(c.r.source.Bytes))
	case errors.As(err, &missing) && mayBeArchived(c.r.job, c.r.options) && wasLoaded(c.r.job, c.r.options, c.r.site):
		c.ok("input", "it does not exist any more; it was loaded earlier")
	default:
		c.fail("input", err)
	}
}

// checkOutput makes the checks of one output.
func (c *checking) checkOutput(ctx context.Context, out *jobfile.Job) {
	w := newOutputRun(&output.Dir{Job: out, Options: c.r.options, Site: c.r.site, Source: c.r.source,
		Manifest: &manifest.Manifest{State: manifest.Writing}})
	w.part = c.r.job.Part(out)
	if out.Connects(!c.r.options.NoLoad) {
		w.loader.Cluster = c.r.cluster
	}
	c.r.outputs = append(c.r.outputs, w)
	opening, closed := c.openOutput(ctx, w)
	found := preflight.Findings{opening}
	if c.r.ledger != nil && w.out.WantsLoad() {
		w.loader.Table = tablelock.Open(c.r.ledger, out.Table, c.r.site.User, title(out), "", c.r.lost)
	}
	o := w.checks()
	o.Brief = false
	if w.out.Lock == nil {
		o.Temps, o.Closed = nil, closed
	}
	found = append(found, o.Check(ctx)...)
	w.target = o.Target
	if c.r.source != nil {
		found = append(found, w.checkSize()...)
	}
	c.found = append(c.found, c.r.label(w, found)...)
}

// openOutput locks an output for the time of the check, and says what is in it. closed is why it can't be locked.
func (c *checking) openOutput(ctx context.Context, w *outputRun) (found preflight.Finding, closed error) {
	c.rememberMissing(w)
	if err := w.out.Open(ctx, c.r.lost); err != nil {
		return preflight.Fail(outputName, err, ""), err
	}
	return c.describeOutput(w), nil
}

const outputName = "output" // of the check

// describeOutput says what is in a locked output.
func (c *checking) describeOutput(w *outputRun) preflight.Finding {
	const name = outputName
	at := w.out.FS.URI(w.out.Path)
	ok := preflight.Finding{Name: name, State: preflight.OK}
	old, err := manifest.Read(w.out.FS, w.out.Path)
	switch {
	case err != nil:
		return preflight.Fail(name, err, "")
	case old == nil:
		ok.Detail = fmt.Sprintf("%s can be written and has no run", at)
		return ok
	}
	fresh := &manifest.Manifest{JobHash: w.out.Job.Hash(), Run: w.out.Job.Info(), Timestamp: w.out.Job.Timestamp, Inputs: old.Inputs} // of the input nothing is compared
	if begun := old.State != manifest.Writing || len(old.Slices) > 0; begun && !c.r.options.Force {
		if err := w.out.CheckJob(old, fresh); err != nil {
			return preflight.Fail(name, err, "")
		}
	}
	w.out.Manifest = old
	ok.Detail = fmt.Sprintf("%s has run %s, which is %s", at, old.Run.ID, old.State)
	return ok
}

// rememberMissing has the directories above an output removed that do not exist yet: locking it makes them.
func (c *checking) rememberMissing(w *outputRun) {
	fsys, dir, err := c.r.site.Resolve(w.out.Job.Output, w.out.Job.Dir)
	if err != nil {
		return // the same error is found next
	}
	missing, _ := storage.Missing(fsys, path.Dir(dir)) // the same error is found next
	c.made = append(c.made, func() {
		storage.RemoveEmpty(fsys, missing)
		_ = fsys.Close() // nothing was written
	})
}

// JobsOf are the jobs of several series, in order.
func JobsOf(all []Series) (every []*jobfile.Job) {
	for _, one := range all {
		every = append(every, one...)
	}
	return slices.Clip(every)
}

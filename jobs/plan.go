package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/planning"
	"bulkload/jobs/progress"
	"bulkload/keys"
	"bulkload/load"
)

// PlanReport says what a run would do.
type PlanReport struct {
	outcome.Outcome
	Run jobfile.RunInfo `json:"run"`
	planning.Report
	Outputs  []*PlanReport `json:"outputs,omitempty"`  // of a job with several: what stands above is theirs then
	Compared *PlanReport   `json:"compared,omitempty"` // another key for the same data
}

// PlanOptions say what a plan is to do.
type PlanOptions struct {
	Sample     int64        // rows to read, spread over the input; 0: all
	Create     bool         // make the table as planned
	CheckLive  bool         // look up whether row keys are in the table already
	Now        time.Time    // zero: the clock
	Growth     int64        // bytes of input that a day brings; 0: as many as the input has, where its path holds ${date}
	Expression string       // another row key for the same input, to compare with
	Job        *jobfile.Job // another job to compare with
	SplitsFile string       // where to write the splits; "": nowhere
	Page       string       // where to write the report as a page; "": nowhere

	askStatus func(*load.Cluster, context.Context) (*load.Status, error) // for tests of a cluster that does not say
}

// Plan reads the input, or a sample of it, and changes nothing, save that with Create it makes the table with the splits
// and settings that it shows, and writes the files that are asked for.
func Plan(ctx context.Context, j *jobfile.Job, o options.Options, p PlanOptions) (*PlanReport, error) {
	report := newPlanReport(j)
	err := p.plan(ctx, j, o, report)
	if err == nil && p.Job != nil {
		report.Compared, err = p.other(ctx, o)
	}
	if err == nil {
		err = p.writeFiles(report)
	}
	if err == nil {
		report.Status = outcome.Done
	} else if ctx.Err() != nil {
		err = failure.New(failure.Interrupted, err)
	}
	return report, err
}

func newPlanReport(j *jobfile.Job) *PlanReport {
	return &PlanReport{Outcome: outcome.New(), Run: j.Info(), Report: planning.Report{
		Rejects: []planning.RejectReason{}, Queries: []planning.Asked{}, Regions: []planning.Region{}, Splits: []string{},
		Families: []string{}, Checks: []planning.Finding{}}}
}

// plan plans one job: each of its outputs, and the other key.
func (p *PlanOptions) plan(ctx context.Context, j *jobfile.Job, o options.Options, report *PlanReport) (err error) {
	if o, err = o.WithDefaults(); err != nil {
		return err
	}
	if p.Now.IsZero() {
		p.Now = time.Now()
	}
	w := &planner{PlanOptions: *p, job: j, options: o}
	for _, out := range j.Feeds() {
		r := report
		if j.Outputs != nil {
			r = newPlanReport(out)
			report.Outputs = append(report.Outputs, r)
		}
		w.candidates = append(w.candidates, &candidate{job: out, report: r})
	}
	if p.SplitsFile != "" && j.Outputs != nil {
		return failure.Usagef("%s has several outputs, whose splits differ; --splits-file writes those of a job with one", j.Path)
	}
	if p.Expression != "" && j.Outputs != nil {
		return failure.Usagef("%s has several outputs; compare the key of one of them in a job file of its own", j.Path)
	}
	if p.Expression != "" {
		other, err := withKey(w.candidates[0].job, p.Expression)
		if err != nil {
			return err
		}
		report.Compared = newPlanReport(other)
		w.candidates = append(w.candidates, &candidate{job: other, report: report.Compared, proposed: true})
	}
	return errors.Join(w.run(ctx), w.close())
}

// other plans the job to compare with, which makes and writes nothing.
func (p *PlanOptions) other(ctx context.Context, o options.Options) (*PlanReport, error) {
	quiet := PlanOptions{Sample: p.Sample, CheckLive: p.CheckLive, Now: p.Now, Growth: p.Growth, askStatus: p.askStatus}
	report, err := Plan(ctx, p.Job, o, quiet)
	if err != nil {
		err = fmt.Errorf("plan %s: %w", p.Job.Path, err)
	}
	return report, err
}

// withKey is a job with another row key.
func withKey(j *jobfile.Job, expression string) (*jobfile.Job, error) {
	other := *j
	var err error
	if other.RowKey, err = keys.Parse(expression, j.KeyColumns()); err != nil {
		return nil, failure.Usagef("--compare: %w", err)
	}
	return &other, nil
}

// planner is one Plan: a reading, and what it feeds.
type planner struct {
	PlanOptions
	job        *jobfile.Job
	options    options.Options
	site       *site
	source     *source
	cluster    *load.Cluster
	status     *load.Status // nil without a cluster, or where it does not say
	unknown    error        // why it does not say
	candidates []*candidate
	meter      *progress.Meter
	reading    planReading
}

// candidate is a table and a row key that the input is planned for.
type candidate struct {
	job       *jobfile.Job
	report    *PlanReport
	proposed  bool        // another key than the job's: its regions are suggestions
	table     *load.Table // nil: it is not there, or nobody asked
	target    *target
	open      bool // the regions are suggestions, and may follow from what is read
	beginning beginning
	stats     *planStatistics
	rates     planning.Rates
	measured  []float64 // seconds of work that the rates rest on, without Read
}

func (p *planner) run(ctx context.Context) (err error) {
	j := p.job
	live := p.Create || p.CheckLive
	for _, c := range p.candidates {
		live = live || c.job.Regions.From == "table"
	}
	if p.site, err = openSite(p.options, j.HBase, live || j.Remote(false)); err != nil {
		return err
	}
	if p.source, err = openSource(j, p.site); err != nil {
		return err
	}
	if live {
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	for _, c := range p.candidates {
		if err := p.planTable(ctx, c); err != nil {
			return err
		}
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	for _, c := range p.candidates {
		if err := p.finish(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) close() error {
	var errs []error
	if p.cluster != nil {
		errs = append(errs, p.cluster.Close())
	}
	if p.source != nil {
		errs = append(errs, p.source.close())
	}
	return errors.Join(errs...)
}

// finish turns what was read into a candidate's report.
func (p *planner) finish(ctx context.Context, c *candidate) error {
	if err := p.fill(c); err != nil {
		return err
	}
	if err := p.fillLive(ctx, c); err != nil {
		return err
	}
	p.forecast(c)
	c.report.Checks = planning.Check(&c.report.Report, p.facts(c))
	c.report.Status = outcome.Done
	if p.Create && !c.proposed {
		return p.create(ctx, c)
	}
	return nil
}

// create makes the table as it was planned.
func (p *planner) create(ctx context.Context, c *candidate) error {
	var families []load.Family
	for _, f := range c.target.families {
		families = append(families, load.Family{Name: f.name, Compression: f.settings.Compression.String(),
			DataBlockEncoding: f.settings.Encoding.String(), BloomFilter: f.settings.Bloom.String(), BlockSize: f.settings.BlockSize})
	}
	if err := p.cluster.Create(ctx, c.job.Table, families, c.target.splits); err != nil {
		return fmt.Errorf("create table %s: %w", c.job.Table, err)
	}
	c.report.Created = true
	return nil
}

// writeFiles writes the splits and the page where they are asked for.
func (p *PlanOptions) writeFiles(report *PlanReport) error {
	if p.SplitsFile != "" {
		if err := writePlanFile(p.SplitsFile, func(f *os.File) error { return planning.WriteSplits(f, report.Splits) }); err != nil {
			return err
		}
	}
	if p.Page != "" {
		return writePlanFile(p.Page, func(f *os.File) error { return planning.WritePage(f, report.page()) })
	}
	return nil
}

func writePlanFile(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write what plan found: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

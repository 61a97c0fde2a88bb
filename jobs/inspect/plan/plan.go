// Package plan reads a job's input, or a sample of it, and reports what a run would do: regions, sizes, skew,
// queries, time. The statistics, checks and rules are in stats.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/page"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/keys"
	"bulkload/load"
)

// PlanReport describes what a run would do.
type PlanReport struct {
	failure.Outcome
	Run jobfile.RunInfo `json:"run"`
	// InputReport is nil if there are several outputs, each of which has its own.
	*stats.InputReport
	Outputs  []*PlanReport `json:"outputs,omitempty"`  // one for each output, if there are several
	Compared *PlanReport   `json:"compared,omitempty"` // another key for the same data
}

// PlanOptions are the options of a plan.
type PlanOptions struct {
	Sample     int64        // rows to read, spread over the input; 0: all
	Create     bool         // create the table as planned
	CheckLive  bool         // look up whether row keys are already in the table
	Now        time.Time    // zero: the clock
	Dates      int          // number of dates for which the job will be run, starting with this one; 0: one
	Growth     int64        // bytes of input a day; 0: the size of this input, if its path has ${date}
	Expression string       // another row key for the same input, to compare with
	Job        *jobfile.Job // another job to compare with
	SplitsFile string       // where to write the splits; "": nowhere
	Page       string       // where to write the report as a page; "": nowhere
	NoRecords  bool         // leave out records and query keys of the input

	AskStatus func(*load.Cluster, context.Context) (*load.Status, error) // test hook: replaces Cluster.Status
}

// Run reads the input, or a sample of it. Its only changes are the files that the caller requested and, with Create,
// the table, with the splits and settings that it shows.
func Run(ctx context.Context, j *jobfile.Job, o options.Options, p PlanOptions) (*PlanReport, error) {
	report := newPlanReport(j)
	if j.Outputs != nil {
		report.InputReport = nil
	}
	err := p.plan(ctx, j, o, report)
	if err == nil && p.Job != nil {
		report.Compared, err = p.other(ctx, o)
	}
	if err == nil {
		err = p.writeFiles(report)
	}
	if err == nil {
		report.Status = failure.StatusDone
	} else if ctx.Err() != nil {
		err = failure.New(failure.Interrupted, err)
	}
	return report, err
}

func newPlanReport(j *jobfile.Job) *PlanReport {
	return &PlanReport{Outcome: failure.NewOutcome(), Run: j.Info(), InputReport: &stats.InputReport{
		Rejects: []stats.RejectCount{}, Queries: []stats.QueryLoad{}, Regions: []stats.PlannedRegion{}, Splits: []string{},
		Families: []string{}, Checks: []stats.Finding{}}}
}

// plan plans one job: each of its outputs, and the key to compare with.
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
		return errcode.Command.Errorf("%s has several outputs, whose splits differ; --splits-file works only for a job "+
			"with one output", j.Path)
	}
	if p.Expression != "" && j.Outputs != nil {
		return errcode.Command.Errorf("%s has several outputs; compare the key of one of them in its own job file", j.Path)
	}
	if p.Job != nil && (j.Outputs != nil || p.Job.Outputs != nil) {
		several := j
		if j.Outputs == nil {
			several = p.Job
		}
		return errcode.Command.Errorf("%s has several outputs, and --compare shows two tables side by side; give job files "+
			"with one output", several.Path)
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

// other plans the job to compare with. It creates no table and writes no files.
func (p *PlanOptions) other(ctx context.Context, o options.Options) (*PlanReport, error) {
	quiet := *p
	quiet.Create, quiet.SplitsFile, quiet.Page, quiet.Expression, quiet.Job = false, "", "", "", nil
	report, err := Run(ctx, p.Job, o, quiet)
	if err != nil {
		err = fmt.Errorf("plan %s: %w", p.Job.Path, err)
	}
	return report, err
}

// withKey returns a copy of the job with another row key.
func withKey(j *jobfile.Job, expression string) (*jobfile.Job, error) {
	other := *j
	var err error
	if other.RowKey, err = keys.Parse(expression, j.KeyColumns()); err != nil {
		return nil, errcode.JobRowkey.Errorf("--compare: %w", err)
	}
	return &other, nil
}

// planner holds the state of one plan: the input is read once, for all candidates.
type planner struct {
	PlanOptions
	job        *jobfile.Job
	options    options.Options
	site       *site.Site
	source     *source.Source
	cluster    *load.Cluster
	status     *load.Status // nil without a cluster, or if the cluster does not report it
	unknown    error        // why there is no status
	candidates []*candidate
	meter      *options.Meter
	reading    planReading
}

// candidate is a table and a row key to plan for.
type candidate struct {
	job       *jobfile.Job
	report    *PlanReport
	proposed  bool        // the key is not the job's, so its regions are proposals
	table     *load.Table // nil if it does not exist or was not looked up
	target    *targets.Target
	open      bool // the regions are provisional until the input is read
	beginning leadingPart
	stats     *planStatistics
	rates     stats.Rates
	measured  []float64 // seconds of work behind each rate except Read
}

func (p *planner) run(ctx context.Context) (err error) {
	j := p.job
	live := p.Create || p.CheckLive
	for _, c := range p.candidates {
		live = live || c.job.Regions.From == "table"
	}
	if p.site, err = site.Open(p.options, j.HBase, live || j.Remote(false)); err != nil {
		return err
	}
	if p.source, err = source.Open(j, p.site); err != nil {
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
		errs = append(errs, p.source.Close())
	}
	return errors.Join(errs...)
}

// finish completes a candidate's report from what was read.
func (p *planner) finish(ctx context.Context, c *candidate) error {
	if err := p.fill(c); err != nil {
		return err
	}
	if err := p.fillLive(ctx, c); err != nil {
		return err
	}
	p.forecast(c)
	c.report.Checks = stats.Check(c.report.InputReport, p.facts(c))
	c.report.Status = failure.StatusDone
	if !p.Create || c.proposed {
		return nil
	}
	if c.table != nil {
		c.report.Existed = true
		return nil
	}
	return p.create(ctx, c)
}

// create creates the table as planned.
func (p *planner) create(ctx context.Context, c *candidate) error {
	var families []load.Family
	for _, f := range c.target.Families {
		families = append(families, load.Family{Name: f.Name, Compression: f.Settings.Compression.String(),
			DataBlockEncoding: f.Settings.Encoding.String(), BloomFilter: f.Settings.Bloom.String(),
			BlockSize: f.Settings.BlockSize})
	}
	namespace, err := p.cluster.Create(ctx, c.job.Table, families, c.target.Splits)
	if err != nil {
		return err
	}
	c.report.CreatedNamespace = namespace
	c.report.Created = true
	return nil
}

// writeFiles writes the splits and the page if requested.
func (p *PlanOptions) writeFiles(report *PlanReport) error {
	if p.SplitsFile != "" {
		if err := writePlanFile(p.SplitsFile,
			func(f *os.File) error { return stats.WriteSplits(f, report.Splits) }); err != nil {
			return err
		}
	}
	if p.Page != "" {
		return page.WriteFile(p.Page, func(w io.Writer) error { return page.WritePlan(w, report.page()) })
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

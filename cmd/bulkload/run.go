package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/throttle"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

type runCommand struct {
	Jobs []string `arg:"" name:"job" help:"The job file, or several."`
	dated
	ranged
	Parallel   int            `default:"1" placeholder:"N" help:"Runs up to N job files side by side; they share --memory (default: 1, one after the other)."`
	Force      bool           `help:"Starts over, even if the output's run is finished."`
	NoLoad     bool           `help:"Stops before the load."`
	OnChange   string         `placeholder:"fail|reload" enum:"fail,reload" default:"fail" help:"What to do if the input of a finished run has changed: fail (default), or reload, which writes and loads it again."`
	Wait       time.Duration  `placeholder:"TIME" help:"Waits up to this long, such as 2h, for an input that does not exist yet."`
	WaitSettle *time.Duration `placeholder:"TIME" help:"How long the files must stay unchanged before --wait treats them as complete, unless the job has require_success (default: 1m)."`
	busy
	Lookups int64 `default:"20000" placeholder:"ROWS" help:"With duplicates.live: looks up at most so many rows a second in the tables (default: 20000)."`
	engineFlags
	Check bool `help:"Makes all checks of the run and nothing else. Of the input it reads only files that have changed since that date was run, and it changes nothing."`
	reportFlag
	metricsFlags

	limit *throttle.Limit // of all look-ups
}

func (c *runCommand) do(ctx context.Context, s *session) (report, error) {
	if c.Parallel < 1 {
		return nil, usage(fmt.Errorf("--parallel %d: give 1 or more", c.Parallel))
	}
	if c.Lookups < 1 {
		return nil, usage(fmt.Errorf("--lookups %d: give 1 or more rows a second", c.Lookups))
	}
	if err := errors.Join(c.metricsFlags.check(), c.reportFlag.check()); err != nil {
		return nil, err
	}
	if c.Check && c.Report != "" {
		return nil, usage(errCheckReports)
	}
	if err := c.checkEngine(s); err != nil {
		return nil, err
	}
	engine := func(job *jobfile.Job, o options.Options) (*run.TaskEngine, error) { return c.taskEngine(s, job, o) }
	c.limit = throttle.NewCount(ctx, c.Lookups)
	s.reported = s.newReported(c.reportFlag)
	if !c.Check { // checks alone are not a run
		s.measured = newMeasured(c.metricsFlags, runMetrics, c.Jobs...)
	}
	dates, err := c.list(&c.dated)
	if err != nil {
		return nil, err
	}
	all, err := c.readAll(ctx, dates)
	if err != nil {
		return nil, err
	}
	if c.Check {
		return c.onlyCheck(ctx, s, all)
	}
	if c.DryRun {
		return c.dryRun(s, all)
	}
	if s.reported != nil {
		s.reported.wanted = all
	}
	if len(all) > 1 || dates != nil {
		return c.several(ctx, s, all, engine)
	}
	job := all[0][0]
	began := time.Now()
	sum, err := run.Job(ctx, engine, job, c.prepare(job, s.options()))
	took := time.Since(began)
	s.endBar()
	setOutcome(&sum.Outcome, err)
	s.reported.add(sum, took)
	writeSummary(s.people(), sum, took, s.Verbose > 0)
	return sum, err
}

// onlyCheck makes the checks of all runs.
func (c *runCommand) onlyCheck(ctx context.Context, s *session, all []jobs.Series) (report, error) {
	o := c.prepare(all[0][0], s.options())
	r, err := jobs.Check(ctx, slices.Concat(all...), o)
	s.endBar()
	writeRunChecks(s.answers(), r, s.Log == "" && coloured(s.stdout) && !s.JSON.wanted())
	return r, err
}

// readAll reads every job file for every date before the first run begins. dates is nil without a range.
func (c *runCommand) readAll(ctx context.Context, dates []jobfile.LogicalDate) (all []jobs.Series, err error) {
	for i, path := range c.Jobs {
		if slices.ContainsFunc(c.Jobs[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) }) {
			return nil, usage(fmt.Errorf("%s is given twice", path))
		}
		var one jobs.Series
		if dates == nil {
			one = make(jobs.Series, 1)
			if one[0], err = c.read(ctx, path, jobfile.ReadOptions{}); err != nil {
				return nil, err
			}
		}
		for _, date := range dates {
			job, err := c.read(ctx, path, jobfile.ReadOptions{Date: date.Time, Hour: date.Hour})
			if err != nil {
				return nil, err
			}
			one = append(one, job)
		}
		if _, err := c.waiting(one[0].Input.RequireSuccess); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, c.checkUsed()
}

// prepare returns the options of a run. readAll has checked the command line.
func (c *runCommand) prepare(job *jobfile.Job, o options.Options) options.Options {
	o.Force, o.NoLoad, o.OnBusy, o.Lookups = c.Force, c.NoLoad, c.onBusy(), c.limit
	if c.OnChange == "reload" {
		o.OnChange = options.Reload
	}
	o.Wait, _ = c.waiting(job.Input.RequireSuccess)
	return o
}

// waiting is how long a run waits for its input.
func (c *runCommand) waiting(requireSuccess bool) (options.Wait, error) {
	wait := options.Wait{For: c.Wait, QuietPeriod: options.DefaultQuietPeriod}
	if c.WaitSettle != nil {
		if wait.QuietPeriod = *c.WaitSettle; wait.QuietPeriod <= 0 {
			wait.QuietPeriod = -1 // because 0 means the default
		}
	}
	switch {
	case c.Wait < 0:
		return wait, usage(fmt.Errorf("--wait %v: give a time such as 2h or 30m", c.Wait))
	case c.Wait == 0 && c.WaitSettle != nil:
		return wait, usage(errors.New("--wait-settle needs --wait, such as --wait 2h"))
	case c.Wait > 0 && c.Wait <= wait.QuietPeriod && !requireSuccess:
		return wait, usage(fmt.Errorf("--wait %v must be longer than the %v for which the files must stay unchanged "+
			"(--wait-settle)", c.Wait, wait.QuietPeriod))
	}
	return wait, nil
}

// several runs job files, each for its dates, and reports them together.
func (c *runCommand) several(ctx context.Context, s *session, all []jobs.Series, engine run.EngineOf) (report, error) {
	o := jobs.SeveralOptions{Options: s.options(), By: engine, Parallel: c.Parallel}
	o.Prepare = func(job *jobfile.Job, o options.Options) options.Options {
		if c.Parallel > 1 && len(all) > 1 {
			o.Log = s.labelled(job)
		}
		return c.prepare(job, o)
	}
	o.Ended = func(sum *summary.Summary, err error, took time.Duration) {
		setOutcome(&sum.Outcome, err)
		s.endBar()
		s.reported.add(sum, took)
		s.measured.ended(sum.Run.Job, ended{sum, sum.Exit, took})
		s.logRun(sum, took)
		writeSummary(s.people(), sum, took, s.Verbose > 0)
		if err != nil {
			fmt.Fprintf(s.people(), "  %-8s %s\n", "error", continued(failure.TextOf(err)))
		}
	}
	c.adviseHistory(s, all[0])
	r, err := jobs.RunSeveral(ctx, all, o)
	s.endBar()
	writeSeveral(s.people(), r, all)
	return r, err
}

// manyDates is the number of runs after which a region has so many files that HBase, by default, delays writes to it.
const manyDates = 16

// adviseHistory advises loading many dates in one run, which makes fewer files.
func (c *runCommand) adviseHistory(s *session, series jobs.Series) {
	if job := series[0]; len(series) >= manyDates && job.Load && !c.NoLoad {
		s.log.Warn(fmt.Sprintf("%d dates of %s are %d loads, and each adds a file to every region. One run over a glob, "+
			"with timestamp: column:NAME, adds only one; see plan %s --from %s --to %s",
			len(series), job.Info().Job, len(series), c.Jobs[0], series[0].DateText(), series[len(series)-1].DateText()))
	}
}

// labelled is the logger of one of several runs that log at the same time. It shows people which run a line is from.
func (s *session) labelled(job *jobfile.Job) *slog.Logger {
	label := job.Info().Job
	if date := job.DateText(); date != "" {
		label += " " + date
	}
	plain := s.plain
	if p, ok := plain.(*plainHandler); ok {
		one := *p
		one.label = label + ": "
		plain = &one
	}
	return slog.New(slog.NewMultiHandler(s.records.Handler(), plain))
}

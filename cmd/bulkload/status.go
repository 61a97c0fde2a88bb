package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/inspect/status"
	"bulkload/jobs/spec/jobfile"
)

type statusCommand struct {
	Jobs []string `arg:"" name:"job" help:"The job file, or several."`
	dated
	ranged
	Fail bool `help:"Ends with 1 if one of the runs was never begun."`
}

func (c *statusCommand) do(ctx context.Context, s *session) (report, error) {
	wanted, err := c.wanted(ctx)
	if err != nil {
		return nil, err
	}
	r, err := status.Collect(ctx, wanted, s.options())
	s.endBar()
	writeStatus(s.answers(), r, s.Verbose > 0)
	if c.Fail && err == nil {
		for _, run := range r.Runs {
			if run.State == status.None {
				return r, errcode.NotFound.Errorf("%s: nothing was written or loaded for table %s and date %s", run.Job, run.Table,
					cmp.Or(run.Date, "none"))
			}
		}
	}
	return r, err
}

// wanted reads the job files for all dates. Without a date, a job that needs one is described by the ledger.
func (c *statusCommand) wanted(ctx context.Context) (all []status.Wanted, err error) {
	dates, err := c.list(&c.dated)
	if err != nil {
		return nil, err
	}
	for _, path := range c.Jobs {
		if dates == nil {
			one, err := c.undated(ctx, path)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		for _, date := range dates {
			job, err := c.read(ctx, path, jobfile.ReadOptions{Date: date.Time, Hour: date.Hour})
			if err != nil {
				return nil, err
			}
			all = append(all, status.Wanted{Job: job})
		}
	}
	return all, nil
}

// undated reads a job file for --date, or else for all dates that the ledger has.
func (c *statusCommand) undated(ctx context.Context, path string) (status.Wanted, error) {
	job, err := c.read(ctx, path, jobfile.ReadOptions{})
	if err == nil || c.Date != nil {
		return status.Wanted{Job: job}, err
	}
	job, failed := c.read(ctx, path, jobfile.ReadOptions{DateOptional: true})
	if failed != nil {
		return status.Wanted{}, err // which says more
	}
	return status.Wanted{Job: job, History: true}, nil
}

// writeStatus prints two lines or more for each run.
func writeStatus(w io.Writer, r *status.Report, verbose bool) {
	for _, run := range r.Runs {
		title := run.Job
		if run.Date != "" {
			title += " for " + run.Date
		}
		fmt.Fprintf(w, "%s into table %s: %s\n", title, run.Table, run.State)
		writeRun(w, run, verbose)
	}
	if len(r.Runs) == 0 {
		fmt.Fprintln(w, "the ledger has no load of this job")
	}
}

func writeRun(w io.Writer, run *status.Run, verbose bool) {
	if run.ID != "" {
		line(w, "run", "%s; %s in %s, %d of them loaded; %s", run.ID, plural(run.Rows, "row"),
			jobfile.Plural(run.Files, "file"), run.Loaded, place(run.Output))
	}
	if run.Digest != nil {
		line(w, "digest", "%v", run.Digest)
	}
	if !run.When.IsZero() {
		line(w, "load", "%s, by %s on %s, with bulkload %s", run.When.Format(time.RFC3339), run.User, run.Host, run.Version)
		if verbose {
			line(w, "program", "%s", run.Program)
		}
	}
	if run.Running != "" {
		line(w, "running", "%s", run.Running)
	}
	for _, other := range run.Others {
		line(w, "beside", "%s", other)
	}
	if run.Waits != "" {
		line(w, "waits", "%s", run.Waits)
	}
	if run.Error != "" {
		line(w, "error", "%s", run.Error)
	}
}

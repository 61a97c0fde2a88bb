package main

import (
	"fmt"
	"io"

	"bulkload/jobs"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// writeRunChecks prints a table of checks for each run.
func writeRunChecks(w io.Writer, r *jobs.CheckReport, colours bool) {
	for _, run := range r.Runs {
		title := fmt.Sprintf("%s into table %s", run.Run.Job, run.Run.Table)
		if run.Run.Date != "" {
			title = fmt.Sprintf("%s for %s into table %s", run.Run.Job, run.Run.Date, run.Run.Table)
		}
		fmt.Fprintln(w, title)
		for i := range run.Checks {
			writeCheck(w, &run.Checks[i], colours)
		}
		fmt.Fprintf(w, "  %s\n", countChecks(run))
	}
}

// writeCheck prints one check, and its remedy in a second line.
func writeCheck(w io.Writer, f *preflight.CheckResult, colours bool) {
	state := fmt.Sprintf("%-8s", f.State)
	switch f.State {
	case preflight.Failed:
		state = paint(colours, red, state)
	case preflight.Warning:
		state = paint(colours, yellow, state)
	}
	name := f.Name
	if f.Table != "" {
		name = f.Table + " " + name
	}
	code := ""
	if f.Code != "" {
		code = fmt.Sprintf(" [%s]", f.Code)
	}
	fmt.Fprintf(w, "  %s %-16s  %s%s\n", state, name, f.Detail, code)
	if f.Fix != "" {
		fmt.Fprintf(w, "  %8s %16s  do: %s\n", "", "", f.Fix)
	}
}

// countChecks counts the checks by their state.
func countChecks(run *jobs.CheckedRun) string {
	count := map[any]int{}
	for _, f := range run.Checks {
		count[f.State]++
	}
	return fmt.Sprintf("%s: %d ok, %d failed, %d with a warning, %d unknown", jobfile.Plural(len(run.Checks), "check"),
		count[preflight.OK], count[preflight.Failed], count[preflight.Warning], count[preflight.Unknown])
}

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/upkeep/retention"
)

type listCommand struct {
	Dir string `arg:"" help:"The directory to search for outputs: a path or hdfs://…"`
}

func (c *listCommand) do(_ context.Context, s *session) (report, error) {
	r, err := retention.List(c.Dir, s.options())
	s.endBar()
	if err == nil {
		writeOutputs(s.answers(), r)
	}
	return r, err
}

type cleanCommand struct {
	Dir              string `arg:"" help:"The directory to search for outputs: a path or hdfs://…"`
	OlderThan        age    `placeholder:"AGE" help:"Deletes outputs, and their rejects, that were loaded longer ago than this, such as 30d or 12h."`
	RejectsOlderThan age    `placeholder:"AGE" help:"Deletes rejects older than this, and files of the same age that failed runs left in --work-dir."`
	DryRun           bool   `short:"n" help:"Deletes nothing; lists what would be deleted."`
}

func (c *cleanCommand) do(ctx context.Context, s *session) (report, error) {
	rules := retention.Rules{Outputs: time.Duration(c.OlderThan),
		Rejects: time.Duration(c.RejectsOlderThan), DryRun: c.DryRun}
	r, err := retention.Clean(ctx, c.Dir, rules, s.options())
	s.endBar()
	writeCleaned(s.people(), r, c.DryRun)
	return r, err
}

// age is a duration: 30d, or a duration in Go's notation, such as 12h.
type age time.Duration

// UnmarshalText parses an age.
func (a *age) UnmarshalText(text []byte) error {
	const day = 24 * time.Hour
	days, whole := strings.CutSuffix(string(text), "d")
	if n, err := strconv.Atoi(days); whole && err == nil && n > 0 && n <= int(time.Duration(1<<63-1)/day) {
		*a = age(time.Duration(n) * day)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not an age; write it as 30d or 12h", text)
	}
	*a = age(d)
	return nil
}

// writeOutputs lists outputs as lines.
func writeOutputs(w io.Writer, r *retention.Report) {
	fmt.Fprintf(w, "%-8s %-10s %-30s %14s %6s %11s %11s  %s\n", "state", "date", "table", "rows", "files",
		"bytes", "rejects", "output")
	for _, out := range r.Outputs {
		state, note := out.State, ""
		switch {
		case out.Error != "":
			state, note = "damaged", ": "+out.Error
		case out.Locked:
			note = ", locked"
		}
		fmt.Fprintf(w, "%-8s %-10s %-30s %14s %6d %11s %11s  %s%s\n", state, out.Date, out.Table, count(out.Rows), out.Files,
			bytesize.Format(out.Bytes), bytesize.Format(out.Rejects), place(out.URI), note)
	}
}

// writeCleaned reports what became of each output.
func writeCleaned(w io.Writer, r *retention.Report, dryRun bool) {
	would := ""
	if dryRun {
		would = "would be "
	}
	for _, out := range r.Outputs {
		switch {
		case out.Action == "":
		case out.Action == retention.Retained:
			fmt.Fprintf(w, "kept     %s: %s\n", place(out.URI), out.Reason)
		case out.Reason != "":
			fmt.Fprintf(w, "%s%s, the output is kept: %s: %s\n", would, out.Action, place(out.URI), out.Reason)
		default:
			fmt.Fprintf(w, "%s%s  %s\n", would, out.Action, place(out.URI))
		}
	}
	for _, folder := range r.Work {
		fmt.Fprintf(w, "%sdeleted  %s, which a failed run had left\n", would, folder)
	}
	if r.Status == failure.StatusDone {
		fmt.Fprintf(w, "%sfreed: %s\n", would, bytesize.Format(r.Freed))
	}
}

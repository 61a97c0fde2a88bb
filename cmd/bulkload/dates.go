package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// clock returns the current time. Tests have their own.
var clock = time.Now

// dated are the flags of the commands that read a job file. A pointer distinguishes a flag that was not given from one
// given as "", which comes from an empty shell variable.
type dated struct {
	Date *string           `placeholder:"DATE" help:"The logical date, which is $${date} in the job file: a day (2026-11-20, today, yesterday, -2d) or an hour (2026-11-20T05, -1h)."`
	Zone string            `placeholder:"ZONE" help:"The time zone of today, yesterday and hours, such as Asia/Shanghai (default: UTC)."`
	Set  map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Sets $${NAME} in the job file."`

	used map[string]bool // the names of Set that some job file uses
	now  time.Time       // of the command: read once, so that all dates are relative to the same moment
}

// settingName matches the names that --set accepts.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkSet refuses names that --set can't define.
func (d *dated) checkSet() error {
	for name := range d.Set {
		if !settingName.MatchString(name) || name == "date" {
			return usage(fmt.Errorf("--set %s: a name has letters, digits and _, and is not date", name))
		}
	}
	return nil
}

// checkUsed refuses a setting that none of the job files read uses.
func (d *dated) checkUsed() error {
	for _, name := range slices.Sorted(maps.Keys(d.Set)) {
		if !d.used[name] {
			return usage(fmt.Errorf("--set %s: no ${%s} is in the job file", name, name))
		}
	}
	return nil
}

// dates parses dates in the requested zone.
func (d *dated) dates() (jobfile.Dates, error) {
	if d.now.IsZero() {
		d.now = clock()
	}
	zone, err := values.Location(d.Zone)
	if err != nil {
		return jobfile.Dates{}, usage(fmt.Errorf("--zone: %w", err))
	}
	return jobfile.Dates{Now: d.now, Zone: zone}, nil
}

// wantedDate is --date for a log: the day or hour that it means, or else its text, which is refused later.
func (d *dated) wantedDate() []any {
	if d.Date == nil {
		return nil
	}
	text := *d.Date
	if dates, err := d.dates(); err == nil {
		if date, err := dates.Parse(text); err == nil {
			text = date.Text()
		}
	}
	return []any{"date", text}
}

// read reads a job file for the given date. A signal ends it even while reading the file blocks.
func (d *dated) read(ctx context.Context, path string, o jobfile.ReadOptions) (*jobfile.Job, error) {
	if err := d.checkSet(); err != nil {
		return nil, err
	}
	if d.used == nil {
		d.used = map[string]bool{}
	}
	o.Set, o.Used = d.Set, d.used
	if d.Date != nil {
		dates, err := d.dates()
		if err != nil {
			return nil, err
		}
		date, err := dates.Parse(*d.Date)
		if err != nil {
			return nil, err
		}
		o.Date, o.Hour = date.Time, date.Hour
	}
	return orStopped(ctx, func() (*jobfile.Job, error) { return jobfile.Read(path, o) })
}

// orStopped returns the result of work, or ctx's error as soon as ctx ends. Work that changes nothing needs no context
// of its own, because the process ends first.
func orStopped[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("stopped before anything was changed: %w", ctx.Err())
	}
}

// ranged are the flags of the commands that accept many dates.
type ranged struct {
	From *string `placeholder:"DATE" help:"The first of several dates, days or hours, which are run in order."`
	To   *string `placeholder:"DATE" help:"The last of several dates."`
}

// wantedRange is --from and --to for a log, as they were given.
func (r *ranged) wantedRange() (all []any) {
	if r.From != nil {
		all = append(all, "from", *r.From)
	}
	if r.To != nil {
		all = append(all, "to", *r.To)
	}
	return all
}

// list is the range of dates; nil if no range is given.
func (r *ranged) list(d *dated) ([]jobfile.LogicalDate, error) {
	switch {
	case r.From == nil && r.To == nil:
		return nil, nil
	case r.From == nil || r.To == nil:
		return nil, usage(errors.New("give both --from and --to: they are the first and the last date"))
	case d.Date != nil:
		return nil,
			usage(errors.New("--date is one date, --from and --to are a range of dates: give either --date, or --from and --to"))
	}
	dates, err := d.dates()
	if err != nil {
		return nil, err
	}
	return dates.Range(*r.From, *r.To)
}

// relativeDate is a date that looks like a short flag.
var relativeDate = regexp.MustCompile(`^-[0-9]+[a-z]$`)

// joinDates writes "--date -1d" as "--date=-1d", because kong reads everything that begins with a dash as a flag.
func joinDates(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if (arg == "--date" || arg == "--from" || arg == "--to") && i+1 < len(args) && relativeDate.MatchString(args[i+1]) {
			i++
			arg += "=" + args[i]
		}
		joined = append(joined, arg)
	}
	return joined
}

package jobfile

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"bulkload/internal/errcode"
)

// LogicalDate is the day or the hour that a run is for.
type LogicalDate struct {
	Time time.Time // midnight UTC of a day, or the beginning of an hour in the zone of its text
	Hour bool
}

// The texts of an hour: in UTC, and in another zone with its offset, because two hours have the same name when the
// clocks go back.
const (
	hourLayout      = "2006-01-02T15"
	zonedHourLayout = "2006-01-02T15-0700"
)

// Text returns the date as people and file names write it: 2026-11-20, 2026-11-20T05, 2026-11-20T05+0800; "" for the
// zero date.
func (d LogicalDate) Text() string {
	switch {
	case d.Time.IsZero():
		return ""
	case !d.Hour:
		return d.Time.Format(time.DateOnly)
	case d.Time.Location() == time.UTC:
		return d.Time.Format(hourLayout)
	}
	return d.Time.Format(zonedHourLayout)
}

// ParseText returns the moment at which a date in the form of Text begins.
func ParseText(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, hourLayout, zonedHourLayout} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a logical date", text)
}

// Dates reads logical dates as people write them.
type Dates struct {
	Now  time.Time      // the present, for today and the like
	Zone *time.Location // zone of today and of hours without an offset; nil: UTC
}

var relativeDate = regexp.MustCompile(`^-([0-9]{1,6})([dh])$`)

// Parse reads a day (2026-11-20, today, yesterday, -2d: two days ago) or an hour (2026-11-20T05, or 2026-11-20T05+0800
// if the offset is not the zone's; -1h: the hour before this one).
func (d Dates) Parse(text string) (LogicalDate, error) {
	zone := d.Zone
	if zone == nil {
		zone = time.UTC
	}
	if date, ok := d.relative(text, zone); ok {
		return date, checkEpoch(date.Time, text)
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return LogicalDate{Time: t}, checkEpoch(t, text)
	}
	for _, layout := range []string{zonedHourLayout, "2006-01-02T15-07:00", "2006-01-02T15Z"} {
		if t, err := time.Parse(layout, text); err == nil {
			return wholeHour(t.In(zone), text)
		}
	}
	if wall, err := time.Parse(hourLayout, text); err == nil {
		t, err := onClock(wall, zone)
		if err != nil {
			return LogicalDate{}, errcode.CommandDate.Errorf("%s: %w", text, err)
		}
		return wholeHour(t, text)
	}
	return LogicalDate{}, errcode.CommandDate.Errorf(
		"%q is not a date; write it as 2026-11-20, today, yesterday or -2d, an hour as 2026-11-20T05 or -1h", text)
}

// relative reads dates that are relative to the present.
func (d Dates) relative(text string, zone *time.Location) (LogicalDate, bool) {
	now := d.Now.In(zone)
	days := 0
	switch m := relativeDate.FindStringSubmatch(text); {
	case text == "today":
	case text == "yesterday":
		days = 1
	case m == nil:
		return LogicalDate{}, false
	case m[2] == "h":
		n, _ := strconv.Atoi(m[1]) // the pattern bounds it
		begun := now.Add(-time.Duration(now.Minute())*time.Minute - time.Duration(
			now.Second())*time.Second - time.Duration(now.Nanosecond()))
		return LogicalDate{Time: begun.Add(-time.Duration(n) * time.Hour), Hour: true}, true
	default:
		days, _ = strconv.Atoi(m[1])
	}
	return LogicalDate{Time: time.Date(now.Year(), now.Month(), now.Day()-days, 0, 0, 0, 0, time.UTC)}, true
}

// onClock returns the moment at which the clocks of a zone show what wall shows in UTC.
func onClock(wall time.Time, zone *time.Location) (time.Time, error) {
	var found []time.Time
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // the offsets before and after a change
		_, offset := wall.Add(near).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if t.Format(time.DateTime) == wall.Format(time.DateTime) && (found == nil || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return wall, fmt.Errorf("the clocks of %v skip this hour", zone)
	}
	first, second := found[0], found[1]
	if second.Before(first) {
		first, second = second, first
	}
	return wall, fmt.Errorf("the clocks of %v show this hour twice: write %s or %s", zone, first.Format(zonedHourLayout),
		second.Format(zonedHourLayout))
}

func wholeHour(t time.Time, text string) (LogicalDate, error) {
	if t.Minute() != 0 {
		return LogicalDate{}, errcode.CommandDate.Errorf(
			"%s begins at %s in %v, which is not a full hour there; give hours in UTC", text, t.Format("15:04"), t.Location())
	}
	return LogicalDate{Time: t, Hour: true}, checkEpoch(t, text)
}

func checkEpoch(t time.Time, text string) error {
	if t.UnixMilli() <= 0 {
		return errcode.CommandDate.Errorf("the date %s is not after 1970-01-01, from which HBase's timestamps and the "+
			"files' clock values count", text)
	}
	return nil
}

// maxDates bounds a range, because a longer one comes from a mistake in one of its ends.
const maxDates = 10_000

// Range lists the dates between two dates, inclusive: days, or hours if both are given as hours.
func (d Dates) Range(from, to string) ([]LogicalDate, error) {
	first, err1 := d.Parse(from)
	last, err2 := d.Parse(to)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	switch {
	case first.Hour != last.Hour:
		return nil, errcode.CommandDate.Errorf("%s and %s are a day and an hour; give two days, or two hours", from, to)
	case first.Time.After(last.Time):
		return nil, errcode.CommandDate.Errorf("%s is after %s", first.Text(), last.Text())
	}
	var all []LogicalDate
	for at := first; !at.Time.After(last.Time); {
		if len(all) == maxDates {
			return nil, errcode.CommandDate.Errorf("from %s to %s are more than %d dates", first.Text(), last.Text(), maxDates)
		}
		if at.Hour && at.Time.Minute() != 0 {
			return nil, errcode.CommandDate.Errorf("the clocks of %v change by part of an hour before %s; give hours in UTC",
				at.Time.Location(), at.Time.Format(time.RFC3339))
		}
		all = append(all, at)
		if at.Hour {
			at.Time = at.Time.Add(time.Hour)
		} else {
			at.Time = at.Time.AddDate(0, 0, 1)
		}
	}
	return all, nil
}

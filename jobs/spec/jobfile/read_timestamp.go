package jobfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/spec/yamldoc"
	"bulkload/values"
)

// readTimestamp reads a date (midnight UTC), RFC 3339, epoch milliseconds or a column with such values; ${date} if
// the key is missing.
func readTimestamp(j *Job, s *yamldoc.Section) {
	text := s.Undated("timestamp")
	if !s.Has("timestamp") && !s.Doc.Variables.DateOptional {
		if j.Date.IsZero() {
			s.Doc.FailCode(errcode.CommandDate, s.Node, "timestamp is ${date} by default, which %v", yamldoc.ErrNoDate)
			return
		}
		text = j.DateText()
	}
	if text == "" {
		return
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && s.Dated("timestamp") {
		s.Fail("timestamp", "${date:…} gives %s, which would be milliseconds since 1970; write ${date}", text)
		return
	}
	if name, ok := strings.CutPrefix(text, "column:"); ok {
		readMoments(j, s, strings.TrimSpace(name))
		return
	}
	ms, err := parseTimestamp(text)
	if err != nil {
		s.Fail("timestamp", "%v", err)
	}
	j.Timestamp = ms
}

// readMoments reads the name of the column with the rows' timestamps.
func readMoments(j *Job, s *yamldoc.Section, name string) {
	i, ok := j.Column(name)
	switch {
	case name == "":
		s.Fail("timestamp", "column: names no column; write column:NAME")
		return
	case !ok:
		s.Doc.NoColumn(s.At("timestamp"), s.Name+"timestamp", name)
		return
	}
	if _, err := TimestampType(&j.Columns[i]); err != nil {
		s.Fail("timestamp", "%v", err)
		return
	}
	j.Moments = name
}

// TimestampType returns the type of a column with the rows' timestamps. A long is milliseconds, as everywhere in HBase.
// A clock reading needs a zone.
func TimestampType(c *Column) (values.Type, error) {
	t := c.Type
	switch {
	case t.Kind == values.KindInt64:
		return values.Type{Kind: values.KindTimestamp, Format: values.FormatMillis}, nil
	case !t.Kind.Moment():
		return t, fmt.Errorf("column %s is not declared as a point in time; declare it: columns_map: {%s: {type: "+
			"timestamp, zone: Asia/Shanghai}}, "+
			"or {type: timestamp, format: millis}", c.Name, c.Name)
	case zoneMissing(t):
		return t, fmt.Errorf("column %s is a date and time without a zone: give its zone, such as zone: Asia/Shanghai or "+
			"zone: UTC, in columns_map; "+
			"or what else it is, such as format: millis", c.Name)
	}
	return t, nil
}

func parseTimestamp(text string) (int64, error) {
	ms, err := parseMoment(text)
	switch {
	case err != nil:
	case ms <= 0:
		err = fmt.Errorf("%s is not after 1970-01-01T00:00:00Z, from which HBase's timestamps count", text)
	case ms > EndOf9999:
		err = fmt.Errorf("%s is after the year 9999; it is probably in microseconds, and must be in milliseconds", text)
	}
	return ms, err
}

// digitLayouts are the layouts of dates and times in digits alone, which nobody means as milliseconds, and those to
// write instead.
var digitLayouts = map[string]string{
	"20060102":       time.DateOnly,
	"2006010215":     time.RFC3339,
	"200601021504":   time.RFC3339,
	"20060102150405": time.RFC3339,
}

// parseMoment parses a timestamp as for a cell, except that a clock reading needs an offset because a job has no zone.
func parseMoment(text string) (int64, error) {
	for layout, meant := range digitLayouts {
		if t, err := time.Parse(layout, text); err == nil && len(text) == len(layout) {
			return 0, fmt.Errorf("%s is either a date or epoch milliseconds: write %s for the date", text, t.Format(meant))
		}
	}
	if t, err := ParseText(text); err == nil {
		return t.UnixMilli(), nil
	}
	if c, problem := values.ParseClock([]byte(text)); problem == "" && (c.Zoned || !c.Timed) {
		return c.Millis(nil), nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is out of range; HBase counts milliseconds from 1970 on, and the year 9999 is the last",
			text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is neither a date such as 2026-11-20, nor RFC 3339, nor epoch milliseconds", text)
	}
	return ms, nil
}

// EndOf9999 is the last millisecond of the year 9999, in epoch milliseconds.
const EndOf9999 = 253402300799999

package keys

import (
	"time"

	"bulkload/values"
)

// parseMoment parses a date, with or without a time, as values.ParseClock does for a cell. If the column has a unit, x
// is a number of these since 1970. In a column that is not declared a date or timestamp, 10 digits are seconds and 13
// digits are milliseconds; a declared column says so by its format.
func (s *step) parseMoment(x []byte) (c values.DateTime, ok bool) {
	switch {
	case s.unit != 0:
		return parseEpoch(x, s.unit)
	case !s.typed.Moment() && (len(x) == 10 || len(x) == 13) && values.Digits(x):
		return parseEpoch(x, epochUnits[len(x)])
	}
	c, problem := values.ParseClock(x)
	return c, problem == ""
}

// epochUnits is the unit of a number since 1970, by its digits.
var epochUnits = [...]time.Duration{10: time.Second, 13: time.Millisecond}

func parseEpoch(x []byte, unit time.Duration) (c values.DateTime, ok bool) {
	n, problem := parseLong(x)
	per := int64(unit / time.Millisecond)
	if problem != "" || n < firstMilli/per || n > lastMilli/per {
		return c, false
	}
	return values.ClockAt(n*per, time.UTC), true
}

// The years that a date may have: 0 to 9999.
var (
	firstMilli = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastMilli  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
)

// applyMillis writes the milliseconds since 1970 in 13 digits.
func applyMillis(s *step, dst, x []byte) ([]byte, string) { return s.applyClock(dst, x, 1) }

// applySeconds writes the whole seconds since 1970 in 10 digits.
func applySeconds(s *step, dst, x []byte) ([]byte, string) { return s.applyClock(dst, x, 1000) }

func (s *step) applyClock(dst, x []byte, unit int64) ([]byte, string) {
	c, ok := s.parseMoment(x)
	if !ok {
		return dst, noDate(x)
	}
	n := c.Millis(s.zone)
	if n < 0 || digits(n/unit) > s.width {
		return dst, "a date before 1970 or after 2286"
	}
	return appendPadded(dst, uint64(n/unit), s.width), ""
}

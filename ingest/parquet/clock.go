package parquet

import (
	"math"
	"time"
)

const (
	secondsOfDay = 24 * 60 * 60
	// julianEpoch is the Julian day of 1970-01-01.
	julianEpoch = 2440588
	// gregorianDay is the first day of the Gregorian calendar, 1582-10-15, in days from 1970-01-01 on.
	gregorianDay = -141427

	problemYear = "outside the years 0001 to 9999"
)

// clock shows points in time as clocks in a zone do. It caches the offset from UTC and the period in which the offset
// is valid, so only one goroutine may use it.
type clock struct {
	location *time.Location // nil: UTC
	julian   bool           // days before 1582-10-15 are shown in the Julian calendar
	from, to int64          // in seconds of UTC; an empty period if nothing is known yet
	offset   int64
}

// shift adds the zone's offset to seconds of UTC.
func (c *clock) shift(seconds int64) int64 {
	if c.location == nil {
		return seconds
	}
	if seconds < c.from || seconds >= c.to {
		c.look(seconds)
	}
	return seconds + c.offset
}

func (c *clock) look(seconds int64) {
	at := time.Unix(seconds, 0).In(c.location)
	_, offset := at.Zone()
	start, end := at.ZoneBounds()
	c.from, c.to, c.offset = math.MinInt64, math.MaxInt64, int64(offset)
	if !start.IsZero() {
		c.from = start.Unix()
	}
	if !end.IsZero() {
		c.to = end.Unix()
	}
}

// append appends a point in time as java.sql.Timestamp.toString does, such as 2026-11-20 01:02:03.0. The fraction ends
// with its last digit that is not zero, and has at least one digit.
func (c *clock) append(dst []byte, seconds, nanos int64) (out []byte, problem string) {
	const far = 1 << 40 // seconds, beyond all years that can be shown, so that nothing below overflows
	if seconds < -far || seconds > far {
		return dst, problemYear
	}
	if c.julian && c.location != nil && seconds < gregorianDay*secondsOfDay {
		return dst, "before 1582-10-15 in a file of an old Spark: its clock is known in UTC only; set the zone to UTC or " +
			"write the file again"
	}
	shown := c.shift(seconds)
	day := floorDiv(shown, secondsOfDay)
	if dst, problem = appendDate(dst, day, c.julian); problem != "" {
		return dst, problem
	}
	dst = append(dst, ' ')
	dst = appendTime(dst, shown-day*secondsOfDay)
	dst = append(dst, '.')
	return appendFraction(dst, nanos, 1), ""
}

// appendTime appends a time of day, such as 01:02:03.
func appendTime(dst []byte, seconds int64) []byte {
	dst = appendPair(dst, seconds/3600)
	dst = append(dst, ':')
	dst = appendPair(dst, seconds/60%60)
	dst = append(dst, ':')
	return appendPair(dst, seconds%60)
}

// appendFraction appends the digits of nanoseconds without the zeros at the end, but at least least digits.
func appendFraction(dst []byte, nanos int64, least int) []byte {
	if nanos == 0 {
		return append(dst, "000000000"[:least]...)
	}
	digits := 9
	for nanos%10 == 0 && digits > least {
		nanos /= 10
		digits--
	}
	at := len(dst)
	dst = append(dst, "000000000"[:digits]...)
	for i := at + digits - 1; i >= at; i-- {
		dst[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	return dst
}

func appendPair(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// appendDate appends a day, counted from 1970-01-01, such as 2026-11-20. Days before 1582-10-15 are shown in the
// Gregorian calendar, as in java.time, or in the Julian one, as in java.sql.Date.
func appendDate(dst []byte, day int64, julian bool) (out []byte, problem string) {
	const far = 4_000_000 // days
	if day < -far || day > far {
		return dst, problemYear
	}
	year, month, of := dateOf(day, julian && day < gregorianDay)
	if year < 1 || year > 9999 {
		return dst, problemYear
	}
	dst = appendPair(dst, year/100)
	dst = appendPair(dst, year%100)
	dst = append(dst, '-')
	dst = appendPair(dst, month)
	dst = append(dst, '-')
	return appendPair(dst, of), ""
}

// dateOf returns the year, month and day of the month. Years are counted from March here, so that a leap day is the
// last day.
func dateOf(day int64, julian bool) (year, month, of int64) {
	const fourYears, fourCenturies = 4*365 + 1, 400*365 + 97
	var inFour int64
	if julian {
		day += 719470 // from the 1st of March of the Julian year 0
		year = 4 * floorDiv(day, fourYears)
		inFour = day - floorDiv(day, fourYears)*fourYears
	} else {
		day += 719468 // from the 1st of March of the Gregorian year 0
		era := floorDiv(day, fourCenturies)
		inEra := day - era*fourCenturies
		century := min(inEra/(100*365+24), 3)
		inCentury := inEra - century*(100*365+24)
		year = 400*era + 100*century + 4*(inCentury/fourYears)
		inFour = inCentury % fourYears
	}
	inYear := min(inFour/365, 3)
	year += inYear
	dayOfYear := inFour - 365*inYear
	march := (5*dayOfYear + 2) / 153 // from March on the months have 31, 30, 31, 30, 31 days, repeatedly
	of = dayOfYear - (153*march+2)/5 + 1
	if month = march + 3; month > 12 {
		month -= 12
		year++
	}
	return year, month, of
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

package values

import "time"

// DateTime is a calendar date and a time of day in the Gregorian calendar, even before 1582, as in java.time.
type DateTime struct {
	Year, Month, Day, Hour, Minute, Second int
	Nanos                                  int32
	Timed                                  bool  // it has a time of day
	Zoned                                  bool  // it has an offset:
	Offset                                 int32 // how far the clock is ahead of UTC, in seconds
}

// ParseClock parses a date with or without a time, for keys and cells alike. The problem is "" if it succeeded. Each
// form is parsed as by a java.time.format.DateTimeFormatter with ResolverStyle.STRICT:
//
//	uuuu-MM-dd or uuuu/MM/dd; with a time after a blank or a T: HH:mm, HH:mm:ss, HH:mm:ss and a point with 1 to 9 digits;
//	with an offset after that, with a blank between or without: Z, +HH:mm, +HHmm, +HH, at most 18 hours
//	uuuuMMdd, uuuuMMddHHmmss
//
// These are the texts of java.sql.Timestamp, of RFC 3339, of Oracle with such an NLS format, and digits alone. To add a
// form, add a case here and its formatter to testdata/Clocks.java. The start of a text selects the case, so no form is
// tried in vain. The cases are not a table of functions, because then the clock would be allocated.
func ParseClock(x []byte) (c DateTime, problem string) {
	p := clockParser{rest: x, ok: true}
	switch {
	case len(x) > 4 && (x[4] == '-' || x[4] == '/'):
		p.separated(&c)
	case (len(x) == 8 || len(x) == 14) && Digits(x):
		p.unseparated(&c)
	default:
		return c, problemMoment
	}
	switch {
	case !p.ok || len(p.rest) > 0:
		return c, problemMoment
	case !c.valid():
		return c, problemClock
	}
	return c, ""
}

// Digits reports whether a text consists of digits and is not empty.
func Digits(x []byte) bool {
	for _, c := range x {
		if c-'0' > 9 {
			return false
		}
	}
	return len(x) > 0
}

// ClockAt is a zone's clock at a time in milliseconds since 1970.
func ClockAt(millis int64, zone *time.Location) DateTime {
	t := time.UnixMilli(millis).In(zone)
	year, month, day := t.Date()
	_, offset := t.Zone()
	return DateTime{year, int(month), day, t.Hour(), t.Minute(), t.Second(),
		int32(t.Nanosecond()), true, true, int32(offset)}
}

// Millis is the time in milliseconds since 1970. A clock without an offset is in the zone, nil for UTC; see
// ColumnParser.Moment for times that its clocks skip or show twice.
func (c *DateTime) Millis(zone *time.Location) int64 {
	shown := c.seconds()
	switch {
	case c.Zoned:
		shown -= int64(c.Offset)
	case zone != nil && zone != time.UTC:
		shown = instantIn(zone, shown)
	}
	return 1000*shown + int64(c.Nanos/1e6)
}

// DayOfYear counts from 1.
func (c *DateTime) DayOfYear() int {
	return int(daysSince1970(c.Year, c.Month, c.Day)-daysSince1970(c.Year, 1, 1)) + 1
}

// seconds are counted from 1970, as if the clock were in UTC.
func (c *DateTime) seconds() int64 {
	return daysSince1970(c.Year, c.Month, c.Day)*secondsOfDay + c.secondOfDay()
}

func (c *DateTime) secondOfDay() int64 { return int64(c.Hour*3600 + c.Minute*60 + c.Second) }

func (c *DateTime) valid() bool {
	return c.Month >= 1 && c.Month <= 12 && c.Day >= 1 && c.Day <= daysOf(c.Year, c.Month) &&
		c.Hour < 24 && c.Minute < 60 && c.Second < 60
}

const secondsOfDay = 24 * 60 * 60

// clockParser reads from the left; ok becomes false at the first mismatch.
type clockParser struct {
	rest []byte
	ok   bool
}

func (p *clockParser) separated(c *DateTime) {
	c.Year = p.number(4)
	separator := byte('-')
	if p.nextIs('/') {
		separator = '/'
	}
	p.expect(separator)
	c.Month = p.number(2)
	p.expect(separator)
	c.Day = p.number(2)
	if !p.ok || len(p.rest) == 0 {
		return
	}
	if !p.skip('T') {
		p.expect(' ')
	}
	p.time(c)
	p.zone(c)
}

func (p *clockParser) unseparated(c *DateTime) {
	c.Year, c.Month, c.Day = p.number(4), p.number(2), p.number(2)
	if len(p.rest) > 0 {
		c.Timed = true
		c.Hour, c.Minute, c.Second = p.number(2), p.number(2), p.number(2)
	}
}

// time parses a time of day.
func (p *clockParser) time(c *DateTime) {
	c.Timed = true
	c.Hour = p.number(2)
	p.expect(':')
	c.Minute = p.number(2)
	if p.skip(':') {
		c.Second = p.number(2)
		if p.skip('.') {
			p.fraction(c)
		}
	}
}

// fraction parses one to nine digits.
func (p *clockParser) fraction(c *DateTime) {
	n := 0
	for ; n < len(p.rest) && n < 10 && p.rest[n] >= '0' && p.rest[n] <= '9'; n++ {
		if n < 9 {
			c.Nanos = c.Nanos*10 + int32(p.rest[n]-'0')
		}
	}
	if n == 0 || n > 9 {
		p.ok = false
		return
	}
	p.rest = p.rest[n:]
	for ; n < 9; n++ {
		c.Nanos *= 10
	}
}

// maxOffset is the largest offset of java.time.ZoneOffset, in seconds.
const maxOffset = 18 * 3600

// zone parses Z or an offset, if there is one.
func (p *clockParser) zone(c *DateTime) {
	if len(p.rest) == 0 {
		return
	}
	p.skip(' ')
	c.Zoned = true
	if p.skip('Z') {
		return
	}
	sign := int32(1)
	if p.skip('-') {
		sign = -1
	} else {
		p.expect('+')
	}
	hour, minute := p.number(2), 0
	if p.skip(':') || len(p.rest) > 0 {
		minute = p.number(2)
	}
	offset := int32(hour*3600 + minute*60)
	if minute > 59 || offset > maxOffset {
		p.ok = false
	}
	c.Offset = sign * offset
}

func (p *clockParser) nextIs(c byte) bool { return p.ok && len(p.rest) > 0 && p.rest[0] == c }

func (p *clockParser) skip(c byte) bool {
	if !p.nextIs(c) {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *clockParser) expect(c byte) { p.ok = p.skip(c) }

// number parses a number with the given number of digits.
func (p *clockParser) number(width int) int {
	if !p.ok || len(p.rest) < width {
		p.ok = false
		return 0
	}
	n := 0
	for _, c := range p.rest[:width] {
		d := c - '0'
		if d > 9 {
			p.ok = false
			return 0
		}
		n = 10*n + int(d)
	}
	p.rest = p.rest[width:]
	return n
}

func daysOf(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts in years that begin in March, so that the leap day is the last of its year.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	leaps := floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400)
	return int64(365*year + leaps + (153*(month-3)+2)/5 + day - 1 - 719468)
}

// floorDiv rounds down: the year of 0000-01-01 begins in March of -1.
func floorDiv(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

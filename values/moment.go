package values

import (
	"cmp"
	"encoding/binary"
	"math"
)

// Moment is a point in time.
type Moment struct {
	Millis int64 // since 1970-01-01T00:00:00Z
	Nanos  int32 // behind the millisecond, 0 to 999,999
}

// Compare orders moments.
func (m Moment) Compare(o Moment) int {
	return cmp.Or(cmp.Compare(m.Millis, o.Millis), cmp.Compare(m.Nanos, o.Nanos))
}

const (
	problemDate   = "no date such as 2026-11-20"
	problemMoment = "no date with a time such as 2026-11-20 01:02:03"
	problemClock  = "a date or time that no calendar or clock shows"
)

// Moment reads a date or a moment in the format of the reader's type. A clock that tells no zone is one of the type's zone:
// a time that its clocks have skipped is taken as if they had not, one that they have shown twice is the first, as in
// java.time.ZonedDateTime. Years are those of the Gregorian calendar, before 1582 too, as in java.time.
func (r *Reader) Moment(x []byte) (m Moment, problem string) {
	switch r.format {
	case FormatMillis, FormatSeconds:
		n, problem := parseInt64(x)
		if r.format == FormatSeconds && problem == "" {
			if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
				problem = "number outside int64"
			}
			n *= 1000
		}
		return Moment{Millis: n}, problem
	}
	c, problem := parseClock(x)
	if problem != "" {
		if r.kind == KindDate && problem == problemMoment {
			problem = problemDate
		}
		return m, problem
	}
	if r.kind == KindDate && (c.second != 0 || c.nanos != 0) {
		return m, "a date with a time of day, which is a timestamp"
	}
	seconds := c.days*secondsOfDay + int64(c.second)
	if c.zoned {
		seconds -= int64(c.offset)
	} else {
		seconds = r.zone.instant(seconds)
	}
	return Moment{seconds*1000 + int64(c.nanos/1e6), c.nanos % 1e6}, ""
}

// appendMoment is Bytes.toBytes(long) of the milliseconds.
func (r *Reader) appendMoment(dst, x []byte) ([]byte, string) {
	m, problem := r.Moment(x)
	if problem != "" {
		return dst, problem
	}
	return binary.BigEndian.AppendUint64(dst, uint64(m.Millis)), ""
}

const secondsOfDay = 24 * 60 * 60

// clock is what a calendar and a clock show.
type clock struct {
	days   int64 // since 1970-01-01
	second int32 // of the day
	nanos  int32
	zoned  bool  // offset is told
	offset int32 // seconds east of UTC
}

// clockParser reads from the left; ok turns false at the first thing that does not fit.
type clockParser struct {
	rest []byte
	ok   bool
}

// parseClock reads a date (2026-11-20 or 2026/11/20), with a time or without: behind a blank or a T hours and minutes, with
// or without seconds and a fraction of up to nine digits; behind that, with or without a blank, Z or an offset such as
// +08:00, or nothing. These are the texts of java.sql.Timestamp, of RFC 3339, and of Oracle with such an NLS format.
func parseClock(x []byte) (c clock, problem string) {
	p := clockParser{rest: x, ok: true}
	year := p.number(4)
	separator := byte('-')
	if p.is('/') {
		separator = '/'
	}
	p.expect(separator)
	month := p.number(2)
	p.expect(separator)
	day := p.number(2)
	valid := true
	if p.ok && len(p.rest) > 0 {
		if !p.skip('T') {
			p.expect(' ')
		}
		valid = p.time(&c)
		p.zone(&c)
	}
	switch {
	case !p.ok || len(p.rest) > 0:
		return c, problemMoment
	case !valid || year < 1 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month):
		return c, problemClock
	}
	c.days = daysSince1970(year, month, day)
	return c, ""
}

// time reads a time of day, and tells whether a clock can show it.
func (p *clockParser) time(c *clock) (valid bool) {
	hour := p.number(2)
	p.expect(':')
	minute, second := p.number(2), 0
	if p.skip(':') {
		second = p.number(2)
		if p.skip('.') {
			p.fraction(c)
		}
	}
	c.second = int32(hour*3600 + minute*60 + second)
	return hour < 24 && minute < 60 && second < 60
}

// fraction reads one to nine digits.
func (p *clockParser) fraction(c *clock) {
	n := 0
	for ; n < len(p.rest) && n < 10 && p.rest[n] >= '0' && p.rest[n] <= '9'; n++ {
		if n < 9 {
			c.nanos = c.nanos*10 + int32(p.rest[n]-'0')
		}
	}
	if n == 0 || n > 9 {
		p.ok = false
		return
	}
	p.rest = p.rest[n:]
	for ; n < 9; n++ {
		c.nanos *= 10
	}
}

// zone reads Z or an offset, where there is one.
func (p *clockParser) zone(c *clock) {
	if len(p.rest) == 0 {
		return
	}
	p.skip(' ')
	c.zoned = true
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
	if hour*60+minute > 18*60 || minute > 59 { // ZoneOffset's bounds
		p.ok = false
	}
	c.offset = sign * int32(hour*3600+minute*60)
}

func (p *clockParser) is(c byte) bool { return p.ok && len(p.rest) > 0 && p.rest[0] == c }

func (p *clockParser) skip(c byte) bool {
	if !p.is(c) {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *clockParser) expect(c byte) { p.ok = p.skip(c) }

// number reads a number of so many digits.
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
	return int64(365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468)
}

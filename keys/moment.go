package keys

import "time"

// moment is a date and a time of day as a clock shows them.
type moment struct {
	year, month, day, hour, minute, second, milli int
	zoned                                         bool  // it is known which moment that was:
	offset                                        int64 // seconds that the clock is ahead of UTC's
}

// parseMoment reads the forms in which dates come: 2019-01-31 or 2019/01/31, with a time 12:34:56 and a fraction behind a
// blank or a T, with an offset from UTC behind; 20190131 and 20190131123456; seconds (10 digits) and
// milliseconds (13 digits) since 1970 in UTC. Where a unit is given, x is their number.
func parseMoment(x []byte, unit time.Duration) (m moment, ok bool) {
	switch {
	case unit != 0:
		return parseEpoch(x, unit)
	case leadingDigits(x) == len(x):
		return parseDigits(x)
	}
	p := momentParser{rest: x, ok: true}
	m.year = p.number(4)
	separator := p.oneOf("-/")
	m.month = p.number(2)
	p.expect(separator)
	m.day = p.number(2)
	if p.ok && len(p.rest) > 0 {
		p.time(&m)
	}
	return m, p.ok && m.valid()
}

func parseDigits(x []byte) (m moment, ok bool) {
	switch len(x) {
	case 8, 14:
		p := momentParser{rest: x, ok: true}
		m.year, m.month, m.day = p.number(4), p.number(2), p.number(2)
		if len(x) == 14 {
			m.hour, m.minute, m.second = p.number(2), p.number(2), p.number(2)
		}
		return m, p.ok && m.valid()
	case 10, 13:
		return parseEpoch(x, epochUnits[len(x)])
	}
	return m, false
}

// epochUnits tell by the number of digits what is counted since 1970.
var epochUnits = [...]time.Duration{10: time.Second, 13: time.Millisecond}

func parseEpoch(x []byte, unit time.Duration) (m moment, ok bool) {
	n, problem := parseLong(x)
	per := int64(unit / time.Millisecond)
	if problem != "" || n < firstMilli/per || n > lastMilli/per {
		return m, false
	}
	return momentAt(n*per, time.UTC), true
}

// The years that a date may have: 0 to 9999.
var (
	firstMilli = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastMilli  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
)

func leadingDigits(x []byte) int {
	n := 0
	for n < len(x) && isDigit(rune(x[n])) {
		n++
	}
	return n
}

// momentParser reads a date from the left; ok turns false at the first thing that doesn't fit.
type momentParser struct {
	rest []byte
	ok   bool
}

func (p *momentParser) number(width int) int {
	if !p.ok || leadingDigits(p.rest) < width {
		p.ok = false
		return 0
	}
	n := 0
	for _, c := range p.rest[:width] {
		n = 10*n + int(c-'0')
	}
	p.rest = p.rest[width:]
	return n
}

func (p *momentParser) oneOf(set string) byte {
	for i := range len(set) {
		if len(p.rest) > 0 && p.rest[0] == set[i] {
			p.rest = p.rest[1:]
			return set[i]
		}
	}
	p.ok = false
	return 0
}

func (p *momentParser) expect(c byte) {
	if len(p.rest) == 0 || p.rest[0] != c {
		p.ok = false
		return
	}
	p.rest = p.rest[1:]
}

// time reads what stands behind the date.
func (p *momentParser) time(m *moment) {
	p.oneOf(" T")
	m.hour = p.number(2)
	p.expect(':')
	m.minute = p.number(2)
	if len(p.rest) > 0 && p.rest[0] == ':' {
		p.expect(':')
		m.second = p.number(2)
	}
	if len(p.rest) > 0 && p.rest[0] == '.' {
		p.fraction(m)
	}
	if p.ok && len(p.rest) > 0 {
		p.zone(m)
	}
}

func (p *momentParser) fraction(m *moment) {
	p.expect('.')
	n := leadingDigits(p.rest)
	if n == 0 || n > 9 {
		p.ok = false
		return
	}
	for i := range 3 {
		m.milli *= 10
		if i < n {
			m.milli += int(p.rest[i] - '0')
		}
	}
	p.rest = p.rest[n:]
}

// zone reads Z, +hh:mm, +hhmm or +hh.
func (p *momentParser) zone(m *moment) {
	if p.rest[0] == ' ' {
		p.rest = p.rest[1:]
	}
	if sign := p.oneOf("Z+-"); sign != 'Z' && p.ok {
		m.offset = 3600 * int64(p.number(2))
		if len(p.rest) > 0 && p.rest[0] == ':' {
			p.rest = p.rest[1:]
		}
		if len(p.rest) > 0 {
			m.offset += 60 * int64(p.number(2))
		}
		if sign == '-' {
			m.offset = -m.offset
		}
	}
	m.zoned = true
	p.ok = p.ok && len(p.rest) == 0 && m.offset <= mostOffset && m.offset >= -mostOffset
}

// mostOffset is java.time.ZoneOffset's, in seconds.
const mostOffset = 18 * 3600

func (m *moment) valid() bool {
	return m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= daysOf(m.year, m.month) &&
		m.hour < 24 && m.minute < 60 && m.second < 60
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

func (m *moment) dayOfYear() int {
	n := m.day
	for month := 1; month < m.month; month++ {
		n += daysOf(m.year, month)
	}
	return n
}

// momentAt is what a zone's clocks show at a moment, in milliseconds since 1970.
func momentAt(millis int64, zone *time.Location) moment {
	t := time.UnixMilli(millis).In(zone)
	year, month, day := t.Date()
	_, offset := t.Zone()
	return moment{year, int(month), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1e6, true, int64(offset)}
}

// utc is the milliseconds since 1970 at which a clock of UTC showed the moment.
func (m *moment) utc() int64 {
	t := time.Date(m.year, time.Month(m.month), m.day, m.hour, m.minute, m.second, 0, time.UTC)
	return 1000*t.Unix() + int64(m.milli)
}

// instant is the moment in milliseconds since 1970; a clock that tells no offset is one of the zone's. Where the zone's
// clocks were put back and show a time twice, it is the first; where they were put forward and never showed it, it is
// as long after the change: as java.time.ZonedDateTime has it.
func (m *moment) instant(zone *time.Location) int64 {
	utc := m.utc()
	switch {
	case m.zoned:
		return utc - 1000*m.offset
	case zone == nil || zone == time.UTC:
		return utc
	}
	const day = 24 * 3600 * 1000 // no zone is so far from UTC
	before := offsetAt(utc-day, zone)
	first := utc - before
	after := offsetAt(first, zone)
	if after == before || offsetAt(utc-after, zone) != after {
		return first
	}
	return utc - after
}

// offsetAt is by how many milliseconds a zone is ahead of UTC at a moment.
func offsetAt(millis int64, zone *time.Location) int64 {
	_, offset := time.UnixMilli(millis).In(zone).Zone()
	return 1000 * int64(offset)
}

// applyMillis writes the milliseconds since 1970 in 13 digits.
func applyMillis(s *step, dst, x []byte) ([]byte, string) { return s.applyClock(dst, x, 1) }

// applySeconds writes the whole seconds since 1970 in 10 digits.
func applySeconds(s *step, dst, x []byte) ([]byte, string) { return s.applyClock(dst, x, 1000) }

func (s *step) applyClock(dst, x []byte, unit int64) ([]byte, string) {
	m, ok := parseMoment(x, s.unit)
	if !ok {
		return dst, problemDate
	}
	n := m.instant(s.zone)
	if n < 0 || digits(n/unit) > s.width {
		return dst, "a date before 1970 or after 2286"
	}
	return appendPadded(dst, uint64(n/unit), s.width), ""
}

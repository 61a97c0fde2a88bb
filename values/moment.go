package values

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
)

// Moment is a point in time.
type Moment struct {
	Millis int64 // since 1970-01-01T00:00:00Z
	Nanos  int32 // after the millisecond, 0 to 999,999
}

// Compare orders moments.
func (m Moment) Compare(o Moment) int {
	return cmp.Or(cmp.Compare(m.Millis, o.Millis), cmp.Compare(m.Nanos, o.Nanos))
}

const (
	problemDate   = "not a date such as 2026-11-20"
	problemMoment = "not a date with a time such as 2026-11-20 01:02:03"
	problemNLS    = "a date as Oracle writes it by default; export it after alter session set nls_date_format = " +
		"'YYYY-MM-DD HH24:MI:SS' " +
		"(nls_timestamp_format for a TIMESTAMP)"
	problemClock = "a date or time that no calendar or clock shows"
)

// Moment parses a date or timestamp in the format of the parser's type. A clock without a zone is in the type's zone.
// As in java.time.ZonedDateTime, a time that the clocks skipped counts as if they had not, and of a time shown twice
// the first one counts. Years are those of the Gregorian calendar, even before 1582, as in java.time.
func (r *ColumnParser) Moment(x []byte) (m Moment, problem string) {
	switch r.format {
	case FormatMillis, FormatSeconds:
		n, problem := ParseInt64(x)
		if r.format == FormatSeconds && problem == "" {
			if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
				problem = OutsideInt64
			}
			n *= 1000
		}
		return Moment{Millis: n}, problem
	}
	c, problem := ParseClock(x)
	if problem != "" {
		switch {
		case problem == problemMoment && OracleDate(x) != "":
			problem = OracleDate(x)
		case problem == problemMoment && r.kind == KindDate:
			problem = problemDate
		}
		return m, problem
	}
	if r.kind == KindDate && (c.secondOfDay() != 0 || c.Nanos != 0) {
		return m, "a date with a time of day, which is a timestamp"
	}
	seconds := c.seconds()
	if c.Zoned {
		seconds -= int64(c.Offset)
	} else {
		seconds = r.zone.instant(seconds)
	}
	return Moment{seconds*1000 + int64(c.Nanos/1e6), c.Nanos % 1e6}, ""
}

// OracleDate says what to do about a date in the default format of Oracle's clients, such as 20-NOV-26 or 20-11月-26. It
// returns "" if x does not look like one.
func OracleDate(x []byte) (problem string) {
	day, rest, ok := bytes.Cut(x, []byte("-"))
	if !ok || len(day) != 2 || !isDigits(day) {
		return ""
	}
	month, year, ok := bytes.Cut(rest, []byte("-"))
	if !ok || len(month) < 3 || isDigits(month) || len(year) < 2 || !isDigits(year[:2]) {
		return ""
	}
	return problemNLS
}

func isDigits(x []byte) bool {
	return !bytes.ContainsFunc(x, func(c rune) bool { return c < '0' || c > '9' })
}

// appendMoment is Bytes.toBytes(long) of the milliseconds.
func (r *ColumnParser) appendMoment(dst, x []byte) ([]byte, string) {
	m, problem := r.Moment(x)
	if problem != "" {
		return dst, problem
	}
	return binary.BigEndian.AppendUint64(dst, uint64(m.Millis)), ""
}

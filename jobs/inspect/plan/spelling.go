package plan

import (
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/values"
)

// spellings are the ways in which a column's values are written, as far as exporters differ.
type spellings uint16

const (
	spelledPoint    spellings = 1 << iota // .5, as SQL*Plus and SQLcl write it
	spelledZero                           // 0.5, as Sqoop and Spark write it
	spelledSeconds                        // 2026-11-20 23:00:24
	spelledFraction                       // 2026-11-20 23:00:24.0, as Sqoop writes it
	spelledSpace                          // a space between date and time
	spelledT                              // a T between date and time
	spelledDay                            // 2026-11-20
	spelledTime                           // a date with a time
	spelledOracle                         // 20-NOV-26, as Oracle's clients write it by default
)

// mixtures are spellings that one exporter does not mix in a column.
var mixtures = []struct {
	one, other spellings
	shown      [2]string
}{
	{spelledPoint, spelledZero, [2]string{".5", "0.5"}},
	{spelledSeconds, spelledFraction, [2]string{"2026-11-20 23:00:24", "2026-11-20 23:00:24.0"}},
	{spelledSpace, spelledT, [2]string{"2026-11-20 23:00:24", "2026-11-20T23:00:24"}},
	{spelledDay, spelledTime, [2]string{"2026-11-20", "2026-11-20 00:00:00"}},
}

// storedColumns returns the columns whose text becomes a cell or is in the key.
func storedColumns(j *jobfile.Job) []int {
	var columns []int
	for i := range j.Columns {
		if c := &j.Columns[i]; !c.Skip && !c.Binary {
			columns = append(columns, i)
		}
	}
	return columns
}

// spellingOf returns how a value is written; 0 if it is neither a number below one nor a date.
func spellingOf(b []byte) spellings {
	if len(b) < 2 || b[0] > '9' { // most values
		return 0
	}
	if n := spellingOfNumber(b); n != 0 {
		return n
	}
	if values.OracleDate(b) != "" {
		return spelledOracle
	}
	return spellingOfMoment(b)
}

func spellingOfNumber(b []byte) spellings {
	if b[0] == '-' || b[0] == '+' {
		b = b[1:]
	}
	switch {
	case len(b) > 1 && b[0] == '.' && digits(b[1:]):
		return spelledPoint
	case len(b) > 2 && b[0] == '0' && b[1] == '.' && digits(b[2:]):
		return spelledZero
	}
	return 0
}

// spellingOfMoment returns the spelling of a date, with or without a time. A nonzero fraction says nothing about the
// exporter, because some leave out only zeros.
func spellingOfMoment(b []byte) spellings {
	const day, second = len("2026-11-20"), len("2026-11-20 23:00:24")
	if len(b) < day || !digits(b[:4]) || b[4] != '-' || !digits(b[5:7]) || b[7] != '-' || !digits(b[8:day]) {
		return 0
	}
	if len(b) == day {
		return spelledDay
	}
	found := spelledTime
	switch b[day] {
	case ' ':
		found |= spelledSpace
	case 'T':
		found |= spelledT
	default:
		return 0
	}
	if len(b) < second || b[13] != ':' || b[16] != ':' || !digits(b[17:second]) {
		return found
	}
	switch rest := b[second:]; {
	case len(rest) == 0:
		found |= spelledSeconds
	case len(rest) > 1 && rest[0] == '.' && zeros(rest[1:]):
		found |= spelledFraction
	}
	return found
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return true
}

// mixed returns the columns with values in spellings of several exporters.
func (c *candidate) mixed() []stats.Mixture {
	var found []stats.Mixture
	for i, spelled := range c.stats.counts.spelled {
		for _, m := range mixtures {
			if spelled&m.one != 0 && spelled&m.other != 0 {
				found = append(found, stats.Mixture{Column: c.job.Columns[i].Name, One: m.shown[0], Other: m.shown[1]})
			}
		}
	}
	return found
}

// oracleDates returns the columns with dates in the default format of Oracle's clients.
func (c *candidate) oracleDates() (found []string) {
	for i, spelled := range c.stats.counts.spelled {
		if spelled&spelledOracle != 0 {
			found = append(found, c.job.Columns[i].Name)
		}
	}
	return found
}

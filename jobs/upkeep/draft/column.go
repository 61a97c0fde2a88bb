package draft

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/values"
)

// nullTexts are what exporters write for a null: Sqoop null, Hive and MySQL \N, SQL clients NULL, (null) and <null>.
var nullTexts = []string{`\N`, "null", "NULL", "(null)", "<null>", "None"}

// column is what the samples say about a column.
type column struct {
	name     string
	n        int // values
	empty    int
	nulls    map[string]int // by their texts
	distinct map[string]int // how often each value occurs, without nulls and empty values
	longest  int
	width    int // of every value in bytes; 0 if they differ

	whole, number, moment, day bool // all values are of this kind
	zoned, unzoned             bool // some moment has an offset, some has none
	zeros                      bool // some number begins with a 0

	oracle string // the first date in the default format of Oracle's clients, such as 20-NOV-26; "" if there is none

	kind string // the type to declare, "" for none
	null []string
}

func newColumn(name string) *column {
	return &column{name: name, nulls: map[string]int{}, distinct: map[string]int{}, whole: true, number: true,
		moment: true, day: true, width: -1}
}

// columnsOf examines the values of the records that have as many columns as there are names. whole is the number of
// these records.
func columnsOf(names []string, records [][]string, csv bool) (columns []*column, whole int) {
	for _, name := range names {
		columns = append(columns, newColumn(name))
	}
	for _, r := range records {
		if len(r) != len(columns) {
			continue
		}
		whole++
		for i, value := range r {
			columns[i].add(value)
		}
	}
	for _, c := range columns {
		c.conclude(csv)
	}
	return columns, whole
}

func (c *column) add(value string) {
	c.n++
	switch {
	case value == "":
		c.empty++
		return
	case slices.Contains(nullTexts, value):
		c.nulls[value]++
		return
	}
	c.distinct[value]++
	c.longest = max(c.longest, len(value))
	if c.width < 0 {
		c.width = len(value)
	} else if c.width != len(value) {
		c.width = 0
	}
	c.addNumber(value)
	c.addMoment(value)
}

func (c *column) addNumber(value string) {
	_, unsigned := values.CutSign([]byte(value))
	c.zeros = c.zeros || len(unsigned) > 1 && unsigned[0] == '0' && unsigned[1] != '.'
	if _, problem := values.ParseInt64([]byte(value)); problem != "" {
		c.whole = false
	}
	if _, problem := values.ParseNumber([]byte(value), false); problem != "" {
		c.number = false
	}
}

func (c *column) addMoment(value string) {
	if c.oracle == "" && values.OracleDate([]byte(value)) != "" {
		c.oracle = value
	}
	clock, problem := values.ParseClock([]byte(value))
	if problem != "" || values.Digits([]byte(value)) {
		c.moment, c.day = false, false
		return
	}
	c.day = c.day && !clock.Timed
	c.zoned, c.unzoned = c.zoned || clock.Zoned, c.unzoned || !clock.Zoned
}

// conclude decides the type and the nulls. In CSV an empty value is a null anyway. Numbers with leading zeros are
// codes, not numbers.
func (c *column) conclude(csv bool) {
	if len(c.distinct) > 0 && !c.zeros {
		switch {
		case c.whole:
			c.kind = "int64"
		case c.number:
			c.kind = "decimal"
		}
	}
	if len(c.distinct) > 0 && c.moment {
		c.kind = "timestamp"
		if c.day {
			c.kind = "date"
		}
	}
	for _, text := range nullTexts {
		if c.nulls[text] > 0 {
			c.null = append(c.null, text)
		}
	}
	if c.kind != "" && c.empty > 0 && !csv {
		c.null = append(c.null, "")
	}
}

// unique reports whether every record has a value, and all values differ.
func (c *column) unique() bool {
	return c.n > 1 && len(c.distinct) == c.n
}

// nearlyUnique reports whether at most one value in twenty is a repetition, as in an identifier if some records were
// exported twice.
func (c *column) nearlyUnique() bool {
	return c.n > 1 && len(c.distinct)*20 >= c.n*19
}

// uniqueness says in words how unique the values are.
func (c *column) uniqueness() string {
	if c.unique() {
		return c.name + " is unique in the sample."
	}
	return fmt.Sprintf("CHECK THIS. %s is nearly unique: %d of %d records of the sample have a value that came before. "+
		"Of records with the same key, the last one wins.",
		c.name, c.n-len(c.distinct), c.n)
}

// complete reports whether every record has a value.
func (c *column) complete() bool { return c.n > 0 && c.empty == 0 && len(c.nulls) == 0 }

// spread reports whether the values begin with many different characters, as hashes do, so that they need no salt.
func (c *column) spread() bool {
	first := map[byte]int{}
	for value := range c.distinct {
		first[value[0]]++
	}
	most := 0
	for b, count := range first {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(b)) {
			return false
		}
		most = max(most, count)
	}
	return c.longest >= 16 && len(first) >= 12 && most*4 < len(c.distinct)
}

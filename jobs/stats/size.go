package stats

import (
	"fmt"
	"strings"

	"bulkload/internal/bytesize"
	"bulkload/internal/page"
)

// Size formats a number of bytes as a run does: 1 KiB is 1,024 bytes.
func Size(n int64) string {
	return bytesize.Format(n)
}

// Count is page.Count.
var Count = page.Count

// TimesADay formats how often something happens: once a day, 1,000 times a day.
func TimesADay(n int64) string {
	if n == 1 {
		return "once a day"
	}
	return Count(n) + " times a day"
}

// Duration is page.Duration.
var Duration = page.Duration

// splitsShown is how many splits are shown.
const splitsShown = 10

// FirstSplits shows the first splits, and how many more there are; "" without splits.
func FirstSplits(splits []string) string {
	text := strings.Join(splits[:min(len(splits), splitsShown)], " ")
	if more := len(splits) - splitsShown; more > 0 {
		text += fmt.Sprintf(" … and %s more", Count(int64(more)))
	}
	return text
}

// plural is page.Plural, which writes numbers with commas as a plan does; jobfile.Plural does not.
var plural = page.Plural[int]

package stats

import (
	"fmt"
	"strings"

	"bulkload/internal/bytesize"
)

// Size writes a number of bytes as a run does: 1 KiB is 1,024.
func Size(n int64) string {
	return bytesize.Format(n)
}

// Count writes a number with commas.
func Count(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TimesADay writes how often something happens: once a day, 1,000 times a day.
func TimesADay(n int64) string {
	if n == 1 {
		return "once a day"
	}
	return Count(n) + " times a day"
}

// Duration writes seconds for people: 0.4 s, 12 s, 3 min 20 s, 2 h 9 min.
func Duration(seconds float64) string {
	if seconds < 9.95 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	whole := int64(seconds + 0.5)
	switch {
	case whole < 60:
		return fmt.Sprintf("%d s", whole)
	case whole < 3600:
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	}
	minutes := (whole + 30) / 60
	return fmt.Sprintf("%s h %d min", Count(minutes/60), minutes%60)
}

// splitsShown is how many splits are shown.
const splitsShown = 10

// FirstSplits shows the first splits, and how many more there are; "" if there is none.
func FirstSplits(splits []string) string {
	text := strings.Join(splits[:min(len(splits), splitsShown)], " ")
	if more := len(splits) - splitsShown; more > 0 {
		text += fmt.Sprintf(" … and %s more", Count(int64(more)))
	}
	return text
}

// plural is a number of things with commas, as all figures of a plan have them; jobfile.Plural is without.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(int64(n)) + " " + what + "s"
}

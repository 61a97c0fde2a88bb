package page

import "fmt"

// Count writes a number with commas.
func Count(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural is a number of things with commas: 1 file, 1,000 files.
func Plural[T int | int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(int64(n)) + " " + what + "s"
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

package stats

import (
	"cmp"
	"fmt"
	"math"
)

// Compared is one line of a comparison of two plans.
type Compared struct {
	What   string
	A, B   string
	Better int // 1: the first one, 2: the second; 0: neither
}

// alike is how far apart two figures may be without one being called better, because many are estimates.
const alike = 0.02

// Compare lists the important figures of two plans.
func Compare(a, b *InputReport) []Compared {
	var rows []Compared
	add := func(what string, x, y float64, show func(float64) string) {
		better := 0
		switch cmp.Compare(x, y) {
		case -1:
			better = 1
		case 1:
			better = 2
		}
		if show(x) == show(y) || !math.IsInf(max(x, y), 1) && math.Abs(x-y) < alike*max(x, y) {
			better = 0
		}
		rows = append(rows, Compared{what, show(x), show(y), better})
	}
	size := func(n float64) string { return Size(int64(n)) }
	number := func(n float64) string { return Count(int64(n)) }
	decimal := func(n float64) string { return fmt.Sprintf("%.2f", n) }
	add("key bytes, on average", a.KeyBytes.Mean, b.KeyBytes.Mean,
		func(n float64) string { return fmt.Sprintf("%.1f", n) })
	add("key's share of the bytes", a.Shares.Keys(), b.Shares.Keys(),
		func(n float64) string { return fmt.Sprintf("%.1f%%", 100*n) })
	add("KeyValue bytes", float64(a.RawBytes), float64(b.RawBytes), size)
	add("HFile bytes", float64(a.HFiles.Bytes), float64(b.HFiles.Bytes), size)
	add("skew with suggested regions", a.Suggestion.Skew, b.Suggestion.Skew, decimal)
	if a.Query != nil && b.Query != nil {
		add("scans per query", scans(a.Query), scans(b.Query), func(n float64) string {
			if math.IsInf(n, 1) {
				return "the whole table"
			}
			return number(n)
		})
	}
	if len(a.Queries) > 0 && len(b.Queries) > 0 {
		add("scans per day", a.Daily.Scans, b.Daily.Scans, number)
		where := ""
		if a.Sample || b.Sample {
			where = ", in the sample"
		}
		add("rows read per day"+where, a.Daily.Rows, b.Daily.Rows, number)
		add("bytes read per day"+where, a.Daily.Bytes, b.Daily.Bytes, size)
	}
	add(a.Unique()+" that repeat", float64(a.Repeats.Repeated), float64(b.Repeats.Repeated), number)
	for _, s := range []Severity{Problem, Warning, Note} {
		add(string(s)+"s", a.found(s), b.found(s), number)
	}
	return rows
}

// scans returns how many scans a query needs. Without a prefix it reads the whole table.
func scans(q *QueryFit) float64 {
	if q.Full {
		return math.Inf(1)
	}
	return float64(q.Scans)
}

func (r *InputReport) found(s Severity) (n float64) {
	for _, f := range r.Checks {
		if f.Severity == s {
			n++
		}
	}
	return n
}

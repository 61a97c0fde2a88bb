package stats

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

// Page is the content of a plan's page.
type Page struct {
	Title  string
	Date   string // the logical date; may be empty
	Tables []Table
}

// Table is one table's part of a page.
type Table struct {
	Name     string
	Report   *Report
	Compared *Report // another key for the same data; nil: none
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"plural": plural, "count": Count, "size": Size, "join": strings.Join, "compare": Compare, "charts": charts, "facts": facts, "duration": Duration, "firstSplits": FirstSplits, "same": slices.Equal[[]string],
	"records": func(r *Report) *RecordTable { return NewRecordTable(r, math.MaxInt, widthOnPage) },
	"float":   func(n float64) string { return Count(int64(n + 0.5)) },
	"bytes":   func(n float64) string { return Size(int64(n)) },
}).Parse(pageText))

// widthOnPage is how many characters of a value the page shows: all that the report has, but for long escapes.
const widthOnPage = 200

// WritePage writes a page that needs nothing from elsewhere: no script, no font, no image.
func WritePage(w io.Writer, p *Page) error { return pageTemplate.Execute(w, p) }

// fact is one of the figures at the top of a table's part.
type fact struct{ Name, Value, More string }

func facts(r *Report) []fact {
	about := ""
	if r.Sample {
		about = "about "
	}
	key := fmt.Sprintf("%d bytes", r.KeyBytes.Longest)
	if r.KeyBytes.Shortest != r.KeyBytes.Longest {
		key = fmt.Sprintf("%d–%d bytes", r.KeyBytes.Shortest, r.KeyBytes.Longest)
	}
	all := []fact{
		{"rows", about + Count(r.Rows), Count(r.Rejected) + " rejected" + ofSample(r.Sample)},
		{"source", Size(r.InputBytes), plural(r.InputFiles, "file")},
		{"HFiles", "≈ " + Size(r.HFiles.Bytes), fmt.Sprintf("%.1f%% of the KeyValues", 100*r.HFiles.Ratio)},
		{"regions", fmt.Sprint(len(r.Regions)), fmt.Sprintf("suggested %d; skew %.2f", r.Suggestion.Regions, r.Skew)},
		{"row key", key, fmt.Sprintf("%.0f%% of the bytes", 100*r.Shares.Keys())},
	}
	if q := r.Query; q != nil {
		scans := plural(q.Scans, "scan")
		if q.Full {
			scans = "the whole table"
		}
		all = append(all, fact{"a query", scans, fmt.Sprintf("%.1f rows on average, %s at most%s", q.Rows.Mean, Count(q.Rows.Max), ofSample(q.InSample))})
	}
	f := &r.Forecast
	run := fact{"a run", "≈ " + Duration(f.Seconds), "on " + plural(f.Rates.Cores, "core") + ", without waiting for disks"}
	if f.Unsure {
		run.Value, run.More = "not known", "too little was read"
	}
	all = append(all, run)
	if f.Growth > 0 && f.DaysToSplit >= 0 {
		all = append(all, fact{"first split", "in " + plural(int(f.DaysToSplit), "day"), Size(f.Growth) + " per day"})
	}
	if f.Growth > 0 && f.Nights >= 0 {
		all = append(all, fact{"files", plural(f.Nights, "night"), fmt.Sprintf("until a region has %d without a compaction", f.BlockingFiles)})
	}
	return all
}

// ofSample follows figures that are only for the rows read.
func ofSample(sample bool) string {
	if sample {
		return ", in the sample"
	}
	return ""
}

// charts are the charts of a report.
func charts(r *Report) []*Chart {
	var all []*Chart
	if r.Rows == 0 {
		return nil
	}
	all = append(all, regionChart(r), shareChart(r))
	if q := r.Query; q != nil && len(q.Rows.Buckets) > 0 {
		all = append(all, rowsChart(q))
		if len(q.Top) > 0 {
			all = append(all, frequentChart(q))
		}
	}
	if r.Forecast.Growth > 0 {
		all = append(all, growthChart(&r.Forecast))
	}
	return all
}

func regionChart(r *Report) *Chart {
	var values []value
	var all float64
	for _, region := range r.Regions {
		start := region.Start
		if start == "" {
			start = "first"
		}
		v := value{name: shorten(start, 8), size: float64(region.HFileBytes), class: "one", more: plural(int(region.Rows), "row")}
		all += v.size
		values = append(values, v)
	}
	mean := all / float64(len(values))
	for i := range values {
		if values[i].size > maxSkew*mean {
			values[i].class = "hot"
		}
	}
	c := columns("HFile bytes per region", fmt.Sprintf("Largest region / mean: %.2f.", r.Skew), values, ofBytes)
	c.across(mean, "mean")
	return c
}

func shareChart(r *Report) *Chart {
	s := &r.Shares
	return stack("What the KeyValue bytes are", fmt.Sprintf("Row key, family (%.0f%%) and qualifier (%.0f%%) are in each cell; encoding and compression save most of that.",
		100*part(s.Family, s.All()), 100*part(s.Qualifier, s.All())), []value{
		{name: "row key", size: float64(s.Row), class: "one"}, {name: "family", size: float64(s.Family), class: "two"},
		{name: "qualifier", size: float64(s.Qualifier), class: "three"}, {name: "frame", size: float64(s.Frame), class: "four"},
		{name: "value", size: float64(s.Value), class: "five"}})
}

func rowsChart(q *Query) *Chart {
	var values []value
	for _, b := range q.Rows.Buckets {
		v := value{name: fmt.Sprintf("%s–%s", Count(b.From), Count(b.To)), size: float64(b.Keys), class: "one"}
		if b.From == b.To {
			v.name = Count(b.From)
		}
		if b.From > RowLimit {
			v.class = "hot"
		}
		values = append(values, v)
	}
	return columns("Rows that a query returns", fmt.Sprintf("Query keys by how many rows they have%s; more than %d are marked.", ofSample(q.InSample), RowLimit), values, ofCounts)
}

func frequentChart(q *Query) *Chart {
	says := "Rows that each has"
	var values []value
	for _, f := range q.Top {
		values = append(values, value{name: f.Key, size: float64(f.Rows - f.Over), class: "two"})
		if f.Over > 0 {
			says = "Rows that each has at least"
		}
	}
	return rows("The most frequent query keys", says+ofSample(q.InSample)+".", values, ofCounts.show)
}

// growthChart shows the largest region, period by period, until it is split.
func growthChart(f *Forecast) *Chart {
	const points = 13
	days := f.DaysToSplit
	if days <= 0 {
		days = points - 1
	}
	start := float64(f.LargestRegion)
	var values []value
	for i := range points {
		at := days * float64(i) / (points - 1)
		size := start + (float64(f.MaxFileSize)-start)*float64(i)/(points-1)
		values = append(values, value{name: fmt.Sprintf("day %s", Count(int64(at))), size: size, class: "three"})
	}
	c := columns("The fullest region if every day brings as much", "It is split when it reaches hbase.hregion.max.filesize.", values, ofBytes)
	c.across(float64(f.MaxFileSize), "hbase.hregion.max.filesize")
	return c
}

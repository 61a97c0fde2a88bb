package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bulkload/internal/page"
)

// PlanPage is the content of a plan's page.
type PlanPage struct {
	Title  string
	Date   string // the logical date; may be empty
	Tables []PlannedTable
}

// PlannedTable is one table's part of a page.
type PlannedTable struct {
	Name     string
	Report   *InputReport
	Compared *InputReport // another key for the same data; nil: none
}

// widthOnPage is how many characters of a value the page shows: everything that the report has, except long escapes.
const widthOnPage = 200

// Facts returns the figures at the top of the table's part.
func (t PlannedTable) Facts() []page.Fact {
	r := t.Report
	about := ""
	if r.Sample {
		about = "about "
	}
	key := fmt.Sprintf("%d bytes", r.KeyBytes.Longest)
	if r.KeyBytes.Shortest != r.KeyBytes.Longest {
		key = fmt.Sprintf("%d–%d bytes", r.KeyBytes.Shortest, r.KeyBytes.Longest)
	}
	all := []page.Fact{
		{Name: "rows", Value: about + Count(r.Rows), More: Count(r.Rejected) + " rejected" + ofSample(r.Sample)},
		{Name: "source", Value: Size(r.InputBytes), More: plural(r.InputFiles, "file")},
		{Name: "HFiles", Value: "≈ " + Size(r.HFiles.Bytes),
			More: fmt.Sprintf("%.1f%% of the KeyValues", 100*r.HFiles.Ratio)},
		{Name: "regions", Value: fmt.Sprint(len(r.Regions)),
			More: fmt.Sprintf("suggested %d; skew %.2f", r.Suggestion.Regions, r.Skew)},
		{Name: "row key", Value: key, More: fmt.Sprintf("%.0f%% of the bytes", 100*r.Shares.Keys())},
	}
	if q := r.Query; q != nil {
		scans := plural(q.Scans, "scan")
		if q.Full {
			scans = "the whole table"
		}
		all = append(all, page.Fact{Name: "a query", Value: scans,
			More: fmt.Sprintf("%.1f rows on average, %s at most%s", q.Rows.Mean, Count(q.Rows.Max), ofSample(q.InSample))})
	}
	f := &r.Forecast
	run := page.Fact{Name: "a run", Value: "≈ " + Duration(f.Seconds), More: "on " + plural(f.Rates.Cores, "core") +
		", without waiting for disks"}
	if f.Unsure {
		run.Value, run.More = "not known", "too little was read"
	}
	all = append(all, run)
	if f.Growth > 0 && f.DaysToSplit >= 0 {
		all = append(all, page.Fact{Name: "growth", Value: Size(f.Growth) + " per day", More: SplitIn(f.DaysToSplit)})
	}
	if f.Growth > 0 && f.Nights >= 0 {
		all = append(all, page.Fact{Name: "files", Value: plural(f.Nights, "night"),
			More: fmt.Sprintf("until a region has %d without a compaction", f.BlockingFiles)})
	}
	return all
}

// ofSample returns a note for figures that cover only the rows read.
func ofSample(sample bool) string {
	if sample {
		return ", in the sample"
	}
	return ""
}

// mostRegions bounds the table of regions.
const mostRegions = 100

// Regions lists the largest regions.
func (t PlannedTable) Regions() page.RegionTable {
	all := t.Report.Regions
	list := page.RegionTable{Heads: []string{"KeyValues", "HFiles", "files"}, More: max(0, len(all)-mostRegions)}
	for _, r := range page.Largest(all, mostRegions, func(r PlannedRegion) int64 { return r.HFileBytes }) {
		list.Regions = append(list.Regions, page.RegionLine{Number: r.Region, Start: r.Start, End: r.End, Rows: r.Rows,
			Figures: []string{Size(r.RawBytes), "≈ " + Size(r.HFileBytes), fmt.Sprint(r.Files)}})
	}
	return list
}

// Records returns the first records with their row keys.
func (t PlannedTable) Records() *RecordTable {
	return NewRecordTable(t.Report, math.MaxInt, widthOnPage)
}

// Comparison compares the two keys.
func (t PlannedTable) Comparison() []Compared { return Compare(t.Report, t.Compared) }

// OtherSplits returns the suggested splits; "" if the table has them.
func (t PlannedTable) OtherSplits() string {
	if slices.Equal(t.Report.Suggestion.Splits, t.Report.Splits) {
		return ""
	}
	return FirstSplits(t.Report.Suggestion.Splits)
}

// Checks returns the findings for the key.
func (t PlannedTable) Checks() []page.Check { return findings(t.Report) }

// OtherChecks returns the findings for the other key.
func (t PlannedTable) OtherChecks() []page.Check { return findings(t.Compared) }

func findings(r *InputReport) (all []page.Check) {
	for _, f := range r.Checks {
		all = append(all, page.Check{Class: string(f.Severity), State: string(f.Severity), Code: f.Code,
			Text: f.Reason, Remedy: f.Remedy})
	}
	return all
}

// Charts returns the charts for the key.
func (t PlannedTable) Charts() []*page.Chart { return charts(t.Report) }

// OtherCharts returns the charts for the other key.
func (t PlannedTable) OtherCharts() []*page.Chart { return charts(t.Compared) }

func charts(r *InputReport) []*page.Chart {
	var all []*page.Chart
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

func regionChart(r *InputReport) *page.Chart {
	values := make([]page.Value, len(r.Regions))
	for i, region := range r.Regions {
		values[i] = page.Value{Name: cmp.Or(region.Start, "first"), Size: float64(region.HFileBytes),
			More: plural(int(region.Rows), "row")}
	}
	return page.Regions(values, r.Skew, maxSkew)
}

func shareChart(r *InputReport) *page.Chart {
	s := &r.Shares
	return page.Stack("What the KeyValue bytes are", fmt.Sprintf(
		"Row key, family (%.0f%%) and qualifier (%.0f%%) are in each cell; encoding and compression save most of that.",
		100*part(s.Family, s.Total()), 100*part(s.Qualifier, s.Total())), []page.Value{
		{Name: "row key", Size: float64(s.Row), Class: "one"}, {Name: "family", Size: float64(s.Family), Class: "two"},
		{Name: "qualifier", Size: float64(s.Qualifier), Class: "three"},
		{Name: "frame", Size: float64(s.Frame), Class: "four"},
		{Name: "value", Size: float64(s.Value), Class: "five"}}, func(n float64) string { return Size(int64(n)) })
}

func rowsChart(q *QueryFit) *page.Chart {
	var values []page.Value
	for _, b := range q.Rows.Buckets {
		v := page.Value{Name: fmt.Sprintf("%s–%s", Count(b.From), Count(b.To)), Size: float64(b.Keys), Class: "one"}
		if b.From == b.To {
			v.Name = Count(b.From)
		}
		if b.From > RowLimit {
			v.Class = "hot"
		}
		values = append(values, v)
	}
	return page.Columns("Rows that a query returns",
		fmt.Sprintf("Query keys by how many rows they have%s; more than %d are marked.", ofSample(q.InSample), RowLimit),
		page.Axis{Y: "query keys", X: "rows per query key"}, values, page.OfCounts)
}

func frequentChart(q *QueryFit) *page.Chart {
	says := "Rows that each has"
	var values []page.Value
	for _, f := range q.Top {
		values = append(values, page.Value{Name: f.Key, Size: float64(f.Rows - f.Over), Class: "two"})
		if f.Over > 0 {
			says = "Rows that each has at least"
		}
	}
	return page.Rows("The most frequent query keys", says+ofSample(q.InSample)+".", values,
		func(n float64) string { return plural(int(n), "row") })
}

// growthChart shows the largest region, period by period, until it is split.
func growthChart(f *Forecast) *page.Chart {
	const points = 13
	days, end := f.DaysToSplit, float64(f.MaxFileSize)
	start := float64(f.LargestRegion)
	switch {
	case days <= 0:
		days = points - 1
	case days > farDays:
		end = start + (end-start)*farDays/days
		days = farDays
	}
	var values []page.Value
	for i := range points {
		at := days * float64(i) / (points - 1)
		size := start + (end-start)*float64(i)/(points-1)
		values = append(values, page.Value{Name: Count(int64(at)), Size: size, Class: "three"})
	}
	c := page.Columns("The fullest region if every day brings as much",
		"It is split when it reaches hbase.hregion.max.filesize.",
		page.Axis{Y: "size", X: "days from now"}, values, page.OfBytes)
	c.Mark(float64(f.MaxFileSize), "hbase.hregion.max.filesize")
	return c
}

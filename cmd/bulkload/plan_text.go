package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bulkload/internal/bytesize"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

// writePlan shows a plan: one part for each table, if there are several, and two keys side by side if two were
// compared. With colours, problems and warnings are highlighted.
func writePlan(w io.Writer, p *plan.PlanReport, colours bool) {
	for _, out := range p.Outputs {
		writePlan(w, out, colours)
	}
	if p.Outputs != nil {
		return
	}
	fmt.Fprintf(w, "%s into table %s\n", p.Run.Job, p.Run.Table)
	writePlanned(w, p.InputReport, colours)
	if p.Compared != nil {
		writeComparison(w, p.InputReport, p.Compared.InputReport)
		writeChecks(w, "the other key's checks", p.Compared.Checks, colours)
	}
	switch {
	case p.Existed:
		line(w, "created", "nothing: table %s exists already", p.Run.Table)
	case p.CreatedNamespace != "":
		line(w, "created", "namespace %s and table %s", p.CreatedNamespace, p.Run.Table)
	case p.Created:
		line(w, "created", "table %s", p.Run.Table)
	}
}

func writePlanned(w io.Writer, p *stats.InputReport, colours bool) {
	line(w, "input", "%s, %s; read: %s", jobfile.Plural(p.InputFiles, "file"), stats.Size(p.InputBytes), p.How)
	about := ""
	if p.Sample {
		about = "about "
	}
	line(w, "rows", "%s%s, %s cells, %s as KeyValues; %s%s rejected, %s filtered", about, count(p.Rows),
		count(p.Cells), stats.Size(p.RawBytes),
		inSample(p.Sample), count(p.Rejected), count(p.Filtered))
	writeRecords(w, p)
	writeRejected(w, p)
	writeKey(w, p)
	writeHFiles(w, p)
	writeQuery(w, p)
	writeWeighed(w, p)
	writeRegionShares(w, p)
	writeSuggestion(w, p)
	writeLive(w, p)
	writeForecast(w, p)
	writeChecks(w, "checks", p.Checks, colours)
	line(w, "create", "%s", p.Create)
}

// inSample precedes figures that cover only the rows that were read.
func inSample(sample bool) string {
	if sample {
		return "in the sample "
	}
	return ""
}

func writeKey(w io.Writer, p *stats.InputReport) {
	k, s := &p.KeyBytes, &p.Shares
	width := jobfile.Plural(k.Longest, "byte")
	if k.Shortest != k.Longest {
		width = fmt.Sprintf("%d to %d bytes, %.1f on average", k.Shortest, k.Longest, k.Mean)
	}
	if k.Min == k.Max {
		width += ", fixed"
	}
	line(w, "rowkey", "%s: %s", p.Key, width)
	line(w, "bytes", "of all KeyValue bytes: row key %.1f%%, family %.1f%%, qualifier %.1f%%, lengths, timestamp and "+
		"type %.1f%%, value %.1f%%",
		percent(s.Row, s), percent(s.Family, s), percent(s.Qualifier, s), percent(s.Frame, s), percent(s.Value, s))
	among := "all of them"
	if p.Repeats.Share < 1 {
		among = fmt.Sprintf("one in %.0f", 1/p.Repeats.Share)
	}
	none := ""
	if p.Sample {
		among, none = among+" of the sample's", "; a sample can't show that keys are unique"
	}
	line(w, "unique", "%s%s of %s %s occur more than once; %s compared%s", inSample(p.Sample), count(p.Repeats.Repeated),
		count(p.Repeats.Keys), p.Unique(), among, none)
}

func percent(n int64, s *stats.ByteShares) float64 {
	return 100 * float64(n) / float64(max(s.Total(), 1))
}

func writeHFiles(w io.Writer, p *stats.InputReport) {
	h := &p.HFiles
	line(w, "hfiles", "about %s, %.1f%% of the KeyValues, from %s that were encoded", stats.Size(h.Bytes),
		100*h.Ratio, plural(h.SampleRows, "row"))
	if h.Scattered {
		line(w, "", "rows of a query key are far apart in the input: how well they compress was estimated from the sample, "+
			"and may be better")
	}
	for _, f := range h.Families {
		line(w, "", "family %s: %s; %s", f.Family, stats.Size(f.Bytes), f.Settings)
	}
}

func writeQuery(w io.Writer, p *stats.InputReport) {
	q := p.Query
	if q == nil {
		return
	}
	about := "about "
	if q.Exact || q.InSample && q.Rows.Share == 1 {
		about = ""
	}
	what := "query keys"
	if q.Keys == 1 {
		what = "query key"
	}
	line(w, "query", "by %s: %s, prefix %s; %s%s%s %s", strings.Join(q.Columns, ", "), scansText(q.Scans, q.Full),
		orNone(q.Prefix), inSample(q.InSample), about, count(q.Keys), what)
	d := &q.Rows
	line(w, "", "rows per query%s: mean %s, median %s, 90%% up to %s, 99%% up to %s, most %s",
		strings.TrimSuffix(" "+inSample(q.InSample), " "), decimal(d.Mean),
		count(d.Median), count(d.P90), count(d.P99), count(d.Max))
	var top []string
	for _, f := range q.Top[:min(len(q.Top), 3)] {
		over := ""
		if f.Over > 0 {
			over = fmt.Sprintf(", %s at least", count(f.Rows-f.Over))
		}
		top = append(top, fmt.Sprintf("%s (%s%s)", f.Key, count(f.Rows), over))
	}
	if len(top) > 0 {
		line(w, "", "most frequent%s: %s", strings.TrimSuffix(" "+inSample(q.InSample), " "), strings.Join(top, ", "))
	}
}

// scansText is the number of scans of a query; one without a prefix reads every region.
func scansText(scans int, full bool) string {
	if full {
		return "the whole table, " + jobfile.Plural(scans, "region")
	}
	return jobfile.Plural(scans, "scan")
}

// decimal formats a number with commas and one digit after the point.
func decimal(n float64) string {
	tenths := int64(n*10 + 0.5)
	return fmt.Sprintf("%s.%d", count(tenths/10), tenths%10)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func writeWeighed(w io.Writer, p *stats.InputReport) {
	for _, q := range p.Queries {
		line(w, "query", "by %s, %s: %s, prefix %s; %s%s rows returned, %s read, %s", strings.Join(q.Columns, ", "),
			stats.TimesADay(q.PerDay),
			scansText(q.Scans, q.Full), orNone(q.Prefix), inSample(q.InSample), decimal(q.Returned),
			decimal(q.Read), stats.Size(int64(q.Bytes)))
	}
	if len(p.Queries) > 0 {
		line(w, "a day", "%s", day(&p.Daily, p.Sample))
	}
}

func day(d *stats.Day, sample bool) string {
	return fmt.Sprintf("%s scans; %s%s rows, %s read", count(int64(d.Scans)), inSample(sample), count(int64(d.Rows)),
		stats.Size(int64(d.Bytes)))
}

// regionsShown is how many regions are listed one by one.
const regionsShown = 20

func writeRegionShares(w io.Writer, p *stats.InputReport) {
	for _, r := range p.Regions[:min(len(p.Regions), regionsShown)] {
		line(w, fmt.Sprintf("region %d", r.Region), "[%s, %s): %s, %s, %s of HFiles", r.Start, r.End, plural(r.Rows, "row"),
			stats.Size(r.RawBytes), stats.Size(r.HFileBytes))
	}
	if more := len(p.Regions) - regionsShown; more > 0 {
		line(w, "", "and %s more", count(int64(more)))
	}
	line(w, "skew", "%.2f (largest region / mean)", p.Skew)
}

func writeSuggestion(w io.Writer, p *stats.InputReport) {
	s := &p.Suggestion
	line(w, "suggest", "%s: %s", jobfile.Plural(s.Regions, "region"), s.Reason)
	line(w, "", "at %s per region: source %s, HFiles %s; splits from the %s, skew %.2f", stats.RegionRule,
		regionRange(s.BySource), regionRange(s.ByHFiles), s.From, s.Skew)
	if shown := stats.FirstSplits(s.Splits); shown != "" && !slices.Equal(s.Splits, p.Splits) {
		line(w, "", "%s: %s", jobfile.Plural(len(s.Splits), "split"), shown)
	}
}

func regionRange(r stats.RegionRange) string {
	if r.Least == r.Most {
		return fmt.Sprint(r.Least)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

func writeLive(w io.Writer, p *stats.InputReport) {
	l := p.Live
	if l == nil {
		return
	}
	servers := jobfile.Plural(l.Servers, "region server")
	if l.Unknown != "" {
		servers = "the number of servers and the sizes of regions are unknown"
	}
	switch {
	case !p.TableFound:
		line(w, "live", "%s; the table does not exist yet: regions and settings are suggestions", servers)
		return
	case l.Unknown != "":
		line(w, "live", "%s", servers)
	default:
		line(w, "live", "%s, %s, %d of them empty, skew %.2f", servers,
			jobfile.Plural(len(l.Regions), "region"), l.Empty, l.Skew)
	}
	for _, f := range l.Families {
		ttl := "for ever"
		if f.TTL > 0 {
			ttl = fmt.Sprintf("%s s", count(f.TTL))
		}
		line(w, "", "family %s: TTL %s, %s", f.Name, ttl, jobfile.Plural(f.Versions, "version"))
	}
	if l.Checked > 0 {
		line(w, "", "%s of %s row keys looked up are in the table", count(l.Present), count(l.Checked))
	}
}

func writeForecast(w io.Writer, p *stats.InputReport) {
	f := &p.Forecast
	if f.Unsure {
		line(w, "run", "too little was read to estimate the time (%s of work): use a larger --sample, or none",
			stats.Duration(f.Measured))
	} else {
		line(w, "run", "%s on %s without waiting for disks and network, %s of it to read and sort", stats.Duration(f.Seconds),
			jobfile.Plural(f.Rates.Cores, "core"), stats.Duration(f.SortSeconds))
	}
	sort := "fits"
	if f.Spill > 0 {
		sort = fmt.Sprintf("spills about %s to --work-dir, in %s; --memory %s avoids that", stats.Size(f.Spill),
			jobfile.Plural(f.Runs, "sorted run"), bytesize.Exact(f.Memory))
	}
	line(w, "memory", "the sort needs %s and has %s: it %s", stats.Size(f.SortNeeds), stats.Size(f.SortMemory), sort)
	line(w, "disk", "%s of HFiles, %s", stats.Size(f.Output), jobfile.Plural(f.Replication, "replica"))
	if f.Growth == 0 {
		return
	}
	line(w, "grows", "%s per day; %s; each load adds %s to a region: %s until it has %d "+
		"(hbase.hstore.blockingStoreFiles) without a compaction",
		stats.Size(f.Growth), stats.SplitIn(f.DaysToSplit), jobfile.Plural(f.FilesALoad, "file"),
		nightsText(f.Nights), f.BlockingFiles)
}

func nightsText(n int) string {
	if n < 0 {
		return "never"
	}
	return jobfile.Plural(n, "night")
}

func writeChecks(w io.Writer, title string, found []stats.Finding, colours bool) {
	if len(found) == 0 {
		line(w, title, "nothing found")
	}
	for i, f := range found {
		if i > 0 {
			title = ""
		}
		line(w, title, "%s %s: %s", severity(f.Severity, colours), f.Code, f.Reason)
		line(w, "", "  → %s", f.Remedy)
	}
}

// severity is the severity of a check, in its colour.
func severity(s stats.Severity, colours bool) string {
	switch s {
	case stats.Problem:
		return paint(colours, red, string(s))
	case stats.Warning:
		return paint(colours, yellow, string(s))
	}
	return string(s)
}

// writeComparison shows two keys side by side.
func writeComparison(w io.Writer, a, b *stats.InputReport) {
	line(w, "compare", "this   %s", a.Key)
	line(w, "", "other  %s", b.Key)
	line(w, "", "%-30s %-20s %s", "", "this", "other")
	for _, row := range stats.Compare(a, b) {
		better := ""
		if row.Better != 0 {
			better = []string{"", "  (this)", "  (other)"}[row.Better]
		}
		line(w, "", "%-30s %-20s %s%s", row.What, row.A, row.B, better)
	}
}

package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Severity is how much a finding matters.
type Severity string

// The severities. A problem will cost rows, reads or a table; a warning is likely to hurt; a note suggests an
// improvement.
const (
	Problem Severity = "problem"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is what a check has found, and what to do about it. If there is nothing to do, there is no finding.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	Remedy   string   `json:"remedy"`
}

// Facts are what the checks need in addition to the InputReport.
type Facts struct {
	Now            time.Time
	Table          string
	Oldest, Newest int64         // the cells' timestamps, epoch milliseconds; 0: no cell
	FromKey        []Finding     // findings of the expression alone
	Cycle          time.Duration // after which the key's first part repeats; 0: it is not a part of a date
	Order          KeyTrend
	Reversed       []KeyWidths  // of the columns that the key reverses without a fixed width
	Beyond         []OutOfRange // columns that exceed the base of desc
	// columns of dates with neither an offset nor a zone, whose milliseconds are in the key
	Unzoned     []string
	Mixed       []Mixture     // columns whose values look as if several exporters wrote them
	OracleDates []string      // columns with dates in the default format of Oracle's clients
	RejectsStop string        // input.max_rejects, if a run would stop because of the rejects found; otherwise empty
	Further     []string      // boundaries of the table that the job file lacks
	MajorPeriod time.Duration // hbase.hregion.majorcompaction
	MaxRegion   int64         // hbase.hregion.max.filesize
	MaxFiles    int           // hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily
	Dates       int           // number of dates for which the job will be run; 0: one
	Folders     int           // folders that a glob finds, if all their rows get one timestamp
}

// KeyTrend counts how the first part of the key changed from one record to the next.
type KeyTrend struct{ Up, Down int64 }

// KeyWidths are the lengths of a column's values.
type KeyWidths struct {
	Column            string
	Shortest, Longest int
}

// OutOfRange is a column with numbers that exceed the base of desc.
type OutOfRange struct {
	Column string
	Rows   int64 // among those read
}

// Mixture is a column with values in two spellings that one exporter does not mix.
type Mixture struct{ Column, One, Other string }

// Vary reports whether the lengths differ.
func (w KeyWidths) Vary() bool { return w.Shortest != w.Longest }

// check checks one thing. find returns nil if it is fine.
type check struct {
	code string
	find func(*InputReport, *Facts) []Finding
}

// checks are all checks, in the order in which findings of a severity are listed.
var checks = []check{
	{"rejects", checkRejects},
	{"key-repeated", checkRepeated},
	{"key-in-table", checkInTable},
	{"query-prefix", checkPrefix},
	{"query-rows", checkRows},
	{"key-order", checkOrder},
	{"key-reverse", checkReversed},
	{"key-complement", checkComplement},
	{"key-zone", checkZone},
	{"key-cycle", checkCycle},
	{"key-long", checkLong},
	{"key-short", checkShort},
	{"key-width", checkWidth},
	{"value-spelling", checkSpelling},
	{"value-date", checkOracleDates},
	{"cell-expired", checkExpired},
	{"cell-future", checkFuture},
	{"family-name", checkFamilyName},
	{"family-count", checkFamilyCount},
	{"family-versions", checkVersions},
	{"region-large", checkLargeRegion},
	{"region-files", checkRegionFiles},
	{"region-count", checkRegionCount},
	{"region-empty", checkEmpty},
	{"region-skew", checkSkew},
	{"table-unknown", checkTableUnknown},
	{"table-regions", checkTableRegions},
	{"table-empty", checkTableEmpty},
	{"table-skew", checkTableSkew},
	{"files-blocking", checkBlocking},
	{"history-dates", checkDates},
	{"history-timestamp", checkFolders},
}

// Check runs all checks, and returns their findings, problems first.
func Check(r *InputReport, f *Facts) []Finding {
	found := []Finding{}
	for _, c := range checks {
		for _, finding := range c.find(r, f) {
			finding.Code = c.code
			found = append(found, finding)
		}
	}
	found = append(found, f.FromKey...)
	rank := map[Severity]int{Problem: 0, Warning: 1, Note: 2}
	slices.SortStableFunc(found, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return found
}

func one(s Severity, remedy, reason string, args ...any) []Finding {
	return []Finding{{Severity: s, Reason: fmt.Sprintf(reason, args...), Remedy: remedy}}
}

func checkRejects(r *InputReport, f *Facts) []Finding {
	if r.Rejected == 0 {
		return nil
	}
	var reasons []string
	for _, reject := range r.Rejects {
		where := reject.Reason
		if reject.Column != "" && !strings.Contains(where, reject.Column) {
			where = reject.Column + ": " + reject.Reason
		}
		reasons = append(reasons, fmt.Sprintf("%s × %s, first at %s", Count(reject.Rows), where, reject.First))
	}
	severity, stops := Warning, ""
	if f.RejectsStop != "" {
		severity, stops = Problem, fmt.Sprintf("; a run stops: input.max_rejects is %s", f.RejectsStop)
	}
	return one(severity, "correct the export, or allow rejects with input.max_rejects",
		"%s of the records that were read can't be used: %s%s",
		Count(r.Rejected), strings.Join(reasons, "; "), stops)
}

func checkRepeated(r *InputReport, _ *Facts) []Finding {
	p := &r.Repeats
	if p.Repeated == 0 {
		if p.Share == 1 || r.Sample {
			return nil
		}
		return one(Note, "give more --memory, which compares more of them, if duplicates would do harm",
			"no duplicate among %s %s, which are one in %.0f of all; if there were 100 duplicates, the chance of missing them "+
				"all would be %.1g",
			Count(p.Keys), r.Unique(), 1/p.Share, p.Missed(100))
	}
	severity, what := Warning, "with equal values: one of each is written"
	if p.Differing > 0 {
		severity, what = Problem, fmt.Sprintf("%s of them with different values: the last by file and offset wins, the "+
			"others are lost", Count(p.Differing))
	}
	among := ""
	if r.Sample {
		among = " in the sample"
	}
	if p.Share < 1 {
		among = fmt.Sprintf(", one in %.0f of all,", 1/p.Share)
	}
	remedy := "add a column to the end of the key that makes rows unique, or set duplicates: error"
	if r.Wide {
		remedy = "add a column to the end of wide.qualifier that makes records unique, or set duplicates: error"
	}
	occur := "occur"
	if p.Repeated == 1 {
		occur = "occurs"
	}
	return one(severity, remedy, "%s of %s %s%s %s more than once, %s", Count(p.Repeated), Count(p.Keys),
		r.Unique(), among, occur, what)
}

func checkInTable(r *InputReport, _ *Facts) []Finding {
	if r.Live == nil || r.Live.Checked == 0 || r.Live.Present == 0 {
		return nil
	}
	return one(Problem, "make the key unique over time, or make sure that overwriting is intended",
		"%s of %s row keys tried are already in the table: the load would add new versions of rows that should only "+
			"be inserted",
		Count(r.Live.Present), Count(r.Live.Checked))
}

func checkPrefix(r *InputReport, _ *Facts) []Finding {
	var found []Finding
	if r.Query == nil {
		found = one(Note, "list the columns that readers know in query: [COLUMN, …]",
			"the job names no query columns, so reads can't be judged")
	} else if r.Query.Full {
		found = one(Problem, "begin the key with something that the query columns determine",
			"%s: every query reads the whole table", r.Query.Error)
	}
	for _, q := range r.Queries {
		if q.Full && !(r.Query != nil && r.Query.Full && slices.Equal(q.Columns, r.Query.Columns)) { // reported already
			found = append(found, one(Problem, "use another key, or an index table for this query",
				"the query by %s (%s) does not determine the beginning of the key, so it reads the whole table",
				strings.Join(q.Columns, ", "), TimesADay(q.PerDay))...)
		}
	}
	return found
}

func checkRows(r *InputReport, _ *Facts) []Finding {
	if r.Query == nil || r.Query.Rows.Max <= RowLimit {
		return nil
	}
	d := &r.Query.Rows
	counted := "counted"
	if r.Query.InSample {
		counted = "in the sample"
	}
	return one(Warning,
		"add a column to the query that narrows it, or let the reader page through the rows: get returns all of them",
		"%s%% of the query keys (%s of %s %s) have more than %d rows, at most %s", percentText(100*part(d.Over, d.Keys)),
		Count(d.Over), Count(d.Keys), counted, RowLimit, Count(d.Max))
}

// percentText formats a percentage with two digits, without a power of ten.
func percentText(p float64) string {
	switch {
	case p >= 10:
		return fmt.Sprintf("%.0f", p)
	case !(p > 0): // NaN too
		return "0"
	}
	digits := 1 - int(math.Floor(math.Log10(p))) // after the point
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(p, 'f', digits, 64), "0"), ".")
}

// ordered is the fraction of changes in one direction that counts as an order.
const (
	ordered      = 0.95
	enoughOrders = 50
)

func checkOrder(_ *InputReport, f *Facts) []Finding {
	all := f.Order.Up + f.Order.Down
	if all < enoughOrders {
		return nil
	}
	way, of := "rises", f.Order.Up
	if f.Order.Down > f.Order.Up {
		way, of = "falls", f.Order.Down
	}
	if part(of, all) < ordered {
		return nil
	}
	return one(Warning, "put a salt or a hash in front, or reverse the digits: salt(x, n), md5(x, 4), reverse(x, width)",
		"the beginning of the key %s from record to record (%.0f%% of %s changes): all new rows go to one region",
		way, 100*part(of, all), Count(all))
}

func checkReversed(_ *InputReport, f *Facts) []Finding {
	var found []Finding
	for _, w := range f.Reversed {
		if w.Vary() {
			found = append(found, one(Warning, fmt.Sprintf("pad it: reverse(%s, %d)", w.Column, w.Longest),
				"reverse(%s) of values of %d to %d bytes: values of different widths mix with the next part of the key",
				w.Column, w.Shortest, w.Longest)...)
		}
	}
	return found
}

func checkComplement(_ *InputReport, f *Facts) []Finding {
	var found []Finding
	for _, b := range f.Beyond {
		found = append(found, one(Problem, "use a larger base; desc(x) without one counts down from Long.MAX_VALUE",
			"%s has %s values that are negative or greater than the base of desc: the difference would sort wrongly, so the "+
				"records are rejected",
			b.Column, Count(b.Rows))...)
	}
	return found
}

func checkZone(_ *InputReport, f *Facts) []Finding {
	var found []Finding
	for _, column := range f.Unzoned {
		found = append(found, one(Note, fmt.Sprintf(
			"give the zone in which the dates were written: millis(%s, 'Asia/Shanghai'), or 'UTC' if that is right", column),
			"%s has dates without an offset and no time zone is given, so millis and seconds read them as UTC", column)...)
	}
	return found
}

func checkCycle(r *InputReport, f *Facts) []Finding {
	if f.Cycle == 0 {
		return nil
	}
	days := func(d time.Duration) string { return fmt.Sprintf("%.4g days", d.Hours()/24) }
	const remedy = "put the year into the key, or set a TTL so that TTL plus two major compactions is less than the cycle"
	if r.Live == nil || len(r.Live.Families) == 0 {
		return one(Note, remedy, "the key begins with a part of the date that repeats after %s: the old rows must be gone "+
			"by then, and the table's TTL is not known here", days(f.Cycle))
	}
	for _, family := range r.Live.Families {
		if family.TTL == 0 {
			return one(Warning, remedy, "the key begins with a part of the date that repeats after %s, and family %s keeps "+
				"cells for ever: each cycle overwrites the rows of the previous one, or mixes with them",
				days(f.Cycle), family.Name)
		}
		need := time.Duration(family.TTL)*time.Second + 2*f.MajorPeriod
		if f.Cycle < need {
			return one(Warning, remedy, "the key begins with a part of the date that repeats after %s; cells of family %s are "+
				"removed from disk only after TTL plus two major compactions, %s",
				days(f.Cycle), family.Name, days(need))
		}
	}
	return nil
}

// The lengths of row keys that the literature recommends: 10 to 100 bytes.
const (
	longKey  = 100
	shortKey = 10
)

func checkLong(r *InputReport, _ *Facts) []Finding {
	if r.KeyBytes.Longest <= longKey {
		return nil
	}
	return one(Warning, "hash the long parts: md5(x) is 32 bytes, md5_bytes(x) 16",
		"row keys have up to %d bytes; each cell repeats its key, which is %.0f%% of the bytes; keep keys below %d bytes",
		r.KeyBytes.Longest, 100*r.Shares.Keys(), longKey)
}

func checkShort(r *InputReport, _ *Facts) []Finding {
	if r.Rows == 0 || r.KeyBytes.Shortest >= shortKey {
		return nil
	}
	return one(Warning, "add a column that makes rows unique, or pad the key",
		"row keys have only %d bytes: keys below %d bytes are hard to keep unique and spread", r.KeyBytes.Shortest, shortKey)
}

func checkWidth(r *InputReport, _ *Facts) []Finding {
	if r.KeyBytes.Min == r.KeyBytes.Max {
		return nil
	}
	if r.Rows > 0 && r.KeyBytes.Shortest == r.KeyBytes.Longest {
		return one(Note, "declare the columns' width in columns_map, so that another width is rejected",
			"all row keys have %d bytes, but the expression does not guarantee it", r.KeyBytes.Longest)
	}
	return one(Warning, "use pad(x, width), or a separator at the end of a part",
		"row keys are not of fixed width: %d to %d bytes were found", r.KeyBytes.Shortest, r.KeyBytes.Longest)
}

func checkSpelling(_ *InputReport, f *Facts) []Finding {
	if len(f.Mixed) == 0 {
		return nil
	}
	var mixed []string
	for _, m := range f.Mixed[:min(len(f.Mixed), mixturesShown)] {
		mixed = append(mixed, fmt.Sprintf("%s has both %s and %s", m.Column, m.One, m.Other))
	}
	if more := len(f.Mixed) - mixturesShown; more > 0 {
		mixed = append(mixed, fmt.Sprintf("and %s more", plural(more, "mixture")))
	}
	return one(Note, "export all of the table with one tool and the same settings; or declare the column's type with "+
		"store: binary, which has the same bytes for both",
		"values look as if several exporters wrote them, and equal values become different cells: %s",
		strings.Join(mixed, "; "))
}

// mixturesShown is how many mixtures, or columns, a finding names.
const mixturesShown = 5

func checkOracleDates(_ *InputReport, f *Facts) []Finding {
	if len(f.OracleDates) == 0 {
		return nil
	}
	shown := strings.Join(f.OracleDates[:min(len(f.OracleDates), mixturesShown)], ", ")
	if more := len(f.OracleDates) - mixturesShown; more > 0 {
		shown += fmt.Sprintf(" and %s more", plural(more, "column"))
	}
	return one(Warning, "export again after alter session set nls_date_format = 'YYYY-MM-DD HH24:MI:SS' "+
		"(nls_timestamp_format for a TIMESTAMP)",
		"%s: dates as Oracle's clients write them by default, such as 20-NOV-26. Cells get this text, which does not sort "+
			"by time, and a DATE has lost its time of day", shown)
}

func checkExpired(r *InputReport, f *Facts) []Finding {
	if r.Live == nil || f.Oldest == 0 {
		return nil
	}
	for _, family := range r.Live.Families {
		ttl := time.Duration(family.TTL) * time.Second
		if family.TTL > 0 && family.TTL < int64(math.MaxInt64/time.Second) && f.Now.Sub(time.UnixMilli(f.Oldest)) > ttl {
			return one(Problem, "load with a newer timestamp, or raise the TTL first", "cells from %s are older than now − "+
				"TTL of family %s (%v): they are invisible as soon as they are loaded, and deleted by the next compaction",
				moment(f.Oldest), family.Name, ttl)
		}
	}
	return nil
}

func checkFuture(_ *InputReport, f *Facts) []Finding {
	if f.Newest <= f.Now.UnixMilli() {
		return nil
	}
	return one(Warning, "use a timestamp that is not in the future",
		"cells have timestamps in the future, up to %s: a Put or Delete before then will not be seen", moment(f.Newest))
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func checkFamilyName(r *InputReport, _ *Facts) []Finding {
	if r.TableFound { // a family can't be renamed
		return nil
	}
	var found []Finding
	for _, name := range r.Families {
		if len(name) > 1 {
			found = append(found, one(Note, "create the table with a name of one letter",
				"family %s: every cell has its name, %d bytes instead of 1", name, len(name))...)
		}
	}
	return found
}

// fewFamilies is how many families a table should have at most, because each has its own files and memory, and all are
// flushed together.
const fewFamilies = 3

func checkFamilyCount(r *InputReport, _ *Facts) []Finding {
	if len(r.Families) <= fewFamilies {
		return nil
	}
	return one(Warning, "put columns that are read together into one family", "%d families: each has its own files in "+
		"each region, and a load locks a region for all of them; avoid more than %d", len(r.Families), fewFamilies)
}

func checkVersions(r *InputReport, f *Facts) []Finding {
	if r.Live == nil {
		return nil
	}
	var found []Finding
	for _, family := range r.Live.Families {
		if family.Versions > 1 {
			alter := fmt.Sprintf("alter %s, {NAME => %s, VERSIONS => 1}", ruby(f.Table), ruby(family.Name))
			found = append(found, one(Note, alter, "family %s keeps %d versions: an insert-only load needs one, "+
				"and if a row is loaded twice with different timestamps, both versions stay",
				family.Name, family.Versions)...)
		}
	}
	return found
}

func checkLargeRegion(r *InputReport, f *Facts) []Finding {
	if f.MaxRegion == 0 || r.Forecast.LargestRegion < f.MaxRegion {
		return nil
	}
	return one(Warning, "use more regions; see the suggested splits", "with this load the largest region has %s, more "+
		"than hbase.hregion.max.filesize (%s): it is split at once", Size(r.Forecast.LargestRegion), Size(f.MaxRegion))
}

func checkRegionFiles(r *InputReport, f *Facts) []Finding {
	over, most := 0, PlannedRegion{}
	for _, region := range r.Regions {
		if region.Files > f.MaxFiles {
			over++
		}
		if region.Files > most.Files {
			most = region
		}
	}
	if over == 0 || f.MaxFiles == 0 {
		return nil
	}
	return one(Problem, "raise hfile.max_size, add regions, or raise the limit in the site files",
		"%d of %s get more than %d files of a family, region %d [%s, %s) about %d: a load is refused "+
			"(hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily)",
		over, plural(len(r.Regions), "region"), f.MaxFiles, most.Region, most.Start, most.End, most.Files)
}

func checkRegionCount(r *InputReport, _ *Facts) []Finding {
	have, least, most := len(r.Regions), r.Suggestion.ByHFiles.Least, max(r.Suggestion.BySource.Most, r.Suggestion.Regions)
	switch {
	case have < least:
		return one(Warning, "use "+plural(r.Suggestion.Regions, "region")+"; see the suggested splits",
			"%s for %s of HFiles: more than 1.9 GiB each", plural(have, "region"), Size(r.HFiles.Bytes))
	case have > most && r.Rows > 0:
		return one(Note, "use "+plural(r.Suggestion.Regions, "region")+", unless the table will grow",
			"%s for %s of source: less than 0.9 GiB each; %d would suffice", plural(have, "region"),
			Size(r.InputBytes), r.Suggestion.Regions)
	}
	return nil
}

func checkEmpty(r *InputReport, _ *Facts) []Finding {
	if r.Rows == 0 {
		return nil
	}
	var empty []string
	for _, region := range r.Regions {
		if region.Rows == 0 {
			empty = append(empty, fmt.Sprintf("%d [%s, %s)", region.Region, region.Start, region.End))
		}
	}
	if len(empty) == 0 {
		return nil
	}
	const most = 5
	shown := strings.Join(empty[:min(len(empty), most)], ", ")
	if more := len(empty) - most; more > 0 {
		shown += fmt.Sprintf(" … and %d more", more)
	}
	get := "get"
	if len(empty) == 1 {
		get = "gets"
	}
	if r.Sample {
		get += " no row of the sample"
	} else {
		get += " no row"
	}
	return one(Warning, "use splits that fit the keys; see the suggested ones", "%d of %s %s: %s", len(empty),
		plural(len(r.Regions), "region"), get, shown)
}

// maxSkew is the largest-to-mean region size ratio above which plan warns.
const maxSkew = 1.5

func checkSkew(r *InputReport, _ *Facts) []Finding {
	if r.Skew <= maxSkew || r.Rows < 1000 {
		return nil
	}
	return one(Warning, "use the suggested splits, or a key whose beginning spreads better",
		"the largest region gets %.1f times the mean, so one server does the work of %.1f", r.Skew, r.Skew)
}

func checkTableUnknown(r *InputReport, _ *Facts) []Finding {
	if r.Live == nil || r.Live.Unknown == "" {
		return nil
	}
	return one(Note, "plan again later, to see the sizes",
		"the number of servers and the sizes of the table's regions are unknown: %s", r.Live.Unknown)
}

func checkTableRegions(_ *InputReport, f *Facts) []Finding {
	if len(f.Further) == 0 {
		return nil
	}
	return one(Warning, "use regions: {from: table}, with which a run writes its files for the table's regions",
		"the table has %d region boundaries that the job file lacks, the first at %s: a load cuts the files there",
		len(f.Further), f.Further[0])
}

func checkTableEmpty(r *InputReport, _ *Facts) []Finding {
	if r.Live == nil || r.Live.Empty == 0 || r.Live.Empty == len(r.Live.Regions) {
		return nil
	}
	return one(Note, "merge them with merge_region in the HBase shell", "%d of the table's %d regions are empty",
		r.Live.Empty, len(r.Live.Regions))
}

func checkTableSkew(r *InputReport, _ *Facts) []Finding {
	if r.Live == nil || r.Live.Skew <= maxSkew {
		return nil
	}
	return one(Warning, "split the large ones, or use a key that spreads better",
		"the table's largest region has %.1f times the mean size", r.Live.Skew)
}

// checkDates warns of a history that is loaded one date at a time: each run gives every region a file, and a table with
// many files serves slowly.
func checkDates(r *InputReport, f *Facts) []Finding {
	files := f.Dates * max(r.Forecast.FilesALoad, 1)
	if blocking := r.Forecast.BlockingFiles; f.Dates < 2 || files+r.Forecast.FilesNow < blocking {
		return nil
	}
	return one(Warning, "use one run for all of them: input.path is a glob over the dates, such as export/2026-*, and "+
		"timestamp: column:NAME gives each row its own time; or run a major compaction every few dates",
		"%d runs give a region %d files of a family, in addition to %d: flushes wait when there are %d "+
			"(hbase.hstore.blockingStoreFiles), and each read looks into all files",
		f.Dates, files, r.Forecast.FilesNow, r.Forecast.BlockingFiles)
}

func checkFolders(_ *InputReport, f *Facts) []Finding {
	if f.Folders < 2 {
		return nil
	}
	return one(Note, "use timestamp: column:NAME if the folders are of several dates",
		"the glob finds %d folders, and all their rows get the same timestamp", f.Folders)
}

func checkBlocking(r *InputReport, _ *Facts) []Finding {
	f := &r.Forecast
	const fewNights = 7
	if f.Nights < 0 || f.Nights >= fewNights {
		return nil
	}
	return one(Warning, "raise hfile.slice_size (fewer files), run a compaction after the load, or raise "+
		"hbase.hstore.blockingStoreFiles",
		"%s per load and region, in addition to %d: after %s without a compaction, a region has %d files and its flushes "+
			"wait (hbase.hstore.blockingStoreFiles)",
		plural(f.FilesALoad, "file"), f.FilesNow, plural(f.Nights, "load"), f.BlockingFiles)
}

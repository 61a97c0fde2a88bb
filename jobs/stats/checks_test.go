package stats

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// madeReport is a report with which nothing is wrong.
func madeReport() *InputReport {
	r := &InputReport{Key: "salt(id, 4) + id", How: "all of it", InputFiles: 1, InputBytes: 11e9, Rows: 100_000, Cells: 200_000, RawBytes: 2e10,
		KeyBytes: KeyBytes{Min: 16, Max: 16, Shortest: 16, Longest: 16, Mean: 16},
		Shares:   ByteShares{Row: 50, Family: 5, Qualifier: 10, Frame: 20, Value: 15},
		HFiles:   Estimate{Bytes: 5e9, Ratio: 0.25}, Repeats: Repeats{Keys: 100_000, Share: 1}, Families: []string{"f"},
		Query: &QueryFit{Columns: []string{"id"}, Prefix: "salt(id, 4) + id", Scans: 1, Keys: 20_000, Exact: true,
			Rows: Distribution{Keys: 20_000, Share: 1, Mean: 5, Median: 5, P90: 8, P99: 9, Max: 12, Buckets: []Bucket{{1, 1, 1000}, {2, 2, 3000}, {3, 5, 9000}, {6, 12, 7000}}},
			Top:  []Frequency{{"A1", 12, 0}, {"A2", 11, 0}}},
		Queries: []QueryLoad{{Columns: []string{"id"}, PerDay: 1000, Prefix: "salt(id, 4) + id", Scans: 1, Returned: 5, Read: 5, Bytes: 500, Daily: Day{1000, 5000, 5e5}}},
		Skew:    1.1, Suggestion: ProposeRegions(RegionInput{Source: 11e9, HFiles: 5e9, FromKey: noSplits}, NewSample(1), text),
		Forecast: Forecast{Nights: 16, BlockingFiles: 16, FilesALoad: 1, MaxFileSize: 10e9, Growth: 1e9, DaysToSplit: 50, LargestRegion: 1e9, Rates: Rates{Cores: 2}}}
	name, id := "<b>张三</b>", "7"
	r.Records = []SampleRecord{{At: "in/part-0, byte 0", Fields: []Field{{Name: "id", Value: &id, Cell: "f:id"}, {Name: "name", Value: &name}}, Row: "37", RowBytes: 2,
		Key: []KeyPart{{"salt(id, 4)", "3"}, {"id", "7"}}}, {At: "in/part-0, byte 9", Fields: []Field{{Name: "id"}, {Name: "name"}}, Refused: "column id: null"}}
	for i := range 6 {
		r.Regions = append(r.Regions, PlannedRegion{Region: i, Start: string(rune('0' + i)), End: string(rune('1' + i)), Rows: 16_000, RawBytes: 3e9, HFileBytes: 8e8})
	}
	r.Live = &Live{Servers: 3, Regions: make([]LiveRegion, 6), Families: []LiveFamily{{"f", 0, 1}}, Skew: 1.2}
	return r
}

func text(b []byte) string { return string(b) }

// madeFacts are facts with which nothing is wrong.
func madeFacts() *Facts {
	now := time.UnixMilli(1_800_000_000_000)
	return &Facts{Now: now, Oldest: now.Add(-day).UnixMilli(), Newest: now.Add(-time.Hour).UnixMilli(), Order: KeyTrend{500, 500}, MajorPeriod: 7 * day, MaxRegion: 10e9, MaxFiles: 32}
}

// TestChecks changes one thing at a time, and wants the one check that looks at it to find it, and no other.
func TestChecks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*InputReport, *Facts)
		code   string // "": nothing is found
		grade  Severity
		says   string
	}{
		"nothing wrong": {func(*InputReport, *Facts) {}, "", "", ""},
		"a few dates":   {func(_ *InputReport, f *Facts) { f.Dates = 15 }, "", "", ""},
		"many dates": {func(_ *InputReport, f *Facts) {
			f.Dates = 16
		}, "history-dates", Warning, "16 runs give a region 16 files of a family, in addition to 0: flushes wait when there are 16"},
		"one folder":      {func(_ *InputReport, f *Facts) { f.Folders = 1 }, "", "", ""},
		"several folders": {func(_ *InputReport, f *Facts) { f.Folders = 3 }, "history-timestamp", Note, "the glob finds 3 folders"},
		"mixed spellings": {func(_ *InputReport, f *Facts) {
			f.Mixed = []Mixture{{"a", ".5", "0.5"}, {"b", "x", "y"}, {"c", "x", "y"}, {"d", "x", "y"}, {"e", "x", "y"}, {"f", "x", "y"}, {"g", "x", "y"}}
		}, "value-spelling", Note, "a has both .5 and 0.5; b has both x and y; c has both x and y; d has both x and y; e has both x and y; and 2 mixtures more"},
		"Oracle's dates": {func(_ *InputReport, f *Facts) { f.OracleDates = []string{"a", "b", "c", "d", "e", "f"} },
			"value-date", Warning, "a, b, c, d, e and 1 column more: dates as Oracle's clients write them by default, such as 20-NOV-26"},
		"rejects": {func(r *InputReport, _ *Facts) {
			r.Rejected, r.Rejects = 7, []RejectCount{{"id", "not a number", 7, "in/part-0, byte 12"}}
		}, "rejects", Warning, "7 × id: not a number, first at in/part-0, byte 12"},
		"rejects beyond the limit": {func(r *InputReport, f *Facts) {
			r.Rejected, r.Rejects, f.RejectsStop = 7, []RejectCount{{"id", "not a number", 7, "in/part-0, byte 12"}}, "5"
		}, "rejects", Problem, "a run stops: input.max_rejects is 5"},
		"all query keys have many rows": {func(r *InputReport, _ *Facts) {
			r.Query.Rows.Max, r.Query.Rows.Over, r.Query.InSample = 60, 20_000, true
		}, "query-rows", Warning, "100% of the query keys (20,000 of 20,000 in the sample)"},
		"no prefix, asked and listed": {func(r *InputReport, _ *Facts) {
			r.Query.Full, r.Query.Error, r.Queries[0].Full = true, "it begins with ts", true
		}, "query-prefix", Problem, "it begins with ts"},
		"all regions empty": {func(r *InputReport, _ *Facts) {
			for i := range r.Regions {
				r.Regions[i].Rows = 0
			}
		}, "region-empty", Warning, "6 of 6 regions get no row: 0 [0, 1), 1 [1, 2), 2 [2, 3), 3 [3, 4), 4 [4, 5) … and 1 more"},
		"same rows twice": {func(r *InputReport, _ *Facts) { r.Repeats.Repeated, r.Repeats.Rows = 3, 4 }, "key-repeated", Warning, "3 of 100,000 row keys occur more than once, with equal values"},
		"other rows of a key": {func(r *InputReport, _ *Facts) { r.Repeats.Repeated, r.Repeats.Differing = 3, 2 },
			"key-repeated", Problem, "2 of them with different values"},
		"some of the keys compared":  {func(r *InputReport, _ *Facts) { r.Repeats.Share = 1.0 / 16 }, "key-repeated", Note, "which are one in 16 of all; if there were 100 duplicates, the chance of missing them all would be 0.002"},
		"keys in the table":          {func(r *InputReport, _ *Facts) { r.Live.Checked, r.Live.Present = 2000, 5 }, "key-in-table", Problem, "5 of 2,000"},
		"keys not in the table":      {func(r *InputReport, _ *Facts) { r.Live.Checked = 2000 }, "", "", ""},
		"no query":                   {func(r *InputReport, _ *Facts) { r.Query = nil }, "query-prefix", Note, "names no query columns"},
		"no prefix":                  {func(r *InputReport, _ *Facts) { r.Query.Full, r.Query.Error = true, "it begins with ts" }, "query-prefix", Problem, "it begins with ts"},
		"no prefix for a listed one": {func(r *InputReport, _ *Facts) { r.Queries[0].Full = true }, "query-prefix", Problem, "the query by id (1,000 times a day)"},
		"50 rows":                    {func(r *InputReport, _ *Facts) { r.Query.Rows.Max = 50 }, "", "", ""},
		"51 rows":                    {func(r *InputReport, _ *Facts) { r.Query.Rows.Max, r.Query.Rows.Over = 51, 200 }, "query-rows", Warning, "1% of the query keys (200 of 20,000 counted) have more than 50 rows, at most 51"},
		"rising":                     {func(_ *InputReport, f *Facts) { f.Order = KeyTrend{990, 10} }, "key-order", Warning, "rises"},
		"falling":                    {func(_ *InputReport, f *Facts) { f.Order = KeyTrend{10, 990} }, "key-order", Warning, "falls"},
		"few changes":                {func(_ *InputReport, f *Facts) { f.Order = KeyTrend{20, 0} }, "", "", ""},
		"widths reversed":            {func(_ *InputReport, f *Facts) { f.Reversed = []KeyWidths{{"phone", 8, 11}} }, "key-reverse", Warning, "8 to 11 bytes"},
		"one width reversed":         {func(_ *InputReport, f *Facts) { f.Reversed = []KeyWidths{{"phone", 11, 11}} }, "", "", ""},
		"beyond the base":            {func(_ *InputReport, f *Facts) { f.Beyond = []OutOfRange{{"ts", 4}} }, "key-complement", Problem, "ts has 4 values"},
		"no zone":                    {func(_ *InputReport, f *Facts) { f.Unzoned = []string{"paid_at"} }, "key-zone", Note, "paid_at has dates without an offset"},
		"a year without a TTL":       {func(_ *InputReport, f *Facts) { f.Cycle = 365 * day }, "key-cycle", Warning, "keeps cells for ever"},
		"a year, half a year to live": {func(r *InputReport, f *Facts) {
			f.Cycle, r.Live.Families[0].TTL = 365*day, 180*86400
		}, "", "", ""},
		"a year, nearly a year to live": {func(r *InputReport, f *Facts) {
			f.Cycle, r.Live.Families[0].TTL = 365*day, 352*86400
		}, "key-cycle", Warning, "after 365 days; cells of family f are removed from disk only after TTL plus two major compactions, 366 days"},
		"a year, the table unknown": {func(r *InputReport, f *Facts) { f.Cycle, r.Live = 365*day, nil }, "key-cycle", Note, "TTL is not known"},
		"101 bytes": {func(r *InputReport, _ *Facts) {
			r.KeyBytes = KeyBytes{104, 104, 104, 104, 104}
		}, "key-long", Warning, "up to 104 bytes"},
		"9 bytes":             {func(r *InputReport, _ *Facts) { r.KeyBytes = KeyBytes{8, 8, 8, 8, 8} }, "key-short", Warning, "only 8 bytes"},
		"of two widths":       {func(r *InputReport, _ *Facts) { r.KeyBytes = KeyBytes{10, -1, 12, 16, 14} }, "key-width", Warning, "12 to 16 bytes"},
		"one width by chance": {func(r *InputReport, _ *Facts) { r.KeyBytes.Max = -1 }, "key-width", Note, "does not guarantee it"},
		"expired": {func(r *InputReport, f *Facts) {
			r.Live.Families[0].TTL, f.Oldest = 86400, f.Now.Add(-2*day).UnixMilli()
		}, "cell-expired", Problem, "invisible as soon as they are loaded"},
		"not yet expired":    {func(r *InputReport, _ *Facts) { r.Live.Families[0].TTL = 2 * 86400 }, "", "", ""},
		"in the future":      {func(_ *InputReport, f *Facts) { f.Newest = f.Now.Add(time.Hour).UnixMilli() }, "cell-future", Warning, "in the future, up to 2027-01-15T09:00:00Z"},
		"long family":        {func(r *InputReport, _ *Facts) { r.Families = []string{"info"} }, "family-name", Note, "4 bytes instead of 1"},
		"a long one there":   {func(r *InputReport, _ *Facts) { r.Families, r.TableFound = []string{"info"}, true }, "", "", ""},
		"three families":     {func(r *InputReport, _ *Facts) { r.Families = []string{"a", "b", "c"} }, "", "", ""},
		"four families":      {func(r *InputReport, _ *Facts) { r.Families = []string{"a", "b", "c", "d"} }, "family-count", Warning, "4 families"},
		"versions":           {func(r *InputReport, _ *Facts) { r.Live.Families[0].Versions = 3 }, "family-versions", Note, "keeps 3 versions"},
		"a region too large": {func(r *InputReport, _ *Facts) { r.Forecast.LargestRegion = 10e9 }, "region-large", Warning, "split at once"},
		"too few regions":    {func(r *InputReport, _ *Facts) { r.Regions = r.Regions[:2] }, "region-count", Warning, "2 regions for 4.7 GiB of HFiles: more than 1.9 GiB each"},
		"too many regions": {func(r *InputReport, _ *Facts) {
			for range 6 {
				r.Regions = append(r.Regions, r.Regions[1])
			}
		}, "region-count", Note, "12 regions for 10.2 GiB of source: less than 0.9 GiB each"},
		"an empty region":         {func(r *InputReport, _ *Facts) { r.Regions[2].Rows = 0 }, "region-empty", Warning, "1 of 6 regions gets no row: 2 [2, 3)"},
		"many files":              {func(r *InputReport, _ *Facts) { r.Regions[2].Files = 33 }, "region-files", Problem, "1 of 6 regions get more than 32 files of a family, region 2 [2, 3) about 33"},
		"as many files as may be": {func(r *InputReport, _ *Facts) { r.Regions[2].Files = 32 }, "", "", ""},
		"status unknown": {func(r *InputReport, _ *Facts) {
			r.Live.Unknown, r.Live.Regions, r.Live.Skew = "answer of 70000000 bytes", nil, 0
		}, "table-unknown", Note, "answer of 70000000 bytes"},
		"skew":               {func(r *InputReport, _ *Facts) { r.Skew = 1.6 }, "region-skew", Warning, "1.6 times the mean"},
		"other regions":      {func(_ *InputReport, f *Facts) { f.Further = []string{"15", "77"} }, "table-regions", Warning, "2 region boundaries that the job file lacks, the first at 15"},
		"empty in the table": {func(r *InputReport, _ *Facts) { r.Live.Empty = 2 }, "table-empty", Note, "2 of the table's 6 regions"},
		"an empty table":     {func(r *InputReport, _ *Facts) { r.Live.Empty = 6 }, "", "", ""},
		"skew of the table":  {func(r *InputReport, _ *Facts) { r.Live.Skew = 3 }, "table-skew", Warning, "3.0 times"},
		"files": {func(r *InputReport, _ *Facts) {
			r.Forecast.Nights, r.Forecast.FilesALoad = 4, 4
		}, "files-blocking", Warning, "after 4 loads without a compaction, a region has 16 files and its flushes wait"},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := madeReport(), madeFacts()
			c.change(r, f)
			found := Check(r, f)
			if c.code == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Code != c.code || found[0].Severity != c.grade || !strings.Contains(found[0].Reason, c.says) || found[0].Remedy == "" {
				t.Errorf("found %+v, want %s %s with %q", found, c.grade, c.code, c.says)
			}
		})
	}
}

func TestFindingsOfTheKeyAreTold(t *testing.T) {
	f := madeFacts()
	f.Order, f.Newest = KeyTrend{1000, 0}, f.Now.Add(time.Hour).UnixMilli()
	f.FromKey = []Finding{{"key-x", Note, "a", "b"}, {"key-y", Problem, "c", "d"}}
	var codes []string
	for _, found := range Check(madeReport(), f) {
		codes = append(codes, found.Code)
	}
	if want := []string{"key-y", "key-order", "cell-future", "key-x"}; !slices.Equal(codes, want) {
		t.Errorf("found %v, want %v", codes, want)
	}
}

// TestVersionsAreAltered: the remedy can be given to HBase's shell as it is.
func TestVersionsAreAltered(t *testing.T) {
	r, f := madeReport(), madeFacts()
	r.Live.Families[0].Versions, f.Table = 3, "shop:orders"
	if found := Check(r, f); len(found) != 1 || found[0].Remedy != "alter 'shop:orders', {NAME => 'f', VERSIONS => 1}" {
		t.Errorf("found %+v", found)
	}
}

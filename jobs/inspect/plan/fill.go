package plan

import (
	"bytes"
	"math"
	"slices"
	"time"

	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/stats"
)

// fill completes a candidate's report from what was read.
func (p *planner) fill(c *candidate) error {
	r, s, reading := c.report, c.stats, &p.reading
	counts := &s.counts
	r.Key, r.Wide, r.Sample, r.How = c.job.RowKey.String(), c.job.Wide != nil, reading.sample, reading.how
	r.InputFiles, r.InputBytes, r.BytesRead, r.RowsRead = len(p.source.Files), p.source.Bytes, reading.bytes, reading.rows
	r.Rejected, r.Rejects = reading.rejected+s.rejected, mostReasons(reading.rejects)
	r.Filtered = s.filtered
	if !p.NoRecords {
		r.Records, r.RejectedRecords = s.records.list(), listRejects(reading.shown)
	}
	if c.proposed {
		mergeReasons(s.rejects, reading.rejects)
		r.Rejects = mostReasons(s.rejects)
	}
	var rows int64
	for _, region := range counts.regions {
		rows += region.rows
	}
	r.Rows, r.Cells, r.RawBytes, r.SortBytes = rows, counts.cells, counts.shares.Total(), counts.entries
	r.Shares, r.KeyBytes = counts.shares, c.keyBytes(rows)
	r.Repeats = s.seen.Repeats()
	unique := 1 - float64(r.Repeats.Rows)/math.Max(float64(r.Repeats.Keys+r.Repeats.Rows), 1)
	if reading.sample {
		s.rows.Thin(reading.weights)
		s.keys.Scale(reading.weights)
	}
	s.keys.Sort()
	if err := c.estimate(unique); err != nil {
		return err
	}
	p.propose(c)
	if err := c.reopen(); err != nil {
		return err
	}
	c.fillRegions()
	c.fillQueries()
	if p.NoRecords && r.Query != nil {
		r.Query.Top = []stats.Frequency{}
	}
	for _, f := range c.target.Families {
		r.Families = append(r.Families, f.Name)
	}
	r.Splits = printable.All(c.target.Splits)
	r.Create = c.createStatement()
	return nil
}

func scaled(n int64, factor float64) int64 { return int64(math.Round(float64(n) * factor)) }

func (c *candidate) keyBytes(rows int64) stats.KeyBytes {
	width := c.job.RowKey.Width()
	k := stats.KeyBytes{Min: width.Min, Max: width.Max}
	if rows > 0 {
		k.Shortest, k.Longest, k.Mean = c.stats.counts.shortest, c.stats.counts.longest,
			float64(c.stats.counts.keys)/float64(rows)
	}
	return k
}

// propose proposes the number of regions and their boundaries.
func (p *planner) propose(c *candidate) {
	wanted := stats.RegionInput{Source: p.source.Text, Compressed: p.source.Text != p.source.Bytes,
		HFiles: c.report.HFiles.Bytes, MaxFileSize: p.maxFileSize(),
		Salts: c.job.RowKey.Salts(), FromKey: c.job.RowKey.Splits}
	if p.status != nil {
		wanted.Servers = p.status.Servers
	}
	c.report.Suggestion = stats.ProposeRegions(wanted, c.stats.keys, printable.Bytes)
}

// maxFileSize returns the cluster's hbase.hregion.max.filesize, or HBase's default.
func (p *planner) maxFileSize() int64 {
	return p.site.Number("hbase.hregion.max.filesize", targets.DefaultMaxSize)
}

// reopen replaces the provisional regions with the proposed ones.
func (c *candidate) reopen() error {
	splits := c.report.Suggestion.Keys
	if !c.open || sameSplits(splits, c.target.Splits) {
		return nil
	}
	if err := c.target.SetSplits(splits, c.job.Wide != nil); err != nil {
		return err
	}
	old := c.stats.counts.regions
	c.stats.counts.regions = c.sampledRegions(old)
	return nil
}

func sameSplits(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sampledRegions distributes the counts over other regions, in proportion to the sampled keys.
func (c *candidate) sampledRegions(old []regionCounts) []regionCounts {
	var all regionCounts
	for _, r := range old {
		all.rows += r.rows
		all.cells += r.cells
		all.raw += r.raw
		all.entries += r.entries
	}
	regions := make([]regionCounts, c.target.Regions.Len())
	weights := make([]int64, len(regions))
	var sum int64
	for i := range c.stats.keys.Len() {
		key, _ := c.stats.keys.Row(i)
		weights[c.target.Regions.Find(key)] += c.stats.keys.Weight(i)
		sum += c.stats.keys.Weight(i)
	}
	for i, w := range weights {
		part := float64(w) / math.Max(float64(sum), 1)
		regions[i] = regionCounts{scaled(all.rows, part), scaled(all.cells, part),
			scaled(all.raw, part), scaled(all.entries, part)}
	}
	return regions
}

// fillRegions reports each region's content.
func (c *candidate) fillRegions() {
	r, regions := c.report, c.target.Regions
	var all, largest, entries int64
	for _, counted := range c.stats.counts.regions {
		all += counted.raw
		largest = max(largest, counted.raw)
		entries += counted.entries
	}
	for i, counted := range c.stats.counts.regions {
		part := float64(counted.raw) / math.Max(float64(all), 1)
		r.Regions = append(r.Regions, stats.PlannedRegion{Region: i, Start: printable.Bytes(regions.Start(i)),
			End:  printable.Bytes(regions.End(i)),
			Rows: counted.rows, RawBytes: counted.raw, HFileBytes: scaled(r.HFiles.Bytes, part),
			Files: c.plannedFiles(counted, entries)})
	}
	r.Skew = stats.Skew(largest, all, len(r.Regions))
}

// plannedFiles estimates how many files a run writes for a region in the family with the most. It counts slices as
// sorting's slicesOf does, and in each slice the files that max_size causes. total counts the entries of all regions.
func (c *candidate) plannedFiles(region regionCounts, total int64) int {
	t, size := c.target, max(sorting.SliceSize(&c.job.HFile), total/sorting.SlicesOfAll)
	n := min((region.entries+size-1)/size, max(1, t.MaxFiles-region.raw/t.MaxSize), sorting.MaxSlices)
	if n == 0 {
		return 0
	}
	largest := slices.Max(c.stats.counts.raw)
	share := float64(largest) / math.Max(float64(c.report.RawBytes), 1)
	return int(n * (1 + scaled(region.raw, share)/n/t.MaxSize))
}

// fillQueries reports the cost of the queries.
func (c *candidate) fillQueries() {
	r, s := c.report, c.stats
	if len(c.job.Query) > 0 {
		q := &stats.QueryFit{Columns: c.job.Query, Rows: s.groups.Distribution(),
			Top: s.frequent.Top(frequentShown, s.groups.Rows, showFields), InSample: r.Sample}
		q.Prefix, q.Scans, q.Full, q.Error = pathOf(c.job, c.job.Query).found(len(r.Regions))
		q.Keys, q.Exact = q.Rows.Keys, q.Rows.Share == 1 && !r.Sample
		if q.Rows.Share < 1 {
			q.Keys = s.distinct.Count()
		}
		r.Query = q
	}
	for _, a := range s.asks {
		asked := stats.QueryLoad{Columns: a.Columns, PerDay: a.PerDay, InSample: r.Sample}
		asked.Returned, asked.Read = a.paths.Means()
		asked.Prefix, asked.Scans, asked.Full, _ = a.found(len(r.Regions))
		rows := r.Rows
		if r.Sample { // rows returned can be counted only in the sample, so compare them with its rows
			rows = r.RowsRead - r.Rejected - r.Filtered
		}
		asked.Weigh(rows, float64(r.RawBytes)/math.Max(float64(r.Rows), 1))
		r.Queries = append(r.Queries, asked)
		r.Daily.Add(asked.Daily)
	}
}

// found returns what the report shows: the prefix, the number of scans, whether they read whole regions, and why.
func (p keyPath) found(regions int) (prefix string, scans int, full bool, why string) {
	if p.query == nil {
		return "", regions, true, p.why.Error()
	}
	return p.query.String(), p.query.Scans(), false, ""
}

func (c *candidate) createStatement() string {
	var families []stats.CreateFamily
	for _, f := range c.target.Families {
		families = append(families, stats.CreateFamily{Name: f.Name, Compression: f.Settings.Compression.String(),
			Encoding: f.Settings.Encoding.String(),
			Bloom:    f.Settings.Bloom.String(), BloomPrefix: f.Settings.BloomPrefix, BlockSize: f.Settings.BlockSize})
	}
	return stats.CreateStatement(c.job.Table, families, c.report.Splits)
}

// forecast reports what a run needs, and when the table's regions will split or have too many files.
func (p *planner) forecast(c *candidate) {
	r, t := c.report, &p.reading.times
	f := &r.Forecast
	key := float64(c.stats.counts.keyTime) / math.Max(float64(c.stats.counts.keyTimed), 1) * float64(p.reading.rows)
	// A sample reads more of the file than it uses.
	file := float64(t.File.Took) * math.Min(float64(p.reading.bytes)/math.Max(float64(t.File.Bytes), 1), 1)
	reading := time.Duration(file+key) + time.Duration(p.timedEvery())*t.Parse
	c.rates.Read = rate(p.reading.bytes, reading)
	f.Rates = c.rates
	f.Output, f.Replication = r.HFiles.Bytes, 1
	if storage.IsHDFS(c.job.Output) {
		f.Replication = int(p.site.Number("dfs.replication", 3))
	}
	p.forecastSpill(c, f)
	f.SetTime(r.InputBytes, r.SortBytes, r.RawBytes, r.HFiles.Bytes)
	f.SetMeasured(append(c.measured, reading.Seconds())...)
	p.forecastGrowth(c, f)
}

func (p *planner) forecastGrowth(c *candidate, f *stats.Forecast) {
	r := c.report
	f.MaxFileSize = p.maxFileSize()
	f.BlockingFiles = int(p.site.Number("hbase.hstore.blockingStoreFiles", 16))
	f.Nights, f.DaysToSplit = -1, -1
	daily := p.Growth > 0 || c.job.Input.Dated
	grow := 1.0
	if p.Growth > 0 && r.InputBytes > 0 {
		grow = float64(p.Growth) / float64(r.InputBytes)
	}
	for i, region := range r.Regions {
		size, files := region.HFileBytes, 0
		if r.Live != nil && i < len(r.Live.Regions) && len(r.Live.Regions) == len(r.Regions) && !c.open {
			size += r.Live.Regions[i].Bytes
			files = r.Live.Regions[i].Files / max(len(r.Families), 1)
		}
		f.LargestRegion = max(f.LargestRegion, size)
		f.FilesALoad = max(f.FilesALoad, region.Files)
		f.FilesNow = max(f.FilesNow, files)
		if !daily {
			continue
		}
		days := stats.DaysToSplit(size, scaled(region.HFileBytes, grow), f.MaxFileSize)
		if days >= 0 && (f.DaysToSplit < 0 || days < f.DaysToSplit) {
			f.DaysToSplit = days
		}
		nights := stats.NightsToBlocking(files, region.Files, f.BlockingFiles)
		if nights >= 0 && (f.Nights < 0 || nights < f.Nights) {
			f.Nights = nights
		}
	}
	if daily {
		f.Growth = scaled(r.HFiles.Bytes, grow)
	}
}

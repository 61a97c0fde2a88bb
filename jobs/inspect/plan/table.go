package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/load"
)

// connect connects to the cluster and reads its status. The plan can do without the status, which is large if the
// cluster has many regions.
func (p *planner) connect(ctx context.Context) (err error) {
	if p.cluster, err = p.site.Connect(ctx); err != nil {
		return err
	}
	ask := p.AskStatus
	if ask == nil {
		ask = (*load.Cluster).Status
	}
	p.status, p.unknown = ask(p.cluster, ctx)
	if ctx.Err() != nil {
		return p.unknown
	}
	if p.unknown != nil {
		p.options.Warnf("planning without the sizes of the table's regions: %v", p.unknown)
	}
	return nil
}

// planTable plans for the live table if it exists, else for the one that the job suggests.
func (p *planner) planTable(ctx context.Context, c *candidate) error {
	j := c.job
	if p.cluster != nil {
		var err error
		c.table, err = p.cluster.Table(ctx, j.Table)
		c.report.TableFound = err == nil
		if err != nil && !errors.Is(err, load.ErrNotFound) {
			return err
		}
	}
	if c.table != nil && p.Create && !c.proposed {
		if err := checkExisting(j, c.table); err != nil {
			return err
		}
	}
	suggested, table := *j, c.table
	if c.open = c.proposed || j.Regions.From == "plan" || table == nil && j.Regions.From == "table"; c.open {
		suggested.Regions = jobfile.RegionSettings{From: "splits", Splits: splitsAtSalts(j)}
		table = nil
		if j.Regions.From == "table" {
			suggested.HFile = j.HFile.Suggested()
		}
	}
	c.beginning = leadingPartOf(j.RowKey)
	var err error
	c.target, err = targets.New(&suggested, p.site, table)
	return err
}

// checkExisting refuses to create a table that exists without the boundaries that the job names. Additional boundaries
// are accepted, because they come from regions that have split since.
func checkExisting(j *jobfile.Job, table *load.Table) error {
	live := table.Splits()
	missing := func(split []byte) bool {
		_, found := slices.BinarySearchFunc(live, split, bytes.Compare)
		return !found
	}
	if from := j.Regions.From; from != "splits" && from != "file" || !slices.ContainsFunc(j.Regions.Splits, missing) {
		return nil
	}
	return errcode.TableExists.Errorf("table %s exists already, with %s, and the job's regions.%s say %d with other "+
		"boundaries: use regions: {from: table}, or drop the table",
		j.Table, jobfile.Plural(len(table.Splits())+1, "region"), j.Regions.From, len(j.Regions.Splits)+1)
}

// splitsAtSalts returns splits with which a region begins at every salt.
func splitsAtSalts(j *jobfile.Job) [][]byte {
	salts := j.RowKey.Salts()
	if len(salts) == 0 {
		return nil
	}
	return salts[1:]
}

const liveKeys = 2000 // row keys that are looked up in the table

// fillLive reports the table's state in the cluster.
func (p *planner) fillLive(ctx context.Context, c *candidate) error {
	if p.cluster == nil {
		return nil
	}
	live := &stats.Live{Regions: []stats.LiveRegion{}, Families: []stats.LiveFamily{}}
	c.report.Live = live
	if p.unknown != nil {
		live.Unknown = p.unknown.Error()
	} else {
		live.Servers = p.status.Servers
	}
	if c.table == nil {
		return nil
	}
	for _, f := range c.table.Families {
		family, err := liveFamily(&f)
		if err != nil {
			return errcode.TableSettings.Errorf("table %s: %w", c.table.Name, err)
		}
		live.Families = append(live.Families, family)
	}
	if p.status != nil {
		fillSizes(live, c.table, p.status)
	}
	if !p.CheckLive {
		return nil
	}
	return p.lookUpKeys(ctx, c, live)
}

// fillSizes reports how much data the table's regions hold.
func fillSizes(live *stats.Live, table *load.Table, status *load.Status) {
	var all, largest int64
	for _, r := range table.Regions {
		report := status.Regions[string(r.Name)]
		live.Regions = append(live.Regions, stats.LiveRegion{Start: printable.Bytes(r.Start), Files: report.Files,
			Bytes: report.Bytes, Memstore: report.Memstore})
		all += report.Bytes
		largest = max(largest, report.Bytes)
		if report.Files == 0 && report.Memstore == 0 {
			live.Empty++
		}
	}
	live.Skew = stats.Skew(largest, all, len(live.Regions))
}

// forever is HConstants.FOREVER, in seconds.
const forever = 1<<31 - 1

func liveFamily(f *load.Family) (stats.LiveFamily, error) {
	family := stats.LiveFamily{Name: f.Name, Versions: 1}
	for name, into := range map[string]*int64{"TTL": &family.TTL, "VERSIONS": new(int64)} {
		text, set := f.Attributes[name]
		if !set || text == "FOREVER" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return family, fmt.Errorf("family %s has %s %q, not a number", f.Name, name, text)
		}
		if *into = n; name == "VERSIONS" {
			family.Versions = int(n)
		}
	}
	if family.TTL >= forever {
		family.TTL = 0
	}
	return family, nil
}

// lookUpKeys checks whether some of the row keys are already in the table.
func (p *planner) lookUpKeys(ctx context.Context, c *candidate, live *stats.Live) error {
	if _, err := p.cluster.Enabled(ctx, c.job.Table); err != nil {
		return err
	}
	var rows []load.Lookup
	n := c.stats.keys.Len()
	for i := range min(n, liveKeys) {
		key, _ := c.stats.keys.Row(i * n / min(n, liveKeys))
		rows = append(rows, load.Lookup{Row: key, Other: -1})
	}
	exist, err := p.cluster.Exist(ctx, c.job.Table, rows)
	if err != nil {
		return err
	}
	live.Checked = int64(len(rows))
	for _, yes := range exist {
		if yes {
			live.Present++
		}
	}
	return nil
}

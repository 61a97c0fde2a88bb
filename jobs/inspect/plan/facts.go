package plan

import (
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/jobs/stats"
	"bulkload/keys"
)

// facts returns what the checks need in addition to the report.
func (p *planner) facts(c *candidate) *stats.Facts {
	j, counts := c.job, &c.stats.counts
	f := &stats.Facts{Now: p.Now, Table: j.Table, Dates: p.Dates, Order: counts.order, Reversed: c.reversed(),
		Beyond: c.beyond(), Unzoned: c.unzoned(), Mixed: c.mixed(), OracleDates: c.oracleDates(),
		FromKey: c.keyFindings(), MaxRegion: p.maxFileSize(), MaxFiles: int(c.target.MaxFiles),
		MajorPeriod: time.Duration(p.site.Number("hbase.hregion.majorcompaction", 604_800_000)) * time.Millisecond}
	if limit := j.Input.MaxRejects; limit.Exceeded(c.report.Rejected, c.report.RowsRead) {
		f.RejectsStop = limit.String()
	}
	parts := j.RowKey.Parts()
	if i := slices.IndexFunc(parts, func(p keys.Part) bool { return !p.Literal }); i >= 0 {
		f.Cycle = parts[i].Cycle
	}
	if c.report.Rows > 0 {
		f.Oldest, f.Newest = counts.oldest, counts.newest
	}
	if c.table != nil && !c.open {
		f.Further = c.target.Further(c.table)
	}
	if j.Moments == "" {
		f.Folders = p.globbedFolders()
	}
	return f
}

// globbedFolders returns in how many folders a glob finds input files; 0 if the path is not a glob.
func (p *planner) globbedFolders() int {
	if !strings.ContainsAny(p.job.Input.Path, "*?[") {
		return 0
	}
	folders := map[string]bool{}
	for _, f := range p.source.Files {
		folders[path.Dir(f.Path)] = true
	}
	return len(folders)
}

// keyFindings returns the findings about the expression alone. It leaves out those that the checks report in more
// detail: cycles of dates with the table's TTL, and reversed values with the widths that were found.
func (c *candidate) keyFindings() []stats.Finding {
	var found []stats.Finding
	for _, f := range c.job.RowKey.Findings(c.job.RowQuery()) {
		severity := stats.Note
		if f.Warning {
			severity = stats.Warning
		}
		switch f.Code {
		case keys.FindingCycle:
			continue
		case keys.FindingReversedUnfixed:
			if slices.ContainsFunc(c.reversed(), stats.KeyWidths.Vary) {
				continue
			}
			severity = stats.Note
		}
		found = append(found, stats.Finding{Code: "key-" + f.Code, Severity: severity,
			Reason: f.Part + ": " + f.Reason, Remedy: f.Remedy})
	}
	return found
}

// reversed returns the widths found in the columns that the key reverses without padding them first.
func (c *candidate) reversed() []stats.KeyWidths {
	var found []stats.KeyWidths
	for _, p := range c.job.RowKey.Parts() {
		if p.Width.Fixed() || c.report.Rows == 0 {
			continue
		}
		for _, column := range p.Reversed {
			found = append(found, c.stats.counts.widths[column])
		}
	}
	return found
}

// unzoned returns the columns with dates that the key reads as UTC because no zone is given. A column whose values all
// have an offset needs no zone.
func (c *candidate) unzoned() []string {
	var found []string
	for i, n := range c.stats.counts.unzoned {
		if n > 0 {
			found = append(found, c.job.Columns[i].Name)
		}
	}
	return found
}

// beyond returns the columns with numbers that exceed the base of desc.
func (c *candidate) beyond() []stats.OutOfRange {
	var found []stats.OutOfRange
	for i, rows := range c.stats.counts.beyond {
		switch {
		case rows == 0:
		case i < len(c.job.Columns):
			found = append(found, stats.OutOfRange{Column: c.job.Columns[i].Name, Rows: rows})
		default:
			found = append(found, stats.OutOfRange{Column: "the row key", Rows: rows})
		}
	}
	return found
}

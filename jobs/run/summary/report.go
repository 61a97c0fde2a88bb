package summary

// The HTML page of a command says what was read, written, rejected and loaded, and how long it took. It shows personal
// data, such as row keys and rejected records. Its size is bounded, however large the run was.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/internal/digest"
	"bulkload/internal/page"
	"bulkload/internal/program"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/run/preflight"
)

// The bounds of a page. What is left out is counted.
const (
	mostRuns     = 500 // lines for runs
	mostDetailed = 40  // runs that are described
	mostRegions  = 50  // lines of a table
	mostFiles    = 50
	mostInputs   = 50
	mostReasons  = 20
	mostNotBegun = 20
)

// RunPage is what a command did: its runs, in the order in which they ended.
type RunPage struct {
	failure.Outcome
	Meaning  string // of the exit code
	Began    time.Time
	Seconds  float64
	Who      string // user@host
	Build    program.Build
	Runs     []*RunEntry // those that ended
	NotBegun []string    // their jobs and dates
}

// RunEntry is one run.
type RunEntry struct {
	failure.Outcome
	Name     string // the job file, and the date
	Began    float64
	Seconds  float64 // how long the run took; Began counts from the command's beginning
	Phases   []timing.PhaseTime
	Largest  string // the phase with most of the work, and its share
	Sort     string // what the sort used; "" without one
	Resumed  string // what an earlier process had done; "" without one
	Settings []Setting
	Tables   []*TableSummary
	Inputs   Inputs
	Rejects  RejectSummary
	Disks    preflight.CheckResults
}

// Setting is a setting with its value.
type Setting struct{ Name, Value string }

// Inputs are input files. The largest are shown, in their original order.
type Inputs struct {
	Files int
	Bytes int64
	Shown []manifest.RecordedInput
}

// RejectSummary counts a run's rejects: by the most frequent reasons, and those with other reasons together.
type RejectSummary struct {
	Records int64
	Path    string // of the file with the records
	Reasons []ingest.RejectReason
	Others  int64 // records with other reasons
}

// TableSummary is one output of a run.
type TableSummary struct {
	Name, Status string
	RunID, Dir   string
	Counts       counts.RowCounts
	Digest       digest.Sum
	Bytes        int64
	Load         loading.LoadResult
	Families     map[string]string // their settings
	Duplicates   []writing.DuplicateSample
	Checks       preflight.CheckResults

	Regions int // of the table
	Used    int // that got files
	Skew    float64
	Shares  []RegionSummary // the largest regions, in their original order
	Files   int
	Shown   []hfiles.FileMeta // the largest files, in their original order
	Bars    *page.Chart       // of the regions; nil without bytes
}

// SetRegions sets the regions of a table, and keeps what the page shows of them.
func (t *TableSummary) SetRegions(all []RegionSummary) {
	t.Regions = len(all)
	var most int64
	values := make([]page.Value, len(all))
	for i, r := range all {
		if r.Files > 0 {
			t.Used++
		}
		t.Bytes += r.Bytes
		most = max(most, r.Bytes)
		values[i] = page.Value{Name: cmp.Or(r.Start, "first"), Size: float64(r.Bytes), More: page.Plural(r.Rows, "row")}
	}
	t.Shares = page.Largest(all, mostRegions, func(r RegionSummary) int64 { return r.Bytes })
	if t.Bytes > 0 {
		t.Skew = float64(most) * float64(len(all)) / float64(t.Bytes)
		t.Bars = page.Regions(values, t.Skew, hot)
	}
}

// hot is the ratio to the mean above which a region is drawn in another colour, and the skew above which plan warns.
const hot = 1.5

// SetFiles sets the files of a table, and keeps what the page shows of them.
func (t *TableSummary) SetFiles(all []hfiles.FileMeta) {
	t.Files = len(all)
	t.Shown = page.Largest(all, mostFiles, func(f hfiles.FileMeta) int64 { return f.Bytes })
}

// SetInputs sets the input files of a run, and keeps what the page shows of them.
func (r *RunEntry) SetInputs(all []manifest.RecordedInput) {
	r.Inputs =
		Inputs{Files: len(all),
			Shown: page.Largest(all, mostInputs, func(in manifest.RecordedInput) int64 { return in.Size })}
	for i := range all {
		r.Inputs.Bytes += all[i].Size
	}
}

// SetRejects sets the rejects of a run, and keeps what the page shows of them.
func (r *RunEntry) SetRejects(records int64, path string, reasons []ingest.RejectReason, others int64) {
	r.Rejects = RejectSummary{Records: records, Path: path, Reasons: reasons, Others: others}
	if len(reasons) > mostReasons {
		r.Rejects.Reasons = slices.Clone(reasons[:mostReasons])
		for _, reason := range reasons[mostReasons:] {
			r.Rejects.Others += reason.Records
		}
	}
}

// Write writes the page as one file that needs nothing from elsewhere.
func (p *RunPage) Write(w io.Writer) error { return page.WriteRun(w, p) }

// Title returns the title of the page.
func (p *RunPage) Title() string {
	if len(p.Runs)+len(p.NotBegun) == 1 {
		return "Run of " + p.names()[0]
	}
	if len(p.Runs)+len(p.NotBegun) == 0 {
		return "No run began"
	}
	return page.Plural(len(p.Runs)+len(p.NotBegun), "run")
}

func (p *RunPage) names() (all []string) {
	for _, r := range p.Runs {
		all = append(all, r.Name)
	}
	return append(all, p.NotBegun...)
}

// Ended returns when the command ended.
func (p *RunPage) Ended() time.Time {
	return p.Began.Add(time.Duration(p.Seconds * float64(time.Second)))
}

// Listed returns the runs of the list. If there are too many, failed ones take precedence.
func (p *RunPage) Listed() []*RunEntry { return p.first(mostRuns) }

// Detailed returns the runs that the page describes.
func (p *RunPage) Detailed() []*RunEntry { return p.first(mostDetailed) }

// Left returns the runs that did not begin, as far as the page names them.
func (p *RunPage) Left() []string { return p.NotBegun[:min(len(p.NotBegun), mostNotBegun)] }

// first returns n runs, in their order. Failed runs take precedence, and then the first of the others.
func (p *RunPage) first(n int) []*RunEntry {
	return page.Largest(p.Runs, n, func(r *RunEntry) int {
		if r.Status == failure.StatusFailed {
			return 1
		}
		return 0
	})
}

// Rows adds up the records that the run read, and the rows that it wrote into all tables.
func (r *RunEntry) Rows() (sum struct{ Read, Written, Files, Bytes int64 }) {
	for _, t := range r.Tables {
		sum.Read = max(sum.Read, t.Counts.Read)
		sum.Written += t.Counts.Written
		sum.Files += int64(t.Files)
		sum.Bytes += t.Bytes
	}
	return sum
}

// Facts returns the figures at the top of the table's part.
func (t *TableSummary) Facts() []page.Fact {
	b := &t.Counts
	all := []page.Fact{
		{Name: "rows read", Value: page.Count(b.Read), More: page.Count(b.Filtered) + " filtered, " +
			page.Count(b.Duplicates) + " duplicates"},
		{Name: "rows written", Value: page.Count(b.Written), More: page.Plural(b.Columns, "column")},
		{Name: "rejected", Value: page.Count(b.Rejected),
			More: fmt.Sprintf("%.2f%% of the rows", 100*float64(b.Rejected)/float64(max(b.Read, 1)))},
		{Name: "HFiles", Value: bytesize.Format(t.Bytes), More: page.Plural(t.Files, "file")},
		{Name: "regions", Value: page.Count(int64(t.Used)),
			More: fmt.Sprintf("of %s; skew %.2f", page.Count(int64(t.Regions)), t.Skew)},
	}
	if t.Load.Requested {
		all = append(all, page.Fact{Name: "loaded", Value: page.Plural(t.Load.Files, "file"),
			More: "now, into " + page.Plural(t.Load.Regions, "region")})
	} else {
		all = append(all, page.Fact{Name: "loaded", Value: "no", More: "load: false, or --no-load"})
	}
	return all
}

// Stages draws the stages of the run; nil if none was reached.
func (r *RunEntry) Stages() *page.Chart {
	var spans []page.Span
	for _, p := range r.Phases {
		if p.Of != "" {
			continue
		}
		name := p.Name
		if p.Output != "" {
			name += " " + p.Output
		}
		spans = append(spans, page.Span{Name: name, From: p.Start, To: p.Start + p.Seconds, Class: stageClass[p.Name]})
	}
	if spans == nil {
		return nil
	}
	return page.Timeline("When the stages ran",
		"The time outside the stages went into checks, locks, and waiting for the input or for other loads.",
		spans, r.Seconds)
}

var stageClass = map[string]string{"sort": "one", "write": "two", "load": "three", "probe": "four"}

// Times draws the runs that are described; nil for a single one.
func (p *RunPage) Times() *page.Chart {
	runs := p.Detailed()
	if len(runs) < 2 {
		return nil
	}
	var spans []page.Span
	for _, r := range runs {
		color := "one"
		if r.Status == failure.StatusFailed {
			color = "hot"
		}
		spans = append(spans, page.Span{Name: r.Name, From: r.Began, To: r.Began + r.Seconds, Class: color})
	}
	return page.Timeline("When the runs ran", "Failed runs have another colour.", spans, p.Seconds)
}

// ShownRegions lists the largest regions; nil if there are none.
func (t *TableSummary) ShownRegions() *page.RegionTable {
	if len(t.Shares) == 0 {
		return nil
	}
	list := &page.RegionTable{Heads: []string{"cells", "HFiles", "share", "files"}, More: t.Regions - len(t.Shares)}
	for _, r := range t.Shares {
		share := fmt.Sprintf("%.1f%%", 100*float64(r.Bytes)/float64(max(t.Bytes, 1)))
		list.Regions = append(list.Regions, page.RegionLine{Number: r.Region, Start: r.Start, End: r.End, Rows: r.Rows,
			Figures: []string{page.Count(r.Cells), bytesize.Format(r.Bytes), share, fmt.Sprint(r.Files)}})
	}
	return list
}

// FamilySettings returns the settings of the families in the words that people know.
func (t *TableSummary) FamilySettings() map[string]string {
	shown := map[string]string{}
	for family, recorded := range t.Families {
		shown[family] = settings(recorded)
	}
	return shown
}

// settings shows those settings of a family that people know, from all that a manifest records.
func settings(recorded string) string {
	var shown []string
	for _, field := range strings.Fields(strings.Trim(recorded, "{}")) {
		switch name, value, _ := strings.Cut(field, ":"); name {
		case "Compression", "Encoding":
			shown = append(shown, value)
		case "Bloom":
			shown = append(shown, "bloom "+value)
		case "BlockSize":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				shown = append(shown, "blocks of "+bytesize.Format(n))
			}
		}
	}
	if shown == nil {
		return recorded
	}
	return strings.Join(shown, ", ")
}

// checked are checks as the page shows them.
type checked struct {
	Checked bool // at least one was made
	Checks  []page.Check
	Passed  []string // the names of those that found nothing wrong, each once
}

// TableChecks returns the checks of the table.
func (t *TableSummary) TableChecks() checked { return checksOf(t.Checks) }

// DiskChecks returns the checks of the disks.
func (r *RunEntry) DiskChecks() checked { return checksOf(r.Disks) }

func checksOf(all preflight.CheckResults) checked {
	c := checked{Checked: len(all) > 0}
	for _, f := range all {
		class, name := "warning", f.Name
		switch f.State {
		case preflight.OK:
			if !slices.Contains(c.Passed, f.Name) {
				c.Passed = append(c.Passed, f.Name)
			}
			continue
		case preflight.Failed:
			class = "problem"
		}
		if f.Table != "" {
			name += " of " + f.Table
		}
		c.Checks = append(c.Checks, page.Check{Class: class, State: string(f.State),
			Text: name + ": " + f.Detail, Remedy: f.Fix})
	}
	return c
}

// HBase returns what the check of the cluster's version found; "" if it was not made or not passed.
func (p *RunPage) HBase() string {
	for _, r := range p.Runs {
		for _, t := range r.Tables {
			for _, f := range t.Checks {
				if f.Name == "version" && f.State == preflight.OK {
					return f.Detail
				}
			}
		}
	}
	return ""
}

package summary

// The HTML page of a command says what was read, written, rejected and loaded, and how long it took. It has personal data,
// such as row keys and rejected records, and its size is bounded whatever the run was.

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/internal/digest"
	"bulkload/internal/page"
	"bulkload/internal/program"
	"bulkload/jobs/base/books"
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

// Page is what a command did: its runs, in the order in which they were asked for.
type Page struct {
	failure.Outcome
	Meaning  string // of the exit code
	Began    time.Time
	Seconds  float64
	Who      string // user@host
	Build    program.Build
	Runs     []*Run   // those that ended
	NotBegun []string // their jobs and dates
}

// Run is one run.
type Run struct {
	failure.Outcome
	Name     string // the job file, and the date
	Began    float64
	Seconds  float64 // Began and Seconds: from the command's beginning
	Phases   []timing.Phase
	Largest  string // part of the work, with its share
	Sort     string // what the sort used; "" without one
	Resumed  string // what an earlier process had done; "" without one
	Settings []Setting
	Tables   []*Table
	Inputs   Inputs
	Rejects  Rejects
	Disks    preflight.Findings
}

// Setting is a setting with its value.
type Setting struct{ Name, Value string }

// Inputs are input files, the largest of them in their order.
type Inputs struct {
	Files int
	Bytes int64
	Shown []manifest.Input
}

// Rejects are a run's rejects: the most frequent reasons, and the records of all others.
type Rejects struct {
	Records int64
	Path    string // of the records
	Reasons []ingest.RejectReason
	Others  int64 // records with other reasons
}

// Table is one output of a run.
type Table struct {
	Name, Status string
	RunID, Dir   string
	Books        books.Books
	Digest       digest.Sum
	Bytes        int64
	Load         loading.Summary
	Families     map[string]string // their settings
	Duplicates   []writing.DuplicateSample
	Checks       preflight.Findings

	Regions int // of the table
	Used    int // that got files
	Skew    float64
	Shares  []Region // the largest regions, in their order
	Files   int
	Shown   []hfiles.Summary // the largest files, in their order
	Bars    *page.Chart      // of the regions; nil without bytes
}

// SetRegions sets the regions of a table, and keeps what the page shows of them.
func (t *Table) SetRegions(all []Region) {
	t.Regions = len(all)
	var most int64
	values := make([]page.Value, len(all))
	for i, r := range all {
		if r.Files > 0 {
			t.Used++
		}
		t.Bytes += r.Bytes
		most = max(most, r.Bytes)
		values[i] = page.Value{Name: cmp.Or(r.Start, "first"), Size: float64(r.Bytes), More: page.Plural(int(r.Rows), "row")}
	}
	t.Shares = largest(all, mostRegions, func(r Region) int64 { return r.Bytes })
	if t.Bytes > 0 {
		t.Skew = float64(most) * float64(len(all)) / float64(t.Bytes)
		t.Bars = page.Regions("HFile bytes per region", fmt.Sprintf("Largest region / mean: %.2f.", t.Skew), values, hot)
	}
}

// hot is the ratio to the mean above which a region is drawn in another colour, and the skew above which plan warns.
const hot = 1.5

// SetFiles sets the files of a table, and keeps what the page shows of them.
func (t *Table) SetFiles(all []hfiles.Summary) {
	t.Files = len(all)
	t.Shown = largest(all, mostFiles, func(f hfiles.Summary) int64 { return f.Bytes })
}

// SetInputs sets the input files of a run, and keeps what the page shows of them.
func (r *Run) SetInputs(all []manifest.Input) {
	r.Inputs = Inputs{Files: len(all), Shown: largest(all, mostInputs, func(in manifest.Input) int64 { return in.Size })}
	for i := range all {
		r.Inputs.Bytes += all[i].Size
	}
}

// SetRejects sets the rejects of a run, and keeps what the page shows of them.
func (r *Run) SetRejects(records int64, path string, reasons []ingest.RejectReason, others int64) {
	r.Rejects = Rejects{Records: records, Path: path, Reasons: reasons, Others: others}
	if len(reasons) > mostReasons {
		r.Rejects.Reasons = slices.Clone(reasons[:mostReasons])
		for _, reason := range reasons[mostReasons:] {
			r.Rejects.Others += reason.Records
		}
	}
}

// largest returns the n largest elements, in the order in which they are given.
func largest[T any](all []T, n int, size func(T) int64) []T {
	if len(all) <= n {
		return slices.Clone(all)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(all[b]), size(all[a])) })
	order = order[:n]
	slices.Sort(order)
	out := make([]T, n)
	for i, at := range order {
		out[i] = all[at]
	}
	return out
}

//go:embed report.html
var text string

var pageTemplate = page.New(text, template.FuncMap{
	"size": bytesize.Format, "class": class, "facts": facts, "timeline": timeline, "runTimes": runTimes, "share": share, "raw": raw,
	"percent":  func(part, whole int64) string { return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(max(whole, 1))) },
	"rate":     func(bytesPerSecond float64) string { return bytesize.Format(int64(bytesPerSecond)) + "/s" },
	"plural64": func(n int64, what string) string { return page.Plural(int(n), what) },
	"severity": severity, "passed": passed, "settings": settings, "position": writing.Position.String,
	"more":    func(shown, all int) int { return max(0, all-shown) },
	"seconds": func(s float64) string { return fmt.Sprintf("%.2f s", s) },
	"lines":   func(err string) []string { return strings.Split(page.Cut(4000, err), "\n") },
	"when":    func(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") },
})

// Write writes the page: one file that needs nothing from elsewhere.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// Title is the title of the page.
func (p *Page) Title() string {
	if len(p.Runs)+len(p.NotBegun) == 1 {
		return "Run of " + p.names()[0]
	}
	if len(p.Runs)+len(p.NotBegun) == 0 {
		return "No run began"
	}
	return page.Plural(len(p.Runs)+len(p.NotBegun), "run")
}

func (p *Page) names() (all []string) {
	for _, r := range p.Runs {
		all = append(all, r.Name)
	}
	return append(all, p.NotBegun...)
}

// Ended is when the command ended.
func (p *Page) Ended() time.Time { return p.Began.Add(time.Duration(p.Seconds * float64(time.Second))) }

// Listed are the runs of the list: the failed ones first if there are too many.
func (p *Page) Listed() []*Run { return p.first(mostRuns) }

// Detailed are the runs that the page describes.
func (p *Page) Detailed() []*Run { return p.first(mostDetailed) }

// Left is the runs that did not begin, as far as they are named.
func (p *Page) Left() []string { return p.NotBegun[:min(len(p.NotBegun), mostNotBegun)] }

// first returns n runs, in their order: failed ones, then the first of the others.
func (p *Page) first(n int) []*Run {
	return largest(p.Runs, n, func(r *Run) int64 {
		if r.Status == failure.StatusFailed {
			return 1
		}
		return 0
	})
}

// Rows adds up the records that the run read, and the rows that it wrote into all tables.
func (r *Run) Rows() (sum struct{ Read, Written, Files, Bytes int64 }) {
	for _, t := range r.Tables {
		sum.Read = max(sum.Read, t.Books.Read)
		sum.Written += t.Books.Written
		sum.Files += int64(t.Files)
		sum.Bytes += t.Bytes
	}
	return sum
}

// class is the class of a status.
func class(status string) string {
	switch status {
	case failure.StatusDone:
		return "good"
	case failure.StatusFailed:
		return "bad"
	}
	return "plain"
}

// fact is one of the figures at the top of a table's part.
type fact struct{ Name, Value, More string }

func facts(t *Table) []fact {
	b := &t.Books
	all := []fact{
		{"rows read", page.Count(b.Read), page.Count(b.Filtered) + " filtered, " + page.Count(b.Duplicates) + " duplicates"},
		{"rows written", page.Count(b.Written), page.Plural(b.Columns, "column")},
		{"rejected", page.Count(b.Rejected), fmt.Sprintf("%.2f%% of the rows", 100*float64(b.Rejected)/float64(max(b.Read, 1)))},
		{"HFiles", bytesize.Format(t.Bytes), page.Plural(t.Files, "file")},
		{"regions", page.Count(int64(t.Used)), fmt.Sprintf("of %s; skew %.2f", page.Count(int64(t.Regions)), t.Skew)},
	}
	if t.Load.Requested {
		all = append(all, fact{"loaded", page.Plural(t.Load.Files, "file"), "now, into " + page.Plural(t.Load.Regions, "region")})
	} else {
		all = append(all, fact{"loaded", "no", "load: false, or --no-load"})
	}
	return all
}

// timeline draws the stages of a run.
func timeline(r *Run) *page.Chart {
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
	return page.Timeline("When the stages ran", "What is not covered by a stage is checking, locking, and waiting for an input or for other loads.", spans, r.Seconds)
}

var stageClass = map[string]string{"sort": "one", "write": "two", "load": "three", "probe": "four"}

// runTimes draws the runs of the list; nil for a single one.
func runTimes(p *Page) *page.Chart {
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

// share is the part of a region in all bytes of its table.
func share(r Region, t *Table) string {
	return fmt.Sprintf("%.1f%%", 100*float64(r.Bytes)/float64(max(t.Bytes, 1)))
}

// raw is the start of a rejected record.
func raw(s ingest.RejectSample) string {
	if !s.Cut {
		return string(s.Raw)
	}
	whole := s.Raw
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ { // no half of a character at the end
		if last := whole[len(whole)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole = whole[:len(whole)-n]
			}
			break
		}
	}
	return string(whole) + "…"
}

// settings shows the settings of a family that a manifest records: those that people know, of those that follow.
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

// passed names the checks that found nothing wrong, each once.
func passed(all preflight.Findings) (names []string) {
	for _, f := range all {
		if f.State == preflight.OK && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// HBase is what the cluster said of its version; "" if it was not asked.
func (p *Page) HBase() string {
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

// severity is the class of a check's state.
func severity(s preflight.State) string {
	switch s {
	case preflight.Failed:
		return "problem"
	case preflight.Warning, preflight.Unknown:
		return "warning"
	}
	return "ok"
}

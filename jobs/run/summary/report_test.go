package summary

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/program"
	"bulkload/internal/test/testpage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

const evil = `<script>alert("x")</script>'" onload="x" ` + "\u202e\x00"

// madePage is the page of a run with so many of everything, with a text wherever one comes from outside.
func madePage(n int, text string) *RunPage {
	t := &TableSummary{Name: text, Status: failure.StatusDone, RunID: text, Dir: text, Families: map[string]string{text: text, "f": "{Compression:SNAPPY Encoding:FAST_DIFF Bloom:ROW BlockSize:65536}"},
		Counts: counts.RowCounts{Read: 1000, Written: 990, Rejected: 7, Duplicates: 3, Differing: 1, CellsWritten: 990, Columns: 1},
		Load:   loading.LoadResult{Requested: true, Report: load.Report{Files: n, Regions: n, Staging: text}}, Duplicates: []writing.DuplicateSample{{Row: text, Kept: writing.RecordPosition{File: text}}},
		Checks: preflight.CheckResults{{Name: "version", State: preflight.OK, Detail: "HBase 2.6.1"}, {Name: "quota", State: preflight.OK}, {Name: "quota", State: preflight.OK}, {Name: text, State: preflight.Warning, Detail: text, Fix: text, Table: text}}}
	var regions []RegionSummary
	var files []hfiles.FileMeta
	var inputs []manifest.RecordedInput
	var reasons []ingest.RejectReason
	for i := range n {
		regions = append(regions, RegionSummary{Region: i, Start: fmt.Sprint(text, i), End: text, Rows: 5, Bytes: 1000, Files: 1})
		files = append(files, hfiles.FileMeta{Path: fmt.Sprint(text, i), FirstRow: text, Bytes: 1000})
		inputs = append(inputs, manifest.RecordedInput{InputFile: jobfile.InputFile{Path: fmt.Sprint(text, i), Size: 10}, Content: &counts.Content{Read: 10}})
		reasons = append(reasons, ingest.RejectReason{Column: text, Reason: fmt.Sprint(text, i), Records: 1, Samples: []ingest.RejectSample{{File: text, Raw: []byte(text)}}})
	}
	regions[n-1].Bytes = 2000
	t.SetRegions(regions)
	t.SetFiles(files)
	r := &RunEntry{Outcome: failure.Outcome{Status: failure.StatusFailed, Error: text, Code: "BL-X", Exit: 3}, Name: text, Seconds: 10, Tables: []*TableSummary{t},
		Phases:   []timing.PhaseTime{{Name: "sort", Start: 1, Seconds: 4}, {Name: "read", Of: "sort", Seconds: 3}, {Name: "write", Output: text, Start: 5, Seconds: 3}},
		Settings: []Setting{{"input", text}}, Largest: "read", Resumed: "earlier"}
	r.SetInputs(inputs)
	r.SetRejects(int64(n), text, reasons, 2)
	return &RunPage{Outcome: failure.Outcome{Status: failure.StatusFailed, Error: text, Code: "BL-X", Exit: 3}, Meaning: "rejected", Began: time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC),
		Seconds: 10, Who: text, Build: program.Build{Version: "v1", Go: "go1", Platform: "linux/amd64"}, Runs: []*RunEntry{r}, NotBegun: []string{text}}
}

func written(t *testing.T, p *RunPage) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPageIsSafe: whatever names, values and paths say, the page has no script, refers to nothing, and hides no
// characters.
func TestPageIsSafe(t *testing.T) {
	t.Parallel()
	text := written(t, madePage(3, evil))
	// text, in quotes that end no attribute
	testpage.CheckSelfContained(t, []byte(strings.ReplaceAll(text, "onload=&#34;", "")))
	if n := strings.Count(text, "&lt;script&gt;"); n < 30 {
		t.Errorf("the hostile text is shown %d times", n)
	}
	for _, want := range []string{"Checks that found nothing wrong: version, quota.", "<td>HBase</td><td>HBase 2.6.1</td>", "<li class=\"warning\"><b>warning</b>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.ContainsAny(text, "\u202e\x00") || !strings.Contains(text, `\u202e\x00`) {
		t.Error("characters that can't be seen are not escaped")
	}
}

// TestPageIsBounded: a night of 100,000 regions, 10,000 files, 10,000 reasons and 10,000 runs is a page that a mail can
// carry, and it says how much it leaves out.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	p := madePage(10_000, "key-")
	regions := make([]RegionSummary, 100_000)
	for i := range regions {
		regions[i] = RegionSummary{Region: i, Start: fmt.Sprintf("%06d", i), Rows: 1, Bytes: 10, Files: 1}
	}
	regions[77_777].Bytes = 1000
	table := &TableSummary{Name: "ns:t", Status: failure.StatusDone}
	table.SetRegions(regions)
	p.Runs[0].Tables = append(p.Runs[0].Tables, table)
	for i := range 9_999 {
		p.Runs = append(p.Runs, &RunEntry{Outcome: failure.Outcome{Status: failure.StatusDone}, Name: fmt.Sprintf("run-%d", i)})
		p.NotBegun = append(p.NotBegun, "later")
	}
	p.Runs[9_000].Status = failure.StatusFailed
	text := written(t, p)
	if len(text) > 500_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
	for _, want := range []string{"and 99,950 more regions, smaller ones", "<code>077777</code>", "and 9,950 more files, smaller ones", "and 9,982 records with other reasons",
		"and 9,500 more runs", "and 9,980 more runs that did not begin", "40 runs are described below", "run-8999", "Only the 120 largest regions are drawn"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
}

// TestPageIsDeterministic: equal runs have equal pages.
func TestPageIsDeterministic(t *testing.T) {
	t.Parallel()
	if a, b := written(t, madePage(70, "x")), written(t, madePage(70, "x")); a != b {
		t.Error("two pages of one run differ")
	}
}

// TestPageInABrowser: a browser finds what the page has, runs nothing, and draws it in light, in dark and on paper.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drawing is not ours to race")
	}
	name := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(name, []byte(written(t, madePage(12, evil))), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := testpage.DOM(t, name)
	for what, want := range map[string]int{"<svg ": 2, "<figure>": 2, "<table": 7, "<script": 0} {
		if n := strings.Count(dom, what); n < want || want == 0 && n > 0 {
			t.Errorf("the browser sees %d times %s, want %d", n, what, want)
		}
	}
	testpage.CheckDrawn(t, name)
}

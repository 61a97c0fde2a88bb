package stats

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/page"
	"bulkload/internal/test/testpage"
)

func madePage(t *testing.T) (path string, text []byte) {
	t.Helper()
	r := madeReport()
	r.Checks = Check(r, &Facts{Now: time.UnixMilli(2e12), Order: KeyTrend{Up: 1000}})
	r.Checks = append(r.Checks, Finding{"key-x", Problem, "a reason", "a remedy"})
	other := madeReport()
	other.Key = "md5(<script>alert(1)</script>)"
	var b bytes.Buffer
	if err := page.WritePlan(&b, &PlanPage{Title: "Plan of job.yaml", Date: "2026-11-20", Tables: []PlannedTable{{"ns:t", r, other}}}); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b.Bytes()
}

// TestPageNeedsNothing: no script, nothing from elsewhere, and what came from data or job file is text.
func TestPageNeedsNothing(t *testing.T) {
	t.Parallel()
	_, text := madePage(t)
	testpage.CheckSelfContained(t, text)
	if !bytes.Contains(text, []byte("md5(&lt;script&gt;")) {
		t.Error("the row key is not shown as text")
	}
	for _, want := range []string{"<td><code>&lt;b&gt;张三&lt;/b&gt;</code></td>", "<td><code>salt(id, 4)</code></td>", "<code>none: column id: null</code>"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the records are shown without %s", want)
		}
	}
}

// TestPageShowsRegionsAndUnits: a table of regions, and the units of each axis.
func TestPageShowsRegionsAndUnits(t *testing.T) {
	t.Parallel()
	_, text := madePage(t)
	for _, want := range []string{">size</text>", ">query keys</text>", ">rows per query key</text>", ">days from now</text>", "12 rows</text>",
		"<td><code>5</code></td>", "<td class=\"number\">16,000</td>"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page does not have %s", want)
		}
	}
}

// TestPageOfManyRegionsIsSmall: it shows the largest of 100,000 regions, in their order, and how many there are
// besides.
func TestPageOfManyRegionsIsSmall(t *testing.T) {
	t.Parallel()
	r := madeReport()
	r.Regions = make([]PlannedRegion, 100_000)
	for i := range r.Regions {
		r.Regions[i] = PlannedRegion{Region: i, Start: fmt.Sprint(i), HFileBytes: 1000}
	}
	r.Regions[77_777].HFileBytes = 1e6
	r.Create = strings.Repeat("'key', ", 100_000)
	var b bytes.Buffer
	if err := page.WritePlan(&b, &PlanPage{Tables: []PlannedTable{{Name: "ns:t", Report: r}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<code>77777</code>", "and 99,900 more regions, smaller ones", "Only the 120 largest regions are drawn", "class=\"hot\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if b.Len() > 200_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
}

// TestPageSaysWhatIsOfTheSample: and shows suggested splits, and all names of the bytes' bar.
func TestPageSaysWhatIsOfTheSample(t *testing.T) {
	r := madeReport()
	r.Sample, r.Query.InSample, r.Suggestion.Splits = true, true, []string{"3", "7"}
	var b bytes.Buffer
	if err := page.WritePlan(&b, &PlanPage{Tables: []PlannedTable{{Name: "ns:t", Report: r}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 at most, in the sample", "Rows that each has, in the sample.", "Rows and bytes are those in the sample", "<code>3 7</code>",
		">family 5%</text>", ">qualifier 10%</text>", ": 762.9 MiB, 16,000 rows</title>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// TestPageInABrowser: a browser finds the charts, and draws them in light, in dark and on paper.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	name, _ := madePage(t)
	dom := testpage.DOM(t, name)
	for what, want := range map[string]int{"<svg ": 10, "<figure>": 10, `class="problem"`: 1, "<table": 3} {
		if n := strings.Count(dom, what); n < want {
			t.Errorf("the browser sees %d times %s, want %d at least", n, what, want)
		}
	}
	testpage.CheckDrawn(t, name)
}

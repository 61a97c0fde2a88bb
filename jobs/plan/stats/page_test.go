package stats

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bulkload/internal/testcluster"
	"bulkload/internal/testcluster/apt"
)

// chromium finds a headless browser, or installs Debian's where this test may. Without one the test is skipped, loudly,
// and fails where CI=true.
func chromium(t *testing.T) string {
	t.Helper()
	find := func() string {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	path := find()
	if path == "" {
		err := apt.Install("chromium")
		if path = find(); path == "" {
			testcluster.Without(t, fmt.Sprintf("needs chromium, to look at the page: apt-get install chromium (%v)", err))
		}
	}
	return path
}

// browse runs the browser on a page.
func browse(t *testing.T, page string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium(t), append(append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--window-size=1000,3600"}, args...), "file://"+page)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &errs)
	}
	return out.String()
}

func madePage(t *testing.T) (path string, text []byte) {
	t.Helper()
	r := madeReport()
	r.Checks = Check(r, &Facts{Now: time.UnixMilli(2e12), Order: Order{Up: 1000}})
	r.Checks = append(r.Checks, Finding{"key-x", Problem, "a reason", "a remedy"})
	other := madeReport()
	other.Key = "md5(<script>alert(1)</script>)"
	var b bytes.Buffer
	if err := WritePage(&b, &Page{Title: "Plan of job.yaml", Date: "2026-11-20", Tables: []Table{{"ns:t", r, other}}}); err != nil {
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
	_, text := madePage(t)
	if outside := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|https?:|src=`).FindAll(text, -1); len(outside) > 0 {
		t.Errorf("the page refers to %q", outside)
	}
	if !bytes.Contains(text, []byte("md5(&lt;script&gt;")) {
		t.Error("the row key is not shown as text")
	}
	for _, want := range []string{"<td><code>&lt;b&gt;张三&lt;/b&gt;</code></td>", "<td><code>salt(id, 4)</code></td>", "<code>none: column id: null</code>"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the records are shown without %s", want)
		}
	}
}

// TestPageSaysWhatIsOfTheSample: and shows suggested splits, and all names of the bytes' bar.
func TestPageSaysWhatIsOfTheSample(t *testing.T) {
	r := madeReport()
	r.Sample, r.Query.InSample, r.Suggestion.Splits = true, true, []string{"3", "7"}
	var b bytes.Buffer
	if err := WritePage(&b, &Page{Tables: []Table{{Name: "ns:t", Report: r}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 at most, in the sample", "Rows that each has, in the sample.", "Rows and bytes are those in the sample", "<code>3 7</code>",
		">family 5%</text>", ">qualifier 10%</text>", ": 762.9 MiB, 16,000 rows</title>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// TestChartNamesStayInside: the last name of an axis is not cut at the chart's edge.
func TestChartNamesStayInside(t *testing.T) {
	c := growthChart(&Forecast{DaysToSplit: 173_513, MaxFileSize: 10e9})
	last := c.Bars[len(c.Bars)-1]
	if end := last.NameX + float64(len(last.Name))*letterWidth/2; end > c.Width {
		t.Errorf("%s ends at %.0f of %.0f", last.Name, end, c.Width)
	}
}

// TestPageInABrowser: a browser finds the charts, and draws them in light and in dark.
func TestPageInABrowser(t *testing.T) {
	page, _ := madePage(t)
	dom := browse(t, page, "--dump-dom")
	for what, want := range map[string]int{"<svg ": 10, "<figure>": 10, `class="problem"`: 1, "<table": 2} {
		if n := strings.Count(dom, what); n < want {
			t.Errorf("the browser sees %d times %s, want %d at least", n, what, want)
		}
	}
	for mode, c := range map[string]struct {
		setting     string
		paper, bars uint32
	}{"light": {"1", 0xffffff, 0x2f6fb0}, "dark": {"0", 0x14181f, 0x6aa7e6}} {
		shot := filepath.Join(t.TempDir(), mode+".png")
		browse(t, page, "--blink-settings=preferredColorScheme="+c.setting, "--screenshot="+shot)
		drawn := colours(t, shot)
		if all := 1000 * 3600; drawn[c.paper] < all/3 || drawn[c.bars] < 20_000 {
			t.Errorf("%s: %d of %d pixels are paper, %d are bars", mode, drawn[c.paper], all, drawn[c.bars])
		}
	}
	pdf := filepath.Join(t.TempDir(), "plan.pdf")
	browse(t, page, "--print-to-pdf="+pdf)
	if text, err := os.ReadFile(pdf); err != nil || !bytes.HasPrefix(text, []byte("%PDF")) || len(text) < 20_000 {
		t.Errorf("on paper: %d bytes, %v", len(text), err)
	}
}

// colours counts a picture's pixels by their colour.
func colours(t *testing.T, name string) map[uint32]int {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[uint32]int{}
	for at := range pixels(picture.Bounds()) {
		r, g, b, _ := picture.At(at.X, at.Y).RGBA()
		counts[r>>8<<16|g>>8<<8|b>>8]++
	}
	return counts
}

func pixels(r image.Rectangle) func(func(image.Point) bool) {
	return func(yield func(image.Point) bool) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if !yield(image.Pt(x, y)) {
					return
				}
			}
		}
	}
}

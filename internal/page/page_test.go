package page

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// TestText: what can't be seen is shown as an escape, and the rest as it is.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "客户 A-1": "客户 A-1", "<b>": "<b>", "a\x00b": `a\x00b`, "a\nb\tc": `a\nb\tc`, "\xbf\xcd!": `\xbf\xcd!`, "\u202efdp.exe": `\u202efdp.exe`, "\ufffd": "\ufffd",
		"\x7f": `\x7f`, "\u200b": `\u200b`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

// TestWriteFile: only the owner can read a page. One that fails leaves the older page, and no other file.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	err := WriteFile(name, func(w io.Writer) error { fmt.Fprint(w, "half"); return full })
	if !errors.Is(err, full) || !testwords.Names(err, name) {
		t.Errorf("a write that fails: %v", err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "old" {
		t.Errorf("after a write that failed: %q, %v", text, err)
	}
	if err := WriteFile(name, func(w io.Writer) error { _, err := fmt.Fprint(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" || info.Mode() != 0o600 {
		t.Errorf("%q with mode %v, %v", text, info.Mode(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if err := WriteFile(filepath.Join(dir, "none", "page.html"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
}

// TestStartIsCutBetweenCharacters: a record that is cut has no half of a character at its end.
func TestStartIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{{"客户", "客户…"}, {"客户"[:5], "客…"}, {"客户"[:4], "客…"}, {"ab", "ab…"}, {"\xbf", "\xbf…"}, {"", "…"}} {
		if got := start([]byte(c.raw), true); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.raw, got, c.want)
		}
	}
	if got := start([]byte("客户"), false); got != "客户" {
		t.Errorf("a whole record is shown as %q", got)
	}
}

// TestChartNamesStayInside: the last name of an axis is not cut at the chart's edge.
func TestChartNamesStayInside(t *testing.T) {
	t.Parallel()
	var values []Value
	for i := range 13 {
		values = append(values, Value{Name: fmt.Sprintf("day %s", Count(int64(i*14_459))), Size: float64(i)})
	}
	c := Columns("", "", Axis{}, values, OfBytes)
	last := c.Bars[len(c.Bars)-1]
	if end := last.NameX + float64(len(last.Name))*letterWidth/2; end > c.Width {
		t.Errorf("%s ends at %.0f of %.0f", last.Name, end, c.Width)
	}
}

// TestRegionsAreBounded: of many regions the largest are drawn, in their order; the mean is that of all.
func TestRegionsAreBounded(t *testing.T) {
	t.Parallel()
	values := make([]Value, 1000)
	for i := range values {
		values[i] = Value{Name: fmt.Sprint(i), Size: 10}
	}
	values[900].Size, values[901].Size = 1000, 500
	c := Regions(values, 7.25, 1.5)
	if n := len(c.Bars); n != MostBars {
		t.Fatalf("%d bars", n)
	}
	a, b := c.Bars[MostBars-2], c.Bars[MostBars-1]
	if a.Name != "900" || b.Name != "901" || a.Class != "hot" || c.Bars[0].Name != "0" || c.Bars[0].Class != "one" {
		t.Errorf("drawn are %v, …, %v, %v", c.Bars[0], a, b)
	}
	if want := "Largest region / mean: 7.25. Only the 120 largest regions are drawn, in their order; 880 are smaller."; c.Says != want {
		t.Errorf("it says %s, want %s", c.Says, want)
	}
	if y := c.y((998*10 + 1500) / 1000.0); math.Abs(c.Lines[0].Y1-y) > 1e-6 {
		t.Errorf("the mean is drawn at %v, want %v", c.Lines[0].Y1, y)
	}
}

// TestTimeline: bars are in proportion to their times, however short or long; nothing at all is no chart that divides
// by zero.
func TestTimeline(t *testing.T) {
	t.Parallel()
	for _, all := range []float64{0, 1e-9, 0.04, 3, 86_400 * 400} {
		c := Timeline("", "", []Span{{Name: "sort", From: 0, To: all / 2}, {Name: "write", From: all / 2, To: all}}, all)
		a, b := c.Bars[0], c.Bars[1]
		if !(a.Width >= 1 && a.X == nameWidth && b.X >= a.X && b.X+b.Width <= chartWidth) || len(c.Times) > 12 {
			t.Errorf("%v seconds: %+v and %+v, %d times", all, a, b, len(c.Times))
		}
	}
	if c := Timeline("", "", []Span{{Name: "late", From: 3, To: 9}}, 5); c.Bars[0].X+c.Bars[0].Width > chartWidth {
		t.Errorf("a span beyond the end: %+v", c.Bars[0])
	}
}

// TestChartsStayInside: whatever the values, bars, ticks and lines of a chart are numbers inside of it, larger values
// have no smaller bars, and what is more than nothing can be seen.
func TestChartsStayInside(t *testing.T) {
	r := testrand.New(t)
	show := func(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
	for range 1_000 {
		var values []Value
		for range r.IntN(60) {
			v := Value{Name: strings.Repeat("规n", r.IntN(20)), Size: math.Floor(math.Pow(10, 12*r.Float64())) * float64(r.IntN(2)), Class: "a"}
			values = append(values, v)
		}
		for kind, c := range map[string]*Chart{"columns": Columns("t", "s", Axis{}, values, Scale{roundStep, show}), "columns of bytes": Columns("t", "s", Axis{}, values, OfBytes),
			"rows": Rows("t", "s", values, show), "stack": Stack("t", "s", values, show)} {
			upright := strings.HasPrefix(kind, "columns")
			inside := func(x, y float64) bool {
				const slack = 1e-6
				return x >= -slack && y >= -slack && x <= c.Width+slack && y <= c.Height+slack // false for NaN
			}
			if len(c.Bars) != len(values) {
				t.Fatalf("%s: %d bars of %d values", kind, len(c.Bars), len(values))
			}
			for i, b := range c.Bars {
				if !inside(b.X, b.Y) || !inside(b.X+b.Width, b.Y+b.Height) || b.Width < 0 || b.Height < 0 {
					t.Fatalf("%s: a bar %+v of %v in %v × %v", kind, b, values[i].Size, c.Width, c.Height)
				}
				if upright && values[i].Size > 0 && b.Height < leastHeight {
					t.Fatalf("%s: a bar of height %v for %v", kind, b.Height, values[i].Size)
				}
				for k, o := range c.Bars {
					if values[i].Size < values[k].Size && (upright && b.Height > o.Height+1e-6 || !upright && b.Width > o.Width+1e-6) {
						t.Fatalf("%s: %v has a larger bar than %v", kind, values[i].Size, values[k].Size)
					}
				}
			}
			if len(c.Ticks) > 8 {
				t.Fatalf("%s: %d ticks", kind, len(c.Ticks))
			}
			for i, tick := range c.Ticks {
				if !inside(0, tick.Y) || i > 0 && tick.Y > c.Ticks[i-1].Y {
					t.Fatalf("%s: ticks %+v", kind, c.Ticks)
				}
			}
		}
	}
	for n, want := range map[float64]float64{0: 0, -1: 0, 1: 1, 1.5: 2, 3: 5, 7: 10, 100: 100, 101: 200, 0.03: 0.05, 1e12: 1e12} {
		if got := roundStep(n); math.Abs(got-want) > 1e-9*want {
			t.Errorf("a step of %v is %v, want %v", n, got, want)
		}
	}
	for n, want := range map[float64]float64{0: 0, -1: 0, 1: 1, 3: 4, 1000: 1024, 1025: 1024, 1026: 2048, 1 << 40: 1 << 40} {
		if got := byteStep(n); got != want {
			t.Errorf("a step of %v bytes is %v, want %v", n, got, want)
		}
	}
	if got := shorten("规则规则", 3) + shorten("规则", 2); got != "规则…规则" {
		t.Error(got)
	}
}

package stats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testrand"
)

// TestBoundsOfChecks: each check just on both sides of its limit, and where the figures that it divides by are nothing.
func TestBoundsOfChecks(t *testing.T) {
	for _, c := range []struct {
		code   string
		change func(r *InputReport, f *Facts)
		found  bool
	}{
		{"key-long", func(r *InputReport, _ *Facts) { r.KeyBytes.Longest = 100 }, false},
		{"key-long", func(r *InputReport, _ *Facts) { r.KeyBytes.Longest = 101 }, true},
		{"key-short", func(r *InputReport, _ *Facts) { r.KeyBytes.Shortest = 9 }, true},
		{"key-short", func(r *InputReport, _ *Facts) { r.KeyBytes.Shortest = 10 }, false},
		{"key-short", func(r *InputReport, _ *Facts) { r.KeyBytes.Shortest, r.Rows = 0, 0 }, false},
		{"query-rows", func(r *InputReport, _ *Facts) { r.Query.Rows.Max = RowLimit }, false},
		{"query-rows", func(r *InputReport, _ *Facts) { r.Query.Rows.Max, r.Query.Rows.Over = RowLimit+1, 1 }, true},
		{"key-order", func(_ *InputReport, f *Facts) { f.Order = KeyTrend{enoughOrders - 1, 0} }, false},
		{"key-order", func(_ *InputReport, f *Facts) { f.Order = KeyTrend{enoughOrders, 0} }, true},
		{"key-order", func(_ *InputReport, f *Facts) { f.Order = KeyTrend{94, 6} }, false},
		{"key-order", func(_ *InputReport, f *Facts) { f.Order = KeyTrend{95, 5} }, true},
		{"key-order", func(_ *InputReport, f *Facts) { f.Order = KeyTrend{5, 95} }, true},
		{"region-skew", func(r *InputReport, _ *Facts) { r.Skew = 1.5 }, false},
		{"region-skew", func(r *InputReport, _ *Facts) { r.Skew = 1.51 }, true},
		{"region-skew", func(r *InputReport, _ *Facts) { r.Skew, r.Rows = 9, 999 }, false},
		{"region-large", func(r *InputReport, _ *Facts) { r.Forecast.LargestRegion = 10e9 - 1 }, false},
		{"region-large", func(r *InputReport, _ *Facts) { r.Forecast.LargestRegion = 10e9 }, true},
		{"region-large", func(r *InputReport, f *Facts) { r.Forecast.LargestRegion, f.MaxRegion = 10e9, 0 }, false},
		{"region-files", func(r *InputReport, _ *Facts) { r.Regions[3].Files = 32 }, false},
		{"region-files", func(r *InputReport, _ *Facts) { r.Regions[3].Files = 33 }, true},
		{"region-files", func(r *InputReport, f *Facts) { r.Regions[3].Files, f.MaxFiles = 33, 0 }, false},
		{"region-empty", func(r *InputReport, _ *Facts) { r.Regions[5].Rows = 0 }, true},
		{"region-empty", func(r *InputReport, _ *Facts) { r.Regions[5].Rows, r.Rows = 0, 0 }, false},
		{"family-count", func(r *InputReport, _ *Facts) { r.Families = []string{"a", "b", "c"} }, false},
		{"family-count", func(r *InputReport, _ *Facts) { r.Families = []string{"a", "b", "c", "d"} }, true},
		{"family-versions", func(r *InputReport, _ *Facts) { r.Live.Families[0].Versions = 2 }, true},
		{"cell-future", func(_ *InputReport, f *Facts) { f.Newest = f.Now.UnixMilli() }, false},
		{"cell-future", func(_ *InputReport, f *Facts) { f.Newest = f.Now.UnixMilli() + 1 }, true},
		{"cell-expired", func(r *InputReport, f *Facts) { r.Live.Families[0].TTL = int64(day / time.Second) }, false},
		{"cell-expired", func(r *InputReport, f *Facts) { r.Live.Families[0].TTL = int64(day/time.Second) - 1 }, true},
		{"cell-expired", func(r *InputReport, f *Facts) { r.Live.Families[0].TTL, f.Oldest = 1, 0 }, false},
		// in seconds: no Duration
		{"cell-expired", func(r *InputReport, f *Facts) { r.Live.Families[0].TTL = math.MaxInt64 }, false},
		{"key-cycle", func(r *InputReport, f *Facts) { f.Cycle, r.Live.Families[0].TTL = 30*day, 16*24*3600 }, false},
		{"key-cycle", func(r *InputReport, f *Facts) { f.Cycle, r.Live.Families[0].TTL = 30*day, 16*24*3600+1 }, true},
		{"key-cycle", func(r *InputReport, f *Facts) { f.Cycle = 30 * day }, true}, // cells are kept for ever
		{"key-cycle", func(r *InputReport, f *Facts) { f.Cycle, r.Live = 30*day, nil }, true},
		{"key-repeated", func(r *InputReport, _ *Facts) { r.Repeats.Share = 0.5 }, true},
		{"key-repeated", func(r *InputReport, _ *Facts) { r.Repeats.Share, r.Sample = 0.5, true }, false},
		{"key-in-table", func(r *InputReport, _ *Facts) { r.Live.Checked, r.Live.Present = 100, 1 }, true},
		{"key-in-table", func(r *InputReport, _ *Facts) { r.Live.Checked = 100 }, false},
		{"key-reverse", func(_ *InputReport, f *Facts) { f.Reversed = []KeyWidths{{"id", 3, 3}} }, false},
		{"key-reverse", func(_ *InputReport, f *Facts) { f.Reversed = []KeyWidths{{"id", 3, 4}} }, true},
		{"key-complement", func(_ *InputReport, f *Facts) { f.Beyond = []OutOfRange{{"id", 1}} }, true},
	} {
		r, f := madeReport(), madeFacts()
		c.change(r, f)
		at := slices.IndexFunc(Check(r, f), func(found Finding) bool { return found.Code == c.code })
		if (at >= 0) != c.found {
			t.Errorf("%s: found %v, want %v, with %+v, %+v", c.code, at >= 0, c.found, r.KeyBytes, f.Order)
		}
	}
}

// fillAny sets every number, text and list below v at random: also to the largest and the least, to nothing, to one of
// a list.
func fillAny(v reflect.Value, next func(n int) int) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 50, 1000, 1e12, math.MaxInt64, math.MinInt64}[next(8)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, 0.5, 1e-9, 1e300, -1, math.NaN(), math.Inf(1)}[next(8)])
	case reflect.Bool:
		v.SetBool(next(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "id", "规则\n<b>", "%d"}[next(4)])
	case reflect.Pointer:
		if next(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillAny(v.Elem(), next)
		}
	case reflect.Slice:
		n := next(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fillAny(v.Index(i), next)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMilli(int64(next(1 << 40)))))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillAny(v.Field(i), next)
			}
		}
	}
}

// TestChecksOfAnyReport: whatever figures a report has, checks and comparisons don't panic, are in the order of their
// severities, and say a reason and a remedy.
func TestChecksOfAnyReport(t *testing.T) {
	r := testrand.New(t)
	for range 3_000 {
		var a, b InputReport
		var f Facts
		fillAny(reflect.ValueOf(&a).Elem(), r.IntN)
		fillAny(reflect.ValueOf(&b).Elem(), r.IntN)
		fillAny(reflect.ValueOf(&f).Elem(), r.IntN)
		f.FromKey = nil
		rank := map[Severity]int{Problem: 0, Warning: 1, Note: 2}
		last := 0
		for _, found := range Check(&a, &f) {
			now, known := rank[found.Severity]
			if !known || now < last || found.Reason == "" || found.Remedy == "" || !slices.ContainsFunc(checks, func(c check) bool { return c.code == found.Code }) || strings.Contains(found.Reason, "%!") {
				t.Fatalf("%+v after severity %d", found, last)
			}
			last = now
		}
		Compare(&a, &b)
	}
	if found := Check(&InputReport{}, &Facts{}); found == nil {
		t.Error("no list of findings")
	}
}

// TestReportIsJSON: an empty report and a made one are written as JSON, with every list a list, and come back.
func TestReportIsJSON(t *testing.T) {
	for name, r := range map[string]*InputReport{"made": madeReport(), "of nothing": {Suggestion: ProposeRegions(RegionInput{FromKey: noSplits}, NewSample(0), text)}} {
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var again InputReport
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(raw, second) {
			t.Errorf("%s: %s\nand then %s, %v", name, raw, second, err)
		}
		if !bytes.Contains(raw, []byte(`"splits":[]`)) {
			t.Errorf("%s: no splits are no list: %s", name, raw)
		}
	}
}

// TestPercentages: two digits, and no power of ten, of the smallest part too.
func TestPercentages(t *testing.T) {
	for p, want := range map[float64]string{100: "100", 99.4: "99", 10: "10", 9.94: "9.9", 1: "1", 0.5: "0.5", 0.123: "0.12", 0.00123: "0.0012", 0.0000123: "0.000012", 5e-9: "0.000000005", 0: "0"} {
		if got := percentText(p); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}

// TestSizesAreReadable: one digit after the point and the largest unit that gives one before it; numbers with commas.
func TestSizesAreReadable(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1000 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", 11e9: "10.2 GiB", 1 << 40: "1.0 TiB", math.MaxInt64: "8388608.0 TiB", -5: "-5 B",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	r := testrand.New(t)
	form := regexp.MustCompile(`^-?[0-9]{1,3}(,[0-9]{3})*$`)
	for range 2_000 {
		n := int64(r.Uint64()) >> r.IntN(64)
		if got := Count(n); !form.MatchString(got) || strings.ReplaceAll(got, ",", "") != strconv.FormatInt(n, 10) {
			t.Fatalf("%d is %s", n, got)
		}
		seconds := r.Float64() * math.Pow(10, float64(r.IntN(8)))
		var h, m int64
		var s float64
		switch text := strings.ReplaceAll(Duration(seconds), ",", ""); {
		case strings.Contains(text, "h"):
			_, _ = fmt.Sscanf(text, "%d h %d min", &h, &m)
		case strings.Contains(text, "min"):
			_, _ = fmt.Sscanf(text, "%d min %f s", &m, &s)
		default:
			_, _ = fmt.Sscanf(text, "%f s", &s)
		}
		if got := float64(3600*h+60*m) + s; math.Abs(got-seconds) > 31 || h == 0 && math.Abs(got-seconds) > 0.501 || m > 59 || s >= 60 {
			t.Fatalf("%v seconds are %s", seconds, Duration(seconds))
		}
	}
	if got := plural(1, "region") + ", " + plural(0, "region") + ", " + plural(1234, "region"); got != "1 region, 0 regions, 1,234 regions" {
		t.Error(got)
	}
}

// rubyText is what Ruby reads a text in single quotes as; it must end with the last quote.
func rubyText(t *testing.T, quoted string) string {
	t.Helper()
	if len(quoted) < 2 || quoted[0] != '\'' {
		t.Fatalf("%q is no text in quotes", quoted)
	}
	var out []byte
	for i := 1; i < len(quoted); i++ {
		switch {
		case quoted[i] == '\'':
			if i != len(quoted)-1 {
				t.Fatalf("%q ends at byte %d", quoted, i)
			}
			return string(out)
		case quoted[i] == '\\' && i+1 < len(quoted) && (quoted[i+1] == '\\' || quoted[i+1] == '\''):
			i++
		}
		out = append(out, quoted[i])
	}
	t.Fatalf("%q has no end", quoted)
	return ""
}

// TestRubyReadsTheText: what HBase's shell gets is the split as it is written, whatever quotes and backslashes are in
// it: those before an x stay one, as Bytes.toBytesBinary wants it.
func TestRubyReadsTheText(t *testing.T) {
	r := testrand.New(t)
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString([]string{`\x00`, `\xFF`, `\`, `'`, `"`, "a", "x", " ", "#{x}", `\\`, "é"}[r.IntN(11)])
		}
		if got := rubyText(t, ruby(b.String())); got != b.String() {
			t.Fatalf("%s is written as %s, which is %s", b.String(), ruby(b.String()), got)
		}
	}
	got := CreateStatement("it's", []CreateFamily{{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomPrefix: 8, BlockSize: 65536}}, []string{`a\x00`, "b"})
	want := `create 'it\'s', {NAME => 'f', COMPRESSION => 'SNAPPY', DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH', BLOCKSIZE => '65536', ` +
		`CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '8'}}, {SPLITS => ['a\x00', 'b']}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// failingWriter takes so many bytes.
type failingWriter struct{ left int }

var errFull = errors.New("full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestSplitsFile: blanks at the ends of a split, which the shell would take for layout, are escaped, and no others; a
// disk that is full is an error.
func TestSplitsFile(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSplits(&b, []string{"a", " a", "a ", "  ", "a b", ""}); err != nil || b.String() != "a\n\\x20a\na\\x20\n\\x20\\x20\na b\n\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if err := WriteSplits(&failingWriter{3}, []string{"a", "bc"}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// TestForecastBounds: what divides by nothing is nothing, what has been reached takes no more days, and what never
// comes is -1.
func TestForecastBounds(t *testing.T) {
	for _, c := range []struct {
		size, aDay, most int64
		want             float64
	}{{0, 1, 10, 10}, {10, 1, 10, 0}, {11, 0, 10, 0}, {9, 0, 10, -1}, {9, -1, 10, -1}, {0, 3, 10, 3}, {0, math.MaxInt64, math.MaxInt64, 1}, {0, 1, 0, 0}} {
		if got := DaysToSplit(c.size, c.aDay, c.most); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range [][4]int{{0, 1, 16, 16}, {15, 1, 16, 1}, {16, 1, 16, 0}, {17, 0, 16, 0}, {0, 0, 16, -1}, {0, 5, 16, 4}, {1, 5, 16, 3}, {0, -1, 16, -1}, {0, 100, 16, 1}} {
		if got := NightsToBlocking(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%v: %d", c, got)
		}
	}
	for days, want := range map[float64]string{-1: "no region is ever split", 0: "the first region splits within a day", 1: "the first region splits in 1 day", 5000: "the first region splits in 5,000 days",
		36525: "the first region splits in 36,525 days", 1826711: "no region splits within 100 years", math.Inf(1): "no region splits within 100 years"} {
		if got := SplitIn(days); got != want {
			t.Errorf("%v days: %s, want %s", days, got, want)
		}
	}
	var f Forecast
	f.SetTime(1e12, 1e12, 1e12, 1e12) // without rates
	if f.Seconds != 0 || f.SortSeconds != 0 {
		t.Errorf("%+v", f)
	}
	f.Rates = Rates{Cores: 0, Read: 1e6, Sort: 2e6, Write: 4e6, Verify: 5e6}
	f.SetTime(1e6, 4e6, 4e6, 20e6)
	if f.SortSeconds != 3 || f.Seconds != 8 {
		t.Errorf("%v and %v seconds", f.SortSeconds, f.Seconds)
	}
	for bytes, want := range map[int64]RegionRange{0: {0, 1, 1}, 1: {1, 1, 1}, 2e9: {2e9, 1, 2}, 2e9 + 1: {2e9 + 1, 2, 2}, 11e9: {11e9, 6, 11}, 1e11: {1e11, 50, 100}, 1e15: {1e15, 500_000, 1_000_000}} {
		if got := regionsFor(bytes); got != want {
			t.Errorf("%d bytes: %+v, want %+v", bytes, got, want)
		}
	}
}

package stats

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func noSplits(int) ([][]byte, error) { return nil, errors.New("nothing is known") }

// TestRule: 11 GB of data give 6 regions, 100 GB 50.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		size        int64
		least, most int
	}{
		{0, 1, 1}, {1, 1, 1}, {999_999_999, 1, 1}, {2e9, 1, 2}, {2e9 + 1, 2, 2}, {11e9, 6, 11}, {11 << 30, 6, 11}, {100e9, 50, 100}, {1e12, 500, 1000},
	} {
		if r := regionsFor(c.size); r.Least != c.least || r.Most != c.most {
			t.Errorf("%s give %d to %d regions, want %d to %d", Size(c.size), r.Least, r.Most, c.least, c.most)
		}
	}
}

func sampled(keys ...string) *Sample {
	s := NewSample(1 << 20)
	for _, k := range keys {
		s.Add(Hash([]byte(k)), Hash([]byte(k)), []byte(k), len(k), 1)
	}
	s.Sort()
	return s
}

func salts(n int) (all [][]byte) {
	for i := range n {
		all = append(all, fmt.Appendf(nil, "%d", i))
	}
	return all
}

func TestSuggest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var keys []string
	for range 4000 {
		keys = append(keys, fmt.Sprintf("%d%09d", r.IntN(10), r.IntN(1e9)))
	}
	sample := sampled(keys...)
	for name, c := range map[string]struct {
		wanted  RegionInput
		regions int
		reason  string
		from    string
	}{
		"by the rule":      {RegionInput{Source: 11e9, HFiles: 5e9}, 6, "10.2 GiB of source at 1.9 GiB per region", "sample"},
		"100 GB":           {RegionInput{Source: 100e9, HFiles: 40e9}, 50, "93.1 GiB of source", "sample"},
		"by the servers":   {RegionInput{Source: 1e9, HFiles: 1e9, Servers: 7}, 7, "one for each of the 7 region servers", "sample"},
		"by max.filesize":  {RegionInput{Source: 1e9, HFiles: 5e9, MaxFileSize: 1e9}, 6, "each below hbase.hregion.max.filesize (953.7 MiB)", "sample"},
		"by the salts":     {RegionInput{Source: 11e9, HFiles: 5e9, Salts: salts(10)}, 10, "one for each of the 10 salts", "salt"},
		"salts cut again":  {RegionInput{Source: 100e9, HFiles: 40e9, Salts: salts(10)}, 50, "93.1 GiB of source", "salt and sample"},
		"nothing at all":   {RegionInput{}, 1, "0 B of source", "sample"},
		"by the key alone": {RegionInput{Source: 20e9, FromKey: func(n int) ([][]byte, error) { return salts(n)[1:], nil }}, 10, "18.6 GiB", "key"},
		"the key misleads": {RegionInput{Source: 4e9, FromKey: func(n int) ([][]byte, error) { return [][]byte{[]byte("x")}, nil }}, 2, "3.7 GiB", "sample"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.wanted.FromKey == nil {
				c.wanted.FromKey = noSplits
			}
			s := ProposeRegions(c.wanted, sample, text)
			if s.Regions < c.regions-1 || s.Regions > c.regions+1 || len(s.Splits) != s.Regions-1 || !strings.Contains(s.Reason, c.reason) || s.From != c.from {
				t.Errorf("%d regions from %s: %s", s.Regions, s.From, s.Reason)
			}
			if s.Skew > 1.35 {
				t.Errorf("skew %.2f", s.Skew)
			}
			if !slices.IsSortedFunc(s.Keys, bytes.Compare) || len(slices.CompactFunc(slices.Clone(s.Keys), bytes.Equal)) != len(s.Keys) {
				t.Errorf("splits %q", s.Keys)
			}
			for _, salt := range c.wanted.Salts[min(1, len(c.wanted.Salts)):] {
				if !slices.ContainsFunc(s.Keys, func(k []byte) bool { return bytes.Equal(k, salt) }) {
					t.Errorf("salt %q begins no region", salt)
				}
			}
		})
	}
}

func TestQuantiles(t *testing.T) {
	s := sampled("apple", "apricot", "banana", "cherry", "date", "elder")
	cuts, from := cut(s, 3, nil)
	if want := [][]byte{[]byte("b"), []byte("d")}; !slices.EqualFunc(cuts, want, bytes.Equal) || from != "sample" {
		t.Errorf("%q from %s, want %q", cuts, from, want)
	}
	if cuts, _ := cut(sampled("a"), 5, nil); len(cuts) != 0 {
		t.Errorf("one key is cut at %q", cuts)
	}
	if got := separator([]byte("apricot"), []byte("apron")); string(got) != "apro" {
		t.Errorf("the separator is %q", got)
	}
}

func TestCreateStatement(t *testing.T) {
	got := CreateStatement("ns:t", []CreateFamily{{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROW", BlockSize: 65536}}, []string{"1", `\x00\xFF`, `it's`})
	want := `create 'ns:t', {NAME => 'f', COMPRESSION => 'SNAPPY', DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOOMFILTER => 'ROW', BLOCKSIZE => '65536'}, {SPLITS => ['1', '\x00\xFF', 'it\'s']}`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWriteSplits(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSplits(&b, []string{"1", " a b ", `\x00`}); err != nil || b.String() != "1\n\\x20a b\\x20\n\\x00\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestForecast(t *testing.T) {
	for _, c := range []struct {
		size, aDay, limit int64
		want              float64
	}{{1e9, 1e9, 10e9, 9}, {0, 3, 10, 3}, {10, 1, 10, 0}, {1, 0, 10, -1}} {
		if got := DaysToSplit(c.size, c.aDay, c.limit); got != c.want {
			t.Errorf("%d bytes and %d a day to %d: %v days, want %v", c.size, c.aDay, c.limit, got, c.want)
		}
	}
	for _, c := range [][4]int{{0, 1, 16, 16}, {0, 4, 16, 4}, {3, 4, 16, 4}, {15, 4, 16, 1}, {16, 1, 16, 0}, {0, 0, 16, -1}} {
		if got := NightsToBlocking(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%d files and %d a night to %d: %d nights, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
	f := Forecast{Rates: Rates{Cores: 2, Read: 100, Sort: 50, Write: 200, Verify: 10}}
	if f.SetTime(1000, 500, 4000, 100); f.SortSeconds != 10 || f.Seconds != 25 {
		t.Errorf("%v s, %v s of it to sort", f.Seconds, f.SortSeconds)
	}
}

// TestSuggestOfCompressed: the rule counts text, and says so.
func TestSuggestOfCompressed(t *testing.T) {
	s := ProposeRegions(RegionInput{Source: 11e9, Compressed: true, FromKey: noSplits}, NewSample(1), text)
	if s.BySource.Least != 6 || !strings.Contains(s.Reason, "about 10.2 GiB of source when decompressed, at 1.9 GiB per region") {
		t.Errorf("%+v", s)
	}
}

// TestDurations: as people write them.
func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{0.04: "0.0 s", 9.94: "9.9 s", 59.4: "59 s", 59.6: "1 min 0 s", 200: "3 min 20 s", 7728: "2 h 9 min", 70_392: "19 h 33 min"} {
		if got := Duration(seconds); got != want {
			t.Errorf("%g: %s, want %s", seconds, got, want)
		}
	}
}

// TestForecastIsUnsure: too little work says nothing of hours.
func TestForecastIsUnsure(t *testing.T) {
	for _, c := range []struct {
		seconds, measured float64
		unsure            bool
	}{{7000, 0.02, true}, {7000, 0.5, false}, {2, 0.02, false}} {
		f := Forecast{Seconds: c.seconds}
		if f.SetMeasured(1, c.measured); f.Unsure != c.unsure || f.Measured != c.measured {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// TestFirstSplits: the first ones, and how many.
func TestFirstSplits(t *testing.T) {
	if got := FirstSplits([]string{"1", "2"}); got != "1 2" {
		t.Error(got)
	}
	if got := FirstSplits(strings.Split("1 2 3 4 5 6 7 8 9 a b c", " ")); got != "1 2 3 4 5 6 7 8 9 a … and 2 more" {
		t.Error(got)
	}
}

func TestWeigh(t *testing.T) {
	q := QueryLoad{Columns: []string{"a", "b"}, PerDay: 10, Prefix: "a", Scans: 3, Returned: 10, Read: 50}
	q.Weigh(1000, 50)
	if q.Returned != 10 || q.Read != 50 || q.Bytes != 2500 || q.Daily != (Day{30, 500, 25_000}) {
		t.Errorf("%+v", q)
	}
	full := QueryLoad{PerDay: 2, Scans: 6, Full: true, Returned: 10}
	full.Weigh(1000, 50)
	if full.Read != 1000 || full.Bytes != 50_000 || full.Daily != (Day{12, 2000, 100_000}) {
		t.Errorf("%+v", full)
	}
}

package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/spec/jobfile"
)

// TestDaysInPaths: however a day is written, the path is that of the export of --date.
func TestDaysInPaths(t *testing.T) {
	for name, want := range map[string]dated{
		"orders/dt=2026-11-20/part-0":             {"orders/dt=${date}/part-0", "2026-11-20"},
		"orders/20261120":                         {"orders/${date:20060102}", "2026-11-20"},
		"orders/2026/11/20/a.csv":                 {"orders/${date:2006/01/02}/a.csv", "2026-11-20"},
		"orders_20261120.csv":                     {"orders_${date:20060102}.csv", "2026-11-20"},
		"orders_20261120_01.csv":                  {"orders_${date:20060102}_01.csv", "2026-11-20"},
		"orders20261120023015.csv":                {"orders${date:20060102}*.csv", "2026-11-20"},
		"o-2026_11_20.csv":                        {"o-${date:2006_01_02}.csv", "2026-11-20"},
		"o.2026.11.20.csv":                        {"o.${date:2006.01.02}.csv", "2026-11-20"},
		"year=2026/month=11/day=20":               {"year=${date:2006}/month=${date:01}/day=${date:02}", "2026-11-20"},
		"2026-11-20/orders_20261120.csv":          {"${date}/orders_${date:20060102}.csv", "2026-11-20"},
		"hdfs://nn:8020/in/2026-11-20":            {"hdfs://nn:8020/in/${date}", "2026-11-20"},
		"2026-11-20/of-2026-11-19.csv":            {"2026-11-20/of-2026-11-19.csv", ""},
		"2026-11-20/of_20261119.csv":              {"2026-11-20/of_20261119.csv", ""},
		"orders/2026-13-20":                       {"orders/2026-13-20", ""},
		"orders/120261120":                        {"orders/120261120", ""},
		"orders/2026-11-201":                      {"orders/2026-11-201", ""},
		"${date:20060102}/a":                      {"${date:20060102}/a", ""},
		"orders/${date:2006-01-02}/20261120/part": {"orders/${date}/${date:20060102}/part", "2026-11-20"},
		"": {"", ""},
		"part-00000-20261120-c000.snappy.parquet": {"part-00000-${date:20060102}-c000.snappy.parquet", "2026-11-20"},
		"20260230": {"20260230", ""},
	} {
		if got := withDate(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFoldersOfDays: of a folder with the exports of many days, the job reads one.
func TestFoldersOfDays(t *testing.T) {
	const missing = "CHECK THIS. Each run reads all of it"
	for what, c := range map[string]struct {
		files []string
		path  string // the draft's; "" if it is to be checked
		table string
		notes []string
	}{
		"of partitions":                    {[]string{"dt=2026-11-19/a.csv", "dt=2026-11-20/a.csv", "dt=2026-11-20/b.csv"}, "'in/orders/dt=${date}'", "orders", []string{"exports of 2 days, up to 2026-11-20", "the input has 2 files"}},
		"of days":                          {[]string{"2026-11-19/a.csv", "2026-11-20/a.csv"}, "in/orders/${date}", "orders", []string{"--from DATE --to DATE"}},
		"of days as numbers":               {[]string{"20261119/x/a.csv", "20261120/y/a.csv"}, "in/orders/${date:20060102}", "orders", nil},
		"of years":                         {[]string{"2026/11/19/a.csv", "2026/11/20/a.csv"}, "in/orders/${date:2006/01/02}", "orders", nil},
		"as Hive has them":                 {[]string{"year=2026/month=11/day=19/a.csv", "year=2026/month=11/day=20/a.csv"}, "'in/orders/year=${date:2006}/month=${date:01}/day=${date:02}'", "orders", nil},
		"of one day":                       {[]string{"2026-11-20/a.csv"}, "in/orders/${date}", "orders", nil},
		"of files":                         {[]string{"shop_20261119.csv", "shop_20261120.csv"}, "in/orders/shop_${date:20060102}.csv", "shop", []string{"the input has 1 file"}},
		"of several files":                 {[]string{"shop_20261119_1.csv", "shop_20261119_2.csv", "shop_20261120_1.csv"}, "'in/orders/shop_${date:20060102}_*.csv'", "shop", nil},
		"of files with times":              {[]string{"shop_20261119021503.csv", "shop_20261120021455.csv"}, "'in/orders/shop_${date:20060102}*.csv'", "shop", nil},
		"of a later empty day":             {[]string{"2026-11-20/a.csv", "2026-11-21/empty.csv"}, "in/orders/${date}", "orders", []string{"up to 2026-11-20"}},
		"of two exports":                   {[]string{"shop_20261119.csv", "buyers_20261119.csv"}, "", "orders", []string{`"buyers_${date:20060102}.csv" and "shop_${date:20060102}.csv" may be two exports`}},
		"of files without days":            {[]string{"a.csv", "b.csv"}, "", "orders", []string{"write ${date} where"}},
		"of files of which one has no day": {[]string{"2026-11-20.csv", "all.csv"}, "", "orders", []string{`"all.csv" has none`}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range c.files {
				file := filepath.Join(dir, "in", "orders", filepath.FromSlash(name))
				content := rows(20, "#,2026-11-20,x\n")
				if strings.HasPrefix(filepath.Base(name), "empty") {
					content = ""
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Of(storage.Local, filepath.Join(dir, "in", "orders"), "in/orders")
			if err != nil {
				t.Fatal(err)
			}
			text := string(d.YAML())
			c.notes = append(c.notes, "timestamp: ${date}", "table: "+c.table+"\n")
			if c.path != "" {
				c.notes = append(c.notes, "  path: "+c.path+"\n", "--date 2026-11-20\n", "output: out/"+c.table+"/${date}\n")
				parsedPath(t, dir, text)
			} else {
				c.notes = append(c.notes, "  path: in/orders   # "+missing)
			}
			for _, want := range c.notes {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in\n%s", want, text)
				}
			}
			if strings.Contains(text, missing) != (c.path == "") {
				t.Errorf("whether the path is to be checked is wrong in\n%s", text)
			}
		})
	}
}

// parsedPath wants a draft whose input is there on the day that was looked at.
func parsedPath(t *testing.T, dir, text string) {
	t.Helper()
	j, err := jobfile.Parse(filepath.Join(dir, "job.yaml"), strings.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	files, err := ingest.List(storage.Local, filepath.Join(dir, j.Input.Path))
	if err != nil || len(files) == 0 {
		t.Errorf("%s finds %d files, %v", j.Input.Path, len(files), err)
	}
	for _, f := range files {
		if below := strings.TrimPrefix(f.Path, dir); strings.Contains(below, "19/") || strings.Contains(below, "1119") {
			t.Errorf("%s finds another day's %s", j.Input.Path, f.Path)
		}
	}
}

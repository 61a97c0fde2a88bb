package targets

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// jobOf reads a job with a row key, regions and more lines.
func jobOf(t *testing.T, rowkey, regions, more string) *jobfile.Job {
	t.Helper()
	text := fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: in, columns: [id, a, b]}\nrowkey: %s\nregions: %s\noutput: out\n%s", rowkey, regions, more)
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// siteOf has some properties.
func siteOf(t *testing.T, properties map[string]string) *site.Site {
	t.Helper()
	s, err := site.Open(options.Options{Properties: properties}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tableOf is a live table with a family f.
func tableOf(family load.Family, splits ...string) *load.Table {
	table := &load.Table{Name: "ns:t", Families: []load.Family{family}}
	start := ""
	for _, end := range append(splits, "") {
		table.Regions = append(table.Regions, load.Region{Start: []byte(start), End: []byte(end)})
		start = end
	}
	return table
}

func liveFamily() load.Family {
	return load.Family{Name: "f", Compression: "SNAPPY", DataBlockEncoding: "FAST_DIFF", BloomFilter: "ROW", BlockSize: 65536}
}

// TestSettingsComeFromTheTable: where there is a table its settings count; the job may repeat them, and not contradict
// them.
func TestSettingsComeFromTheTable(t *testing.T) {
	const rowkey, regions = "id", "{from: table}"
	for what, c := range map[string]struct {
		hfile string
		live  func(*load.Family)
		code  errcode.Code
		says  string
	}{
		"nothing said":  {"", func(*load.Family) {}, "", ""},
		"the same said": {"hfile: {compression: snappy, bloom: row, block_size: 64KiB}", func(*load.Family) {}, "", ""},
		"other compression": {"hfile: {compression: zstd}", func(*load.Family) {}, errcode.TableSettings,
			"hfile.compression is ZSTD"},
		"other encoding": {"hfile: {encoding: none}", func(*load.Family) {}, errcode.TableSettings, "hfile.encoding"},
		"other bloom":    {"hfile: {bloom: rowcol}", func(*load.Family) {}, errcode.TableSettings, "hfile.bloom"},
		"other block size": {"hfile: {block_size: 32KiB}", func(*load.Family) {}, errcode.TableSettings,
			"hfile.block_size"},
		"no such family": {"", func(f *load.Family) { f.Name = "g" }, errcode.TableSettings,
			"no family f; it has g"},
		"unknown codec":         {"", func(f *load.Family) { f.Compression = "LZO" }, errcode.TableSettings, "LZO"},
		"unknown encoding":      {"", func(f *load.Family) { f.DataBlockEncoding = "X" }, errcode.TableSettings, "X"},
		"prefix without length": {"", func(f *load.Family) { f.BloomFilter = "ROWPREFIX_FIXED_LENGTH" }, errcode.TableSettings, "prefix_length"},
		"prefix": {"", func(f *load.Family) {
			f.BloomFilter, f.Attributes = "ROWPREFIX_FIXED_LENGTH", map[string]string{"RowPrefixBloomFilter.prefix_length": "4"}
		}, "", ""},
	} {
		live := liveFamily()
		c.live(&live)
		target, err := New(jobOf(t, rowkey, regions, c.hfile), siteOf(t, nil), tableOf(live, "b"))
		if failure.CodeOf(err) != c.code && (err != nil || c.code != "") || err != nil &&
			!testwords.Names(err, c.says) {
			t.Errorf("%s: %s, %v; want %s, %s", what, failure.CodeOf(err), err, c.code, c.says)
		}
		if err == nil && (target.Families[0].Settings.Compression != hfilewriter.CompressSnappy || len(target.Splits) != 1) {
			t.Errorf("%s: %+v", what, target.Families)
		}
	}
}

// TestBoundariesOfJobAndTable: a job may name other boundaries than the table has. Those of the table that it lacks are
// known, because the load cuts the files there.
func TestBoundariesOfJobAndTable(t *testing.T) {
	table := tableOf(liveFamily(), "5", "7")
	for splits, want := range map[string]string{"['5', '7']": "[]", "['2', '5', '7']": "[]", "['2']": "[5 7]", "['5', '6']": "[7]", "[]": "[5 7]"} {
		got, err := New(jobOf(t, "id", "{from: splits, splits: "+splits+"}", "hfile: {}"), siteOf(t, nil), table)
		if err != nil || fmt.Sprint(got.Further(table)) != want {
			t.Errorf("splits %s: %v, want further boundaries %s; %v", splits, got, want, err)
		}
	}
}

// TestSettingsNobodySays: a job without hfile has the settings of the table, if there is one, whatever its boundaries
// come from.
func TestSettingsNobodySays(t *testing.T) {
	t.Parallel()
	job := jobOf(t, "id", "{from: splits, splits: ['5']}", "")
	live := liveFamily()
	live.Compression, live.DataBlockEncoding = "GZ", "NONE"
	for _, c := range []struct {
		table *load.Table
		want  hfilewriter.Compression
	}{{nil, hfilewriter.CompressSnappy}, {tableOf(live, "5"), hfilewriter.CompressGZ}} {
		target, err := New(job, siteOf(t, nil), c.table)
		if err != nil || target.Families[0].Settings.Compression != c.want {
			t.Errorf("%v: %+v, %v", c.want, target, err)
		}
	}
}

// TestSaltsAndBoundaries: each value of a salt must have regions of its own, or they would get no even load.
func TestSaltsAndBoundaries(t *testing.T) {
	for splits, fits := range map[string]bool{"['1', '2', '3']": true, "['1', '2', '25', '3']": true, "['1', '2']": false, "['1', '2', '3', '4']": true, "['15']": false} {
		_, err := New(jobOf(t, "salt(id, 4) + id", "{from: splits, splits: "+splits+"}", "hfile: {}"), siteOf(t, nil), nil)
		if (err == nil) != fits || err != nil && failure.CodeOf(err) != errcode.Regions {
			t.Errorf("splits %s: %v", splits, err)
		}
	}
	// What to do depends on where the boundaries come from. Of many salts the advice names a few.
	few, many := "salt(id, 3) + id", "salt(id, 100) + id"
	for _, c := range []struct {
		rowkey, regions string
		table           *load.Table
		want            string
	}{
		{few, "{from: splits, splits: ['1']}", nil, "list each salt but the first: splits: ['1', '2']"},
		{few, "{from: table}", tableOf(liveFamily(), "1"), "split the table at each salt but the first: '1', '2'"},
		{many, "{from: splits, splits: ['01']}", nil, "'19', '20', …]"},
	} {
		if _, err := New(jobOf(t, c.rowkey, c.regions, ""), siteOf(t, nil), c.table); failure.CodeOf(err) != errcode.Regions || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.rowkey, c.regions, err)
		}
	}
}

// TestSizeAndNumberOfFiles: the job's limit counts before the site's, and HBase's default after both.
func TestSizeAndNumberOfFiles(t *testing.T) {
	const size, files = "hbase.hregion.max.filesize", "hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily"
	for _, c := range []struct {
		hfile      string
		properties map[string]string
		size       int64
		files      int64
	}{
		{"hfile: {}", nil, DefaultMaxSize, load.DefaultMaxFiles},
		{"hfile: {}", map[string]string{size: "1000000", files: "5"}, 1_000_000, 5},
		{"hfile: {max_size: 2MiB}", map[string]string{size: "1000000"}, 2 << 20, load.DefaultMaxFiles},
	} {
		target, err := New(jobOf(t, "id", "{from: splits, splits: ['5']}", c.hfile), siteOf(t, c.properties), nil)
		if err != nil || target.MaxSize != c.size || target.MaxFiles != c.files {
			t.Errorf("%s, %v: %+v, %v", c.hfile, c.properties, target, err)
		}
	}
	help := (&Target{MaxSize: 1 << 20, MaxFiles: 4}).FileLimitHelp(100 << 20)
	if !strings.Contains(help, "to 25") || !strings.Contains(help, "which is 1") || !strings.Contains(help, load.MaxFilesProperty+" is 4") {
		t.Error(help)
	}
}

// TestBoundariesOfAWideTable: rows that contain zero bytes are cut where HBase cuts them, though the sort's keys are
// longer than rows.
func TestBoundariesOfAWideTable(t *testing.T) {
	var target Target
	splits := [][]byte{{'a', 0}, {'a', 0, 1}, []byte("b")}
	if err := target.SetSplits(splits, true); err != nil {
		t.Fatal(err)
	}
	if target.Sorted == target.Regions || target.Sorted.Len() != 4 || !reflect.DeepEqual(target.Splits, splits) {
		t.Errorf("%+v", target)
	}
	for region := range 3 {
		if start, sorted := target.Regions.End(region), target.Sorted.End(region); string(start) == string(sorted) && strings.Contains(string(start), "\x00") {
			t.Errorf("region %d ends at %q in both", region, start)
		}
	}
	if err := target.SetSplits(splits, false); err != nil || target.Sorted != target.Regions {
		t.Errorf("a table that is not wide has two kinds of boundaries: %v", err)
	}
	for _, wrong := range [][][]byte{{[]byte("b"), []byte("a")}, {[]byte("a"), []byte("a")}, {{}}} {
		if err := target.SetSplits(wrong, true); failure.CodeOf(err) != errcode.Regions {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

package plan_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/load"
)

// TestOutputsPlan: the figures of a job with several outputs are those of each, and there are none at the top.
func TestOutputsPlan(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 1000)
	r, err := plan.Run(context.Background(), jobtest.Orders(t, dir, "out"), options.Options{}, plan.PlanOptions{})
	if err != nil || r.Status != failure.StatusDone || len(r.Outputs) != 3 || r.Outputs[1].Run.Table != "ns:by_buyer" || r.Outputs[2].Rows != 1000 {
		t.Errorf("%d, %d, %d rows, %v; %v", r.Outputs[0].Rows, r.Outputs[1].Rows, r.Outputs[2].Rows, r.Outputs[0].Rejects, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(top)); !slices.Equal(got, []string{"exit", "outputs", "run", "schema", "status"}) {
		t.Errorf("the top has %q, where figures would be zeros", got)
	}
}

// TestCompareWithOutputs: a comparison shows one table beside another, so it takes no job with several outputs.
func TestCompareWithOutputs(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 10)
	several := jobtest.Orders(t, dir, "out")
	one := several.Outputs[0]
	for _, pair := range [][2]*jobfile.Job{{several, one}, {one, several}} {
		_, err := plan.Run(t.Context(), pair[0], options.Options{}, plan.PlanOptions{Job: pair[1]})
		if errcode.Outermost(err) != errcode.Command || !testwords.Names(err, several.Path, "--compare") {
			t.Errorf("%v", err)
		}
	}
}

// opinionTable is the job of the opinion table.
const opinionTable = `table: tinawang:opinion
family: f
input:
  path: in/${date}
  columns: [id, apply_no, node_code, conclusion, opinion, created_at, operator, status]
  record_delimiter: '\x10'
rowkey: salt(apply_no, 10) + md5(apply_no) + id
query: [apply_no]
regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 10GiB}
output: out/${date}
`

func found(r *plan.PlanReport) (codes []string) {
	for _, f := range r.Checks {
		codes = append(codes, f.Code)
	}
	return codes
}

// TestPlanEstimatesFiles compares the estimated sizes with those of the files of a run: of all rows and of a sample,
// and in several settings.
func TestPlanEstimatesFiles(t *testing.T) {
	opinions := func(rows int) []byte {
		var b bytes.Buffer
		if err := sample.Opinion(&b, sample.Options{Rows: rows, Seed: 9}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	settings := func(with string) string {
		return strings.Replace(jobdir.CheckJob, "compression: snappy, encoding: fast_diff, bloom: row", with, 1)
	}
	for name, c := range map[string]struct {
		dir    func() string
		sample int64
		within float64
	}{
		"check, a few rows": {func() string { return jobdir.Check(t, jobdir.CheckJob, 400) }, 0, 0.1},
		"check, all":        {func() string { return jobdir.Check(t, jobdir.CheckJob, 40_000) }, 0, 0.02},
		"check, a sample":   {func() string { return jobdir.Check(t, jobdir.CheckJob, 300_000) }, 30_000, 0.1},
		"check, not compressed": {func() string {
			return jobdir.Check(t, settings("compression: none, encoding: none, bloom: none"), 20_000)
		}, 5000, 0.1},
		"check, prefix and zstd": {func() string {
			return jobdir.Check(t, settings("compression: zstd, encoding: prefix, bloom: rowcol"), 20_000)
		}, 5000, 0.1},
		"check, of two families": {func() string {
			return jobdir.Check(t, jobdir.CheckJob+"columns_map: {remark: {to: 'g:remark'}, city: {to: 'g:city'}}\n", 20_000)
		}, 5000, 0.1},
		"opinion, all":               {func() string { return jobdir.Of(t, opinionTable, opinions(40_000)) }, 0, 0.02},
		"opinion, a sample":          {func() string { return jobdir.Of(t, opinionTable, opinions(200_000)) }, 20_000, 0.1},
		"opinion, the rows shuffled": {func() string { return jobdir.Of(t, opinionTable, shuffled(opinions(40_000))) }, 0, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("it runs jobs")
			}
			dir := c.dir()
			r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: c.sample})
			s := runtest.Must(t, jobtest.Check(t, dir, "out"), options.Options{WorkDir: dir})
			var bytes, raw int64
			for _, f := range s.Files {
				bytes += f.Bytes
				raw += f.Raw
			}
			off := float64(r.HFiles.Bytes)/float64(bytes) - 1
			t.Logf("estimated %d, written %d bytes: %+.2f%%; %d of %d rows read, %d encoded", r.HFiles.Bytes, bytes, 100*off, r.RowsRead, s.Counts.Read, r.HFiles.SampleRows)
			if math.Abs(off) > c.within {
				t.Errorf("off by %+.1f%%", 100*off)
			}
			if r.Sample != (c.sample > 0) || r.Sample && r.RowsRead != c.sample || math.Abs(float64(r.Rows)/float64(s.Counts.Written)-1) > 0.03 ||
				math.Abs(float64(r.RawBytes)/float64(raw)-1) > 0.03 {
				t.Errorf("sample %v, %d rows read, %d rows and %d bytes of KeyValues expected; they are %d and %d", r.Sample, r.RowsRead, r.Rows, r.RawBytes, s.Counts.Written, raw)
			}
			if !r.Sample && (r.Rows != s.Counts.Written || r.Cells != s.Counts.CellsWritten || r.RawBytes != raw) {
				t.Errorf("%d rows, %d cells, %d bytes; a run has %d, %d, %d", r.Rows, r.Cells, r.RawBytes, s.Counts.Written, s.Counts.CellsWritten, raw)
			}
			for i, region := range r.Regions {
				if !r.Sample && region.Rows != s.Regions[i].Rows {
					t.Errorf("region %d has %d rows, in the run %d", i, region.Rows, s.Regions[i].Rows)
				}
			}
		})
	}
}

// shuffled brings records in another order, so that no query key's rows stand together.
func shuffled(input []byte) []byte {
	records := bytes.SplitAfter(bytes.TrimSuffix(input, []byte(sample.RecordDelimiter)), []byte(sample.RecordDelimiter))
	last := len(records) - 1
	records[last] = append(records[last], sample.RecordDelimiter...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return bytes.Join(records, nil)
}

// TestSampleOfCompressedFiles: what is read ahead of them doesn't count.
func TestSampleOfCompressedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it compresses 30 MB")
	}
	dir := jobdir.Of(t, jobdir.CheckJob, nil)
	for i := range 8 {
		var b bytes.Buffer
		zip, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sample.Check(zip, sample.Options{Rows: 20_000, Seed: uint64(i)}), zip.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in/2026-11-20/part-%d.gz", i+1)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "in/2026-11-20/part-0")); err != nil {
		t.Fatal(err)
	}
	r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: 8000})
	if !r.Sample || r.RowsRead != 8000 || math.Abs(float64(r.Rows)/160_000-1) > 0.1 {
		t.Errorf("%d of about %d rows read: %s", r.RowsRead, r.Rows, r.How)
	}
	if r.Suggestion.BySource.Bytes != 4*r.InputBytes || !strings.Contains(r.Suggestion.Reason, "when decompressed") {
		t.Errorf("regions by %+v of %d compressed bytes: %s", r.Suggestion.BySource, r.InputBytes, r.Suggestion.Reason)
	}
}

// TestFewPlaces: a small input, or one that can't be entered in the middle, is read whole.
func TestFewPlaces(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 6) + id"), jobdir.Numbers(5000))
	if r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: 100}); r.Sample || r.Rows != 5000 || !strings.HasPrefix(r.How, "all of it") {
		t.Errorf("sample %v, %d rows: %s", r.Sample, r.Rows, r.How)
	}
}

// near allows for a count of different values that is not exact.
func near(got, want float64) bool { return math.Abs(got/want-1) < 0.03 }

// TestPlanWeighsQueries: exact figures of a made table: 2,000 rows, 200 users, 4 cities.
func TestPlanWeighsQueries(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 4) + pad(user, 6) + id"), jobdir.Numbers(2000))
	r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Expression: "pad(city, 2) + pad(user, 6) + id", SplitsFile: filepath.Join(dir, "splits"), Page: filepath.Join(dir, "plan.html")})
	byUser, both, byCity := r.Queries[0], r.Queries[1], r.Queries[2]
	if byUser.Scans != 1 || !near(byUser.Returned, 10) || !near(byUser.Read, 10) || !near(byUser.Daily.Rows, 10_000) || byUser.Prefix != "salt(user, 4) + pad(user, 6)" {
		t.Errorf("by user: %+v", byUser)
	}
	if !near(both.Returned, 2.5) || !near(both.Read, 10) {
		t.Errorf("by user and city: %+v", both)
	}
	if !byCity.Full || byCity.Scans != 4 || byCity.Read != 2000 || byCity.Bytes != float64(r.RawBytes) {
		t.Errorf("by city: %+v", byCity)
	}
	q := r.Query
	if q.Keys != 200 || !q.Exact || q.Rows.Mean != 10 || q.Rows.Max != 10 || q.Scans != 1 || len(q.Top) != 10 || q.Top[0] != (stats.Frequency{Key: "0", Rows: 10}) {
		t.Errorf("query %+v", q)
	}
	if r.KeyBytes != (stats.KeyBytes{Min: 7, Max: -1, Shortest: 17, Longest: 17, Mean: 17}) || r.Skew > 1.5 || len(r.Splits) != 3 || r.Repeats.Keys != 2000 {
		t.Errorf("key bytes %+v, skew %.2f, splits %v, repeats %+v", r.KeyBytes, r.Skew, r.Splits, r.Repeats)
	}
	other := r.Compared
	if other == nil || other.Key != "pad(city, 2) + pad(user, 6) + id" || !other.Query.Full || other.Queries[2].Full || !near(other.Queries[2].Read, 500) {
		t.Fatalf("the other key: %+v", other)
	}
	if !slices.Contains(found(other), "query-prefix") {
		t.Errorf("checks of the other key: %v", found(other))
	}
	splits, err := os.ReadFile(filepath.Join(dir, "splits"))
	if err != nil || string(splits) != "1\n2\n3\n" {
		t.Errorf("splits %q, %v", splits, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "plan.html"))
	if err != nil || bytes.Count(page, []byte("<svg ")) < 8 || !bytes.Contains(page, []byte("Two keys side by side")) {
		t.Errorf("a page of %d bytes, %v", len(page), err)
	}
}

// TestPlanComparesJobs: another job file, with another input.
func TestPlanComparesJobs(t *testing.T) {
	a := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 6) + id"), jobdir.Numbers(2000))
	b := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "random_salt(5) + pad(user, 6) + id"), jobdir.Numbers(1000))
	r := plan.MustPlan(t, jobtest.Check(t, a, "out"), plan.PlanOptions{Job: jobtest.Check(t, b, "out")})
	if r.Rows != 2000 || r.Compared.Rows != 1000 || r.Query.Scans != 1 || r.Compared.Query.Scans != 5 {
		t.Errorf("%d rows and %d scans beside %d and %d", r.Rows, r.Query.Scans, r.Compared.Rows, r.Compared.Query.Scans)
	}
	if q := r.Compared.Queries[0]; !near(q.Read, 10) || q.Daily.Scans != 5000 {
		t.Errorf("after a random salt: %+v", q)
	}
	if !slices.Contains(found(r.Compared), "key-random-salt") {
		t.Errorf("checks %v", found(r.Compared))
	}
}

// TestPlanFinds makes data that each check by data is there for.
func TestPlanFinds(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		key   string
		input string
		now   time.Time
		want  string
		not   string
	}{
		"in the order of creation": {"id + user", string(jobdir.Numbers(300)), now, "key-order", ""},
		"spread":                   {"md5(id, 4) + id", string(jobdir.Numbers(300)), now, "key-width", "key-order"},
		"a salt in front":          {"salt(id, 10) + id", string(jobdir.Numbers(300)), now, "", "key-order"},
		"the same key twice":       {"salt(user, 3) + pad(user, 10)", string(jobdir.Numbers(300)), now, "key-repeated", ""},
		"reversed, two widths":     {"reverse(user) + '-' + id", string(jobdir.Numbers(300)), now, "key-reverse", "key-turned-unfixed"},
		"reversed, one width":      {"reverse(id) + user", string(jobdir.Numbers(300)), now, "key-turned-unfixed", "key-reverse"},
		"a reversed part of one":   {"upper(reverse(user)) + '-' + id", string(jobdir.Numbers(300)), now, "key-reverse", "key-turned-unfixed"},
		"beyond a number's range":  {"int32(desc(id)) + user", "3|7|c\n", now, "rejects", "key-complement"},
		"beyond the base":          {"desc(id, 100) + '-' + user", string(jobdir.Numbers(300)), now, "key-complement", ""},
		"a bad record":             {"salt(user, 3) + id", "1|2|c\n3|4\n", now, "rejects", ""},
		"a user with 60 rows":      {"salt(user, 3) + id", strings.ReplaceAll(string(jobdir.Numbers(60)), "|1|", "|0|") + strings.Repeat("7|0|c\n", 45), now, "query-rows", ""},
		"before its day":           {"salt(user, 3) + id", string(jobdir.Numbers(30)), now.AddDate(0, 0, -1), "cell-future", ""},
		"short":                    {"salt(user, 3) + pad(user, 4)", string(jobdir.Numbers(300)), now, "key-short", ""},
		"long":                     {"salt(user, 3) + pad(id, 120)", string(jobdir.Numbers(300)), now, "key-long", ""},
		"of two widths":            {"salt(user, 3) + '-' + user", string(jobdir.Numbers(300)), now, "key-width", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := strings.Replace(fmt.Sprintf(jobdir.NumbersJob, c.key), "query: [user]\n", "", 1)
			if strings.HasPrefix(c.key, "salt(user") {
				job = fmt.Sprintf(jobdir.NumbersJob, c.key)
			}
			r := plan.MustPlan(t, jobtest.Check(t, jobdir.Of(t, job, []byte(c.input)), "out"), plan.PlanOptions{Now: c.now})
			if c.want != "" && !slices.Contains(found(r), c.want) || c.not != "" && slices.Contains(found(r), c.not) {
				t.Errorf("found %v, want %s and not %s", found(r), c.want, c.not)
			}
		})
	}
}

// BenchmarkPlan is a full plan, beside BenchmarkRun.
func BenchmarkPlan(b *testing.B) {
	dir := jobdir.Check(b, jobdir.CheckJob, 200_000)
	j := jobtest.Check(b, dir, "out")
	b.SetBytes(plan.MustPlan(b, j, plan.PlanOptions{}).InputBytes)
	b.ReportAllocs()
	for b.Loop() {
		plan.MustPlan(b, j, plan.PlanOptions{})
	}
}

// TestPlanWide: a wide table's cells and files are those of a run, but for records that come twice.
func TestPlanWide(t *testing.T) {
	for name, c := range jobdir.WideCases {
		t.Run(name, func(t *testing.T) {
			dir := jobdir.Wide(t, c.Job, 30_000)
			j := jobtest.Wide(t, dir, filepath.Join(dir, "out"))
			j.HFile.SliceSize = 0
			r := plan.MustPlan(t, j, plan.PlanOptions{})
			s := runtest.Must(t, j, options.Options{WorkDir: dir})
			var bytes int64
			for _, f := range s.Files {
				bytes += f.Bytes
			}
			if r.Rows != s.Counts.Written+s.Counts.Duplicates || r.Rejected != s.Counts.Rejected || r.Repeats.Rows != s.Counts.Duplicates {
				t.Errorf("%d records, %d rejected, %d repeated; a run has %+v", r.Rows, r.Rejected, r.Repeats.Rows, s.Counts)
			}
			off := float64(r.HFiles.Bytes)/float64(bytes) - 1
			t.Logf("estimated %d, written %d bytes: %+.2f%%", r.HFiles.Bytes, bytes, 100*off)
			if math.Abs(off) > 0.1 {
				t.Errorf("off by %+.1f%%", 100*off)
			}
		})
	}
}

// TestSpillForecast: what plan says of the spill is what a run spills, whether its runs stay as they are or are
// compressed.
func TestSpillForecast(t *testing.T) {
	if testing.Short() {
		t.Skip("it sorts 100,000 rows")
	}
	dir := jobdir.Check(t, jobdir.CheckJob, 100_000)
	for _, c := range []struct {
		memory, available int64 // 0: the machine's
		from, to          float64
	}{
		{16 << 20, 0, 0.95, 1.05},
		{32 << 20, 0, 0.95, 1.05},
		{16 << 20, 1, 0.85, 1.15}, // compressed
		{16 << 20, 100 << 20, 0.85, 1.15},
		{512 << 20, 0, 0, 0},
	} {
		o := options.Options{Memory: c.memory, WorkDir: t.TempDir()}
		if c.available > 0 {
			o.Available = func() int64 { return c.available }
		}
		r, err := plan.Run(context.Background(), jobtest.Check(t, dir, filepath.Join(dir, "out")), o, plan.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(t.TempDir(), "out")), o)
		f, spilled := &r.Forecast, s.Sort.Spilled
		t.Logf("%d MiB: needs %d, %d forecast in %d runs, %d spilled in %d runs", c.memory>>20, f.SortNeeds, f.Spill, f.Runs, spilled, s.Sort.Runs)
		// Whether a worker fills its memory once more depends on which of them read the last splits: one run more or less.
		oneRun := max(f.Spill, spilled) / max(int64(f.Runs), 1)
		if part := float64(f.Spill) / float64(max(spilled, 1)); (part < c.from || part > c.to) && max(f.Spill-spilled, spilled-f.Spill) > oneRun {
			t.Errorf("%d MiB with %d available: %d forecast, %d spilled: %.2f", c.memory>>20, c.available, f.Spill, spilled, part)
		}
		if (f.SortNeeds > f.SortMemory) != (spilled > 0) {
			t.Errorf("%d MiB: it needs %d of %d, and spilled %d", c.memory>>20, f.SortNeeds, f.SortMemory, spilled)
		}
		if (f.Memory > 0) != (spilled > 0) || (s.Sort.Memory > 0) != (spilled > 0) {
			t.Errorf("%d MiB: plan names %d bytes, and run %d, to avoid a spill of %d", c.memory>>20, f.Memory, s.Sort.Memory, spilled)
		}
		if c.memory != 32<<20 {
			continue
		}
		for _, enough := range []int64{f.Memory, s.Sort.Memory} {
			for _, memory := range []int64{enough, enough * 2 / 3} {
				s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(t.TempDir(), "out")), options.Options{Memory: memory, WorkDir: t.TempDir()})
				if (s.Sort.Spilled > 0) != (memory < enough) {
					t.Errorf("%d bytes are named, and with %d %d are spilled", enough, memory, s.Sort.Spilled)
				}
			}
		}
	}
}

// TestPlanKnowsTheLimitOfFiles: plan shows as many files as a run makes under the site's limit, and finds too many.
func TestPlanKnowsTheLimitOfFiles(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 8000, sample.Options{Skew: 90})
	plan := func(j *jobfile.Job, limit string) *plan.PlanReport {
		r, err := plan.Run(t.Context(), j, options.Options{Properties: map[string]string{load.MaxFilesProperty: limit}, WorkDir: dir}, plan.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
	for limit, want := range map[string]int{"32": sorting.MaxSlices, "8": 8} {
		if r := plan(j, limit); r.Regions[jobdir.HotRegion].Files != want || slices.Contains(found(r), "region-files") {
			t.Errorf("limit %s: %d files, %v", limit, r.Regions[jobdir.HotRegion].Files, found(r))
		}
	}
	j.HFile.MaxSize = 300 << 10
	if r := plan(j, "8"); r.Regions[jobdir.HotRegion].Files <= 8 || !slices.Contains(found(r), "region-files") {
		t.Errorf("with small files: %d files, %v", r.Regions[jobdir.HotRegion].Files, found(r))
	}
}

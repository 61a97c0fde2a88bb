package plan_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/run/summary"
)

// TestPlanOfParquet: a sample of a file's row groups, compared with a run.
func TestPlanOfParquet(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a job")
	}
	job := strings.Replace(strings.Replace(jobdir.CheckJob, "  record_delimiter: '\\x10'\n", "", 1), "input:\n", "input:\n  format: parquet\n", 1)
	dir := jobdir.Of(t, job, nil)
	jobdir.CheckParquet(t, filepath.Join(dir, "in/2026-11-20/part-0"), 16, 4000)
	r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: 6400})
	s := runtest.Must(t, jobtest.Check(t, dir, "out"), options.Options{WorkDir: dir})
	var size int64
	for _, f := range s.Files {
		size += f.Bytes
	}
	off := float64(r.HFiles.Bytes)/float64(size) - 1
	t.Logf("%s: estimated %d, written %d bytes: %+.2f%%", r.How, r.HFiles.Bytes, size, 100*off)
	if !r.Sample || r.RowsRead != 6400 || math.Abs(float64(r.Rows)/64_000-1) > 0.05 || math.Abs(off) > 0.1 {
		t.Errorf("%d of %d rows read, off by %+.1f%%", r.RowsRead, r.Rows, 100*off)
	}
}

// off is how far an estimate is from the truth, as a part of it.
func off(got, want int64) float64 { return float64(got)/float64(want) - 1 }

// writtenBytes are those of a run's HFiles and of their KeyValues.
func writtenBytes(s *summary.Summary) (files, raw int64) {
	for _, f := range s.Files {
		files += f.Bytes
		raw += f.Raw
	}
	return files, raw
}

// scatteredRows are rows of customers in no order, each with a long value that is the customer's; of some there is one
// row.
func scatteredRows(customers, each, lone int) []byte {
	var rows []string
	row := func(customer int) {
		sum := sha256.Sum256(fmt.Append(nil, customer))
		more := sha256.Sum256(sum[:])
		rows = append(rows, fmt.Sprintf("%d|%s%s", customer, hex.EncodeToString(sum[:]), hex.EncodeToString(more[:])))
	}
	for c := range customers {
		for range each {
			row(c)
		}
	}
	for i := range lone {
		row(customers + i)
	}
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	for i := range rows {
		rows[i] = fmt.Sprintf("%08d|%s\n", i, rows[i])
	}
	return []byte(strings.Join(rows, ""))
}

// TestSampleOfScatteredRows: a sample has few of a query key's rows, which resemble each other in the table.
func TestSampleOfScatteredRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs jobs")
	}
	for name, c := range map[string]struct {
		customers, each, lone int
		sample                int64
		within                float64
	}{
		"20 rows each, one in 20 read":  {4000, 20, 0, 4000, 0.2},
		"20 rows each, one in 80 read":  {4000, 20, 0, 1000, 0.5}, // without the extrapolation it is four times as much
		"half of the rows have company": {2000, 20, 40_000, 4000, 0.1},
		"all alone":                     {0, 0, 40_000, 2000, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "md5(user, 8) + id"), scatteredRows(c.customers, c.each, c.lone))
			r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: c.sample})
			s := runtest.Must(t, jobtest.Check(t, dir, "out"), options.Options{WorkDir: dir})
			files, _ := writtenBytes(s)
			t.Logf("estimated %d, written %d: %+.1f%%", r.HFiles.Bytes, files, 100*off(r.HFiles.Bytes, files))
			if !r.Sample || math.Abs(off(r.HFiles.Bytes, files)) > c.within || r.HFiles.Scattered != (c.customers > 0) {
				t.Errorf("sample %v, scattered %v, off by %+.1f%%", r.Sample, r.HFiles.Scattered, 100*off(r.HFiles.Bytes, files))
			}
		})
	}
}

// TestSampleOfVaryingRows: rows are short at first and long at the end, so that a byte of the input is not as many rows
// everywhere.
func TestSampleOfVaryingRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs jobs")
	}
	var b bytes.Buffer
	for i := range 100_000 {
		city := "c"
		if i >= 90_000 {
			sum := sha256.Sum256(fmt.Append(nil, i))
			city = strings.Repeat(hex.EncodeToString(sum[:]), 12)
		}
		fmt.Fprintf(&b, "%08d|%d|%s\n", i, i/10, city)
	}
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "md5(user, 8) + id"), b.Bytes())
	r := plan.MustPlan(t, jobtest.Check(t, dir, "out"), plan.PlanOptions{Sample: 6400})
	s := runtest.Must(t, jobtest.Check(t, dir, "out"), options.Options{WorkDir: dir})
	files, raw := writtenBytes(s)
	t.Logf("%d rows, %d bytes of KeyValues (%d), %d of HFiles (%d)", r.Rows, r.RawBytes, raw, r.HFiles.Bytes, files)
	// One place of 64 has both sorts of rows.
	if !r.Sample || math.Abs(off(r.Rows, 100_000)) > 0.15 || math.Abs(off(r.RawBytes, raw)) > 0.1 || math.Abs(off(r.HFiles.Bytes, files)) > 0.1 {
		t.Errorf("sample %v, %d rows (%+.1f%%), KeyValues off by %+.1f%%, HFiles by %+.1f%%", r.Sample, r.Rows, 100*off(r.Rows, 100_000),
			100*off(r.RawBytes, raw), 100*off(r.HFiles.Bytes, files))
	}
	var rows int64
	for _, region := range r.Regions {
		rows += region.Rows
	}
	if rows != r.Rows || !near(r.KeyBytes.Mean, 16) {
		t.Errorf("regions have %d of %d rows; keys %+v", rows, r.Rows, r.KeyBytes)
	}
}

// TestPlanWeighsHotPrefixes: half of the rows have one user, and the query has a column after the prefix. A query reads
// all rows of its user, and most query keys are the hot one's.
func TestPlanWeighsHotPrefixes(t *testing.T) {
	var b bytes.Buffer
	for i := range 10_000 { // 5,000 of user H, each with a city of its own; 5,000 users with one row
		user := "H"
		if i%2 == 1 {
			user = fmt.Sprint(i)
		}
		fmt.Fprintf(&b, "%08d|%s|%d\n", i, user, i)
	}
	for _, key := range []string{"md5(user, 4) + '-' + user + '-' + id + city", "pad(user, 6) + id + city"} {
		job := strings.Replace(fmt.Sprintf(jobdir.NumbersJob, key), "query: [user]\n", "query: [user, city]\n", 1)
		r := plan.MustPlan(t, jobtest.Check(t, jobdir.Of(t, job, b.Bytes()), filepath.Join(t.TempDir(), "out")), plan.PlanOptions{})
		q := r.Queries[1]
		if q.Returned != 1 || q.Read != (5000*5000+5000)/10_000.0 || q.InSample {
			t.Errorf("%s: by user and city: %+v", key, q)
		}
		if one := r.Queries[0]; one.Returned != 10_000/5001.0 || one.Read != one.Returned {
			t.Errorf("%s: by user: %+v", key, one)
		}
		if q.Returned != r.Query.Rows.Mean {
			t.Errorf("%s: %g rows a query here and %g there", key, q.Returned, r.Query.Rows.Mean)
		}
	}
}

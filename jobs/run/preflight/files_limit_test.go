package preflight_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestInputTooLargeForItsFiles: an input that is far too large for files of max_size is refused before it is read.
func TestInputTooLargeForItsFiles(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{})
	j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
	j.HFile.MaxSize, j.Load = 512, true
	o := options.Options{NoLoad: true, WorkDir: t.TempDir(), Failpoint: func(p options.Point) { t.Errorf("the run came to %s", p) }}
	_, err := run.Job(t.Context(), nil, j, o)
	if failure.CodeOf(err) != errcode.FilesLimit {
		t.Errorf("%v", err)
	}
}

// shortValues is a job whose cells are many times larger than their text, because each has the row key.
const shortValues = `table: ns:t
family: f
input:
  path: in/${date}
  columns: [id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o]
  field_delimiter: ','
  record_delimiter: '\n'
rowkey: id
regions: {from: splits, splits: []}
output: out/${date}
`

// TestTooManyFilesAreForetold: an input that is too large for its files, but not by far, is warned of before the sort,
// and refused after it; one that fits is neither. The same goes for short values and for Parquet, whose text and files
// say little of how large their cells are.
func TestTooManyFilesAreForetold(t *testing.T) {
	text := filepath.Join(jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{}), "check.yaml")
	var short []byte
	for i := range 1000 {
		short = fmt.Appendf(short, "%020d"+strings.Repeat(",1", 15)+"\n", i)
	}
	narrow := filepath.Join(jobdir.Of(t, shortValues, short), "check.yaml")
	for _, c := range []struct {
		job      string
		size     int64
		foretold bool
	}{{text, 20 << 10, true}, {text, 200 << 10, false},
		{narrow, int64(len(short)) * 6 / 10, true}, {narrow, int64(len(short)) * 2, false},
		{"../../examples/check-parquet.yaml", 1 << 10, true}, {"../../examples/check-parquet.yaml", 20 << 10, false}} {
		j, err := jobfile.Read(c.job, jobfile.ReadOptions{Date: jobdir.Date})
		if err != nil {
			t.Fatal(err)
		}
		j.Output, j.HFile.MaxSize, j.Load = filepath.Join(t.TempDir(), "out"), c.size, true
		var warned, sorted atomic.Bool // the goroutines that write use them side by side
		o := options.Options{NoLoad: true, WorkDir: t.TempDir(), Properties: map[string]string{load.MaxFilesProperty: "8"}}
		o.Say = func(text string) {
			if !sorted.Load() && strings.Contains(text, "judging by its first records") {
				warned.Store(true)
			}
		}
		o.Failpoint = func(p options.Point) {
			if p == options.Sorted {
				sorted.Store(true)
			}
		}
		_, err = run.Job(t.Context(), nil, j, o)
		if warned.Load() != c.foretold || !sorted.Load() || (failure.KindOf(err) == failure.Refused) != c.foretold {
			t.Errorf("%s, max_size %s: warned %v, %v", c.job, bytesize.Format(c.size), warned.Load(), err)
		}
	}
}

package jobdir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
)

// CheckJob is the job of the check table, whose input is in the folder in.
const CheckJob = `table: tinawang:check
family: f
input:
  path: in/${date}
  columns: [id, check_id, rule_no, rule_type, rule_desc, hit_flag, deleted, score, created_at, updated_at,
            operator, city, result, amount, ext_info, version, comments, remark]
  record_delimiter: '\x10'
rowkey: salt(check_id, 10) + md5(check_id) + id
query: [check_id]
regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 10GiB}
output: out/${date}
`

// SlicedJob is CheckJob with slices so small that a few thousand rows make several.
var SlicedJob = strings.Replace(CheckJob, "max_size: 10GiB", "max_size: 10GiB, slice_size: 100kB", 1)

// SpillingRows are enough for more than 8 MB of input: with options.MinMemory they are spilled.
const SpillingRows = 70_000

// HotRegion is the region of most rows of Skewed.
const HotRegion = int(sample.HotSalt - '0')

// Check makes a folder with check.yaml, which is CheckJob or a job like it, and one night's rows in four files.
func Check(t testing.TB, job string, rows int) string {
	t.Helper()
	return checkFiles(t, job, 4, sample.Options{Rows: rows})
}

// Skewed is Check in two files, with a percentage of the rows in one region.
func Skewed(t testing.TB, job string, rows int, o sample.Options) string {
	t.Helper()
	o.Rows = rows
	return checkFiles(t, job, 2, o)
}

func checkFiles(t testing.TB, job string, files int, o sample.Options) string {
	t.Helper()
	all := map[string]string{"check.yaml": job}
	o.Rows /= files
	for i := range files {
		var b bytes.Buffer
		o.Seed = uint64(i)
		if err := sample.Check(&b, o); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("%s/part-m-%05d", night, i)] = b.String()
	}
	return testfs.Tree(t, all)
}

// Parts are the input files of a folder made by Check.
func Parts(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, night, "part-m-*"))
	if err != nil || len(all) < 2 {
		t.Fatal(all, err)
	}
	return all
}

// RejectsEvery spoils every n-th record of a folder made by Check.
func RejectsEvery(t testing.TB, dir string, n int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, night, "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		records := bytes.SplitAfter(testfs.Read(t, name), []byte{0x10})
		for i := n / 2; i < len(records); i += n {
			records[i] = append([]byte("one too many\x01"), records[i]...)
		}
		if err := os.WriteFile(name, bytes.Join(records, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

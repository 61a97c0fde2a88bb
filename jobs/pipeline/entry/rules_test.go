package entry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// cellsIn lists the cells of an output: row family:qualifier @timestamp =value, or =0x and hex where it is no plain
// text.
func cellsIn(t testing.TB, output string) []string {
	t.Helper()
	d, err := hfiles.OpenDirectory(storage.Local, output)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	err = d.Scan(context.Background(), nil, nil, func(c *cell.Cell) error {
		value := string(c.Value)
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			value = "0x" + hex.EncodeToString(c.Value)
		}
		all = append(all, fmt.Sprintf("%s %s:%s @%d =%s", c.Row, c.Family, c.Qualifier, c.Timestamp, value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRules runs rules over records; the cells are computed by hand.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		rules, input string
		cells        []string
		counts       counts.RowCounts // without cells and columns
		rejects      string
	}{
		"none": {"", "1|x|\\N\n2||y\n", []string{"1 f:a @1000 =x", "1 f:id @1000 =1", "2 f:a @1000 =", "2 f:b @1000 =y", "2 f:id @1000 =2"},
			counts.RowCounts{Read: 2, Written: 2}, ""},
		"renamed, moved, skipped": {"columns_map: {id: {skip: true}, a: {to: 'g:z'}, b: {to: 'y'}}", "1|x|y\n",
			[]string{"1 f:y @1000 =y", "1 g:z @1000 =x"}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"constants": {"columns_map: {src: {constant: ora}, n: {constant: '7', type: int32, store: binary, to: 'a:n'}}\ncells: [a, src, n]", "1|x|y\n2|\\N|\n",
			[]string{"1 a:n @1000 =0x00000007", "1 f:a @1000 =x", "1 f:src @1000 =ora", "2 a:n @1000 =0x00000007", "2 f:src @1000 =ora"},
			counts.RowCounts{Read: 2, Written: 2}, ""},
		"a row of a constant alone": {"columns_map: {src: {constant: ''}}\ncells: [a, src]", "1|\\N|y\n", []string{"1 f:src @1000 ="}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"null: empty":               {"columns_map: {a: {null: empty}, b: {null: omit}, id: {skip: true}}", "1|\\N|\\N\n", []string{"1 f:a @1000 ="}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"null: empty of a number": {"columns_map: {a: {null: empty, type: int32, store: binary}}\ncells: [a]", "1|\\N|\n2|5|\n",
			[]string{"1 f:a @1000 =", "2 f:a @1000 =0x00000005"}, counts.RowCounts{Read: 2, Written: 2}, ""},
		"null: error": {"columns_map: {a: {null: error}}\ncells: [b]", "1|x|y\n2|\\N|z\n", []string{"1 f:b @1000 =y"},
			counts.RowCounts{Read: 2, Written: 1, Rejected: 1}, `"column":"a","reason":"null, and null: error"`},
		"checked text": {"columns_map: {a: {type: int32}, b: {type: timestamp}}\ncells: [a, b]", "1|+007|2026-11-20 01:02:03.0\n2|x|\n3|1|noon\n",
			[]string{"1 f:a @1000 =+007", "1 f:b @1000 =2026-11-20 01:02:03.0"}, counts.RowCounts{Read: 3, Written: 1, Rejected: 2}, `"column":"a","reason":"not a whole number"`},
		"checked though skipped": {"columns_map: {a: {type: int32, skip: true}}\ncells: [b]", "1|x|y\n2|3|z\n", []string{"2 f:b @1000 =z"},
			counts.RowCounts{Read: 2, Written: 1, Rejected: 1}, `"column":"a","reason":"not a whole number"`},
		"binary numbers": {"columns_map: {a: {type: int64, store: binary}, b: {type: decimal, store: binary}}\ncells: [a, b]", "1|-1|1.50\n2|256|-129\n",
			[]string{"1 f:a @1000 =0xffffffffffffffff", "1 f:b @1000 =0x0000000200" + "96", "2 f:a @1000 =0x0000000000000100", "2 f:b @1000 =0x00000000ff7f"},
			counts.RowCounts{Read: 2, Written: 2}, ""},
		"binary floats": {"columns_map: {a: {type: float32, store: binary}, b: {type: float64, store: binary}}\ncells: [a, b]", "1|1.5|-2\n",
			[]string{"1 f:a @1000 =0x3fc00000", "1 f:b @1000 =0xc000000000000000"}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"binary others": {"columns_map: {a: {type: boolean, store: binary}, b: {type: hex, store: binary}}\ncells: [a, b]", "1|Y|00ff\n2|false|\n",
			[]string{"1 f:a @1000 =0xff", "1 f:b @1000 =0x00ff", "2 f:a @1000 =0x00", "2 f:b @1000 ="}, counts.RowCounts{Read: 2, Written: 2}, ""},
		"binary moments": {"columns_map: {a: {type: timestamp, zone: Asia/Shanghai, store: binary}, b: {type: date, zone: UTC, store: binary}}\ncells: [a, b]",
			"1|1970-01-01 08:00:00.255|1970-01-02\n", []string{"1 f:a @1000 =0x00000000000000ff", "1 f:b @1000 =0x0000000005265c00"}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"the key is the text's": {"columns_map: {id: {type: int32, store: binary}}\ncells: [id]", "17|x|y\n", []string{"17 f:id @1000 =0x00000011"}, counts.RowCounts{Read: 1, Written: 1}, ""},
		"rows' own timestamps": {"timestamp: column:a\ncolumns_map: {a: {type: timestamp, zone: UTC}}\ncells: [b]",
			"1|1970-01-01 00:00:02.0|x\n2|1970-01-01T00:00:00.003+00:00|y\n3|\\N|z\n4|1970-01-01|z\n5|1969-12-31|z\n6|soon|z\n",
			[]string{"1 f:b @2000 =x", "2 f:b @3 =y"}, counts.RowCounts{Read: 6, Written: 2, Rejected: 4}, `"column":"a","reason":"null, and the timestamp comes from it"`},
		"timestamps in seconds": {"timestamp: column:a\ncolumns_map: {a: {type: timestamp, format: seconds}}\ncells: [b]", "1|1|x\n2|253402300800|y\n", []string{"1 f:b @1000 =x"},
			counts.RowCounts{Read: 2, Written: 1, Rejected: 1}, `"reason":"a timestamp after the year 9999; is it in another unit`},
		"timestamps of a long": {"timestamp: column:a\ncolumns_map: {a: {type: int64}}\ncells: [b]", "1|77|x\n2|0|y\n", []string{"1 f:b @77 =x"},
			counts.RowCounts{Read: 2, Written: 1, Rejected: 1}, `"reason":"not after 1970-01-01T00:00:00Z`},
		"the last of a row wins, whatever its timestamp": {"timestamp: column:a\ncolumns_map: {a: {type: int64}}\ncells: [b]", "1|9|x\n1|7|y\n2|5|z\n2|5|z\n2|6|z\n",
			[]string{"1 f:b @7 =y", "2 f:b @6 =z"}, counts.RowCounts{Read: 5, Written: 2, Duplicates: 3, Differing: 2}, ""},
		"filter": {"filter: a = 'x' and b > 3", "1|x|4\n2|x|3\n3|y|9\n4|\\N|9\n5|x|\\N\n", []string{"1 f:a @1000 =x", "1 f:b @1000 =4", "1 f:id @1000 =1"},
			counts.RowCounts{Read: 5, Written: 1, Filtered: 4}, ""},
		"a filter that can't judge": {"filter: b > 3\ncells: [a]", "1|x|4\n2|x|much\n", []string{"1 f:a @1000 =x"},
			counts.RowCounts{Read: 2, Written: 1, Rejected: 1}, `"column":"b","reason":"the filter compares numbers, and this is not a decimal number"`},
		"what is filtered may be wrong elsewhere": {"filter: a = 'x'\ncolumns_map: {b: {type: int32}}\ncells: [b]", "1|x|4\n2|y|much\n\\N|y|4\n", []string{"1 f:b @1000 =4"},
			counts.RowCounts{Read: 3, Written: 1, Filtered: 2}, ""},
		"filtered duplicates": {"filter: b = '1'\ncells: [a]", "1|x|1\n1|y|2\n1|x|1\n", []string{"1 f:a @1000 =x"}, counts.RowCounts{Read: 3, Written: 1, Filtered: 1, Duplicates: 1}, ""},
		"all together": {"timestamp: column:b\nfilter: a is not null\ncolumns_map: {a: {type: int16, store: binary, to: 'g:q'}, b: {type: int64}, k: {constant: c}}\ncells: [a, k]",
			"1|2|5\n2|\\N|6\n3|-2|7\n4|99999|8\n", []string{"1 f:k @5 =c", "3 f:k @7 =c", "1 g:q @5 =0x0002", "3 g:q @7 =0xfffe"}, counts.RowCounts{Read: 4, Written: 2, Filtered: 1, Rejected: 1},
			`"column":"a","reason":"number outside int16"`},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobtest.Rules(t, c.rules, c.input)
			s := runtest.Must(t, j, options.Options{})
			out := filepath.Join(j.Dir, j.Output)
			slices.Sort(c.cells)
			got := cellsIn(t, out)
			slices.Sort(got)
			if !slices.Equal(got, c.cells) {
				t.Errorf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.cells, "\n"))
			}
			b := s.Counts
			if b.CellsWritten != int64(len(c.cells)) || b.CellsWritten+b.Nulls != b.Written*int64(b.Columns) {
				t.Errorf("counts %v", b)
			}
			b.CellsWritten, b.Nulls, b.Columns = 0, 0, 0
			if b != c.counts {
				t.Errorf("counts %v, want %v", b, c.counts)
			}
			rejects, err := os.ReadFile(filepath.Join(out, manifest.RejectsDir, "rejects.jsonl"))
			if c.rejects != "" && (err != nil || !strings.Contains(string(rejects), c.rejects)) {
				t.Errorf("rejects %s, %v; want %s", rejects, err, c.rejects)
			}
			wantVerified(t, j, s)
			plan, err := plan.Run(context.Background(), j, options.Options{}, plan.PlanOptions{})
			if err != nil || plan.Rejected != c.counts.Rejected || plan.Filtered != c.counts.Filtered || plan.Rows != c.counts.Written+c.counts.Duplicates {
				t.Errorf("plan: %d rows, %d rejected, %d filtered, %v", plan.Rows, plan.Rejected, plan.Filtered, err)
			}
		})
	}
}

// wantVerified wants what a job has written to be what its source says, again.
func wantVerified(t *testing.T, j *jobfile.Job, s *summary.Summary) {
	t.Helper()
	r, err := verify.Job(context.Background(), j, options.Options{}, false)
	if err != nil || r.Cells != s.Counts.CellsWritten || r.Rejected != s.Counts.Rejected || r.Filtered != s.Counts.Filtered {
		t.Errorf("verify the job: %d cells, %d rejected, %d filtered, %v", r.Cells, r.Rejected, r.Filtered, err)
	}
	if r, err := verify.Dir(context.Background(), filepath.Join(j.Dir, j.Output), options.Options{}); err != nil || r.Digest != s.Digest {
		t.Errorf("verify the directory: %v", err)
	}
}

// TestStrictDuplicatesSeeTimestamps: two records that differ in nothing but the timestamp differ.
func TestStrictDuplicatesSeeTimestamps(t *testing.T) {
	rules := "timestamp: column:a\ncolumns_map: {a: {type: int64}}\ncells: [b]\nduplicates: error\n"
	runtest.Must(t, jobtest.Rules(t, rules, "1|5|x\n1|5|x\n"), options.Options{})
	_, err := run.Job(context.Background(), nil, jobtest.Rules(t, rules, "1|5|x\n1|6|x\n"), options.Options{})
	if failure.CodeOf(err) != errcode.Duplicates {
		t.Errorf("error %v", err)
	}
}

// TestFiltersOfOutputs: of several outputs each filters for itself, and a record that one of them can't use goes
// into none.
func TestFiltersOfOutputs(t *testing.T) {
	dir := t.TempDir()
	job := `input: {path: in.txt, columns: [id, a, b], field_delimiter: '|', max_rejects: 9}
family: f
timestamp: 1000
regions: {from: splits, splits: ['5']}
hfile: {encoding: fast_diff}
outputs:
- {table: t1, rowkey: id, output: out/1, filter: "a = 'x'", cells: [b], columns_map: {b: {type: int32}}}
- {table: t2, rowkey: id, output: out/2, filter: "a = 'y'", cells: [b]}
- {table: t3, rowkey: id, output: out/3, cells: [b]}
`
	for name, text := range map[string]string{"job.yaml": job, "in.txt": "1|x|1\n2|y|two\n3|z|3\n4|x|four\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := jobfile.Read(filepath.Join(dir, "job.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := runtest.Must(t, j, options.Options{})
	want := [][]string{{"1 f:b @1000 =1"}, {"2 f:b @1000 =two"}, {"1 f:b @1000 =1", "2 f:b @1000 =two", "3 f:b @1000 =3"}}
	for i, out := range s.Outputs {
		if got := cellsIn(t, filepath.Join(dir, "out", fmt.Sprint(i+1))); !slices.Equal(got, want[i]) {
			t.Errorf("table %d has %q", i+1, got)
		}
		if b := out.Counts; b.Read != 4 || b.Rejected != 1 || b.Written != int64(len(want[i])) || b.Filtered != 3-b.Written {
			t.Errorf("table %d: %v", i+1, b)
		}
	}
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Filtered != 4 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// TestTimestampsOfRecords: a record's own timestamp has the bounds of the job's.
func TestTimestampsOfRecords(t *testing.T) {
	in := "1|1795132800000|x\n2|1795132800000000|x\n3|0|x\n4|-1|x\n5||x\n6|\\N|x\n7|253402300799999|x\n8|253402300800000|x\n"
	j := jobtest.Rules(t, "timestamp: column:a\ncolumns_map: {a: {type: int64}}\ncells: [b]\n", in)
	s := runtest.Must(t, j, options.Options{})
	if s.Counts.Written != 2 || s.Counts.Rejected != 6 {
		t.Errorf("counts %+v", s.Counts)
	}
}

package draft

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"bulkload/jobs/spec/jobfile"
)

// TestTableDraft: the draft has what the descriptor and the regions say, is a job file without a mistake, and guesses
// no key.
func TestTableDraft(t *testing.T) {
	t.Parallel()
	for splits, want := range map[string]string{
		"":                        "c1",
		"a b":                     "c1",
		"1 2 3":                   "salt(c1, 4) + c1",
		"1 10 11 2 3 4 5 6 7 8 9": "short_salt(c1, 12) + c1",
	} {
		table := &TableDraft{Name: "ns:t", Output: "hdfs:///out/${date}", Families: []TableFamily{{"null", "SNAPPY"}, {"g", "NONE"}}}
		for s := range strings.FieldsSeq(splits) {
			table.Splits = append(table.Splits, []byte(s))
		}
		text := table.YAML()
		j, err := jobfile.Parse("job.yaml", bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if j.RowKey.String() != want || j.Table != "ns:t" || j.Columns[0].Family != "null" || j.Regions.From != "table" || !j.Load || j.Output != "hdfs:///out/2026-11-20" {
			t.Errorf("%s: %+v", splits, j)
		}
		for _, want := range []string{"# Family g: NONE\n", "# CHANGE THIS. The export: ", "# CHANGE THIS. The row key "} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		if strings.Contains(string(text), "begin like salts") != strings.Contains(want, "salt") {
			t.Errorf("salts of %q:\n%s", splits, text)
		}
	}
}

// TestSaltsOf: the salts at which regions begin are recognized, whether they have leading zeros or not.
func TestSaltsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		splits string
		want   salting
	}{
		{"", salting{}}, {"a b", salting{}}, {"3 5", salting{}}, {"1", salting{n: 2}}, {"1 2 3", salting{n: 4}}, {"1 15 2 2x", salting{n: 3}}, {"01 02 03", salting{}},
		{"01 02 03 04 05 06 07 08 09 10", salting{n: 11}}, {"01 015 02 03 04 05 06 07 08 09 10", salting{n: 11}}, {"1 10 2 3 4 5 6 7 8 9", salting{n: 11, short: true}},
	} {
		var splits [][]byte
		for s := range strings.FieldsSeq(c.splits) {
			splits = append(splits, []byte(s))
		}
		if got := saltsOf(splits); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.splits, got, c.want)
		}
	}
}

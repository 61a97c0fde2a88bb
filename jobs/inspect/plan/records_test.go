package plan

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/jobs/stats"
)

// TestFirstRecords: the records shown are the first of the input, whatever goroutine reads them first.
func TestFirstRecords(t *testing.T) {
	t.Parallel()
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 6) + id"), jobdir.Numbers(1000))
	for _, sample := range []int64{0, 900} {
		r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{Sample: sample})
		if got, want := rowsOf(r), "0000000000000000 0000000000000001 0000000000000002"; got != want {
			t.Errorf("sample of %d: rows %s, want %s", sample, got, want)
		}
	}
	second := &shownRecords{}
	second.merge(&shownRecords{rows: []shownRecord{{stats.SampleRecord{Row: "c"}, 7, 1}, {stats.SampleRecord{Row: "d"}, 7, 2}}})
	second.merge(&shownRecords{rows: []shownRecord{{stats.SampleRecord{Row: "a"}, 0, 9}, {stats.SampleRecord{Row: "b"}, 2, 0}}})
	if list := second.list(); len(list) != 3 || list[0].Row+list[1].Row+list[2].Row != "abc" {
		t.Errorf("of two goroutines: %+v", list)
	}
}

func rowsOf(r *PlanReport) string {
	var rows []string
	for _, record := range r.Records {
		rows = append(rows, record.Row)
	}
	return strings.Join(rows, " ")
}

// TestRefusedRecords: if too few records become rows, those that don't are shown, with the reason.
func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 3) + id")+"filter: city != 'x'\n", []byte("1|2000|a\n2|20|x\n3|30|a\nbad\n"))
	r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{})
	if len(r.Records) != 3 {
		t.Fatalf("%+v", r.Records)
	}
	for i, want := range []string{"column user: ", "the job's filter does not want it", ""} {
		if got := r.Records[i].Refused; !strings.HasPrefix(got, want) || (got == "") != (want == "") || len(r.Records[i].Fields) != 3 {
			t.Errorf("record %d: %q, want %q", i, got, want)
		}
	}
	if r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{NoRecords: true}); r.Records != nil || len(r.Query.Top) > 0 {
		t.Errorf("not wanted: %+v, %+v", r.Records, r.Query.Top)
	}
}

// TestRecordsAreBounded: wide records and long values are cut, between characters.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	var columns, values []string
	for i := range 2 * fieldsShown {
		columns, values = append(columns, fmt.Sprintf("c%d", i)), append(values, strings.Repeat("中", 1000))
	}
	values[1], values[2], values[3] = "a\n中", "\x00", strings.Repeat("k", 1000)
	job := fmt.Sprintf(jobdir.NumbersJob, "c3")
	job = strings.NewReplacer("[id, user, city]", "["+strings.Join(columns, ", ")+"]", "query: [user]", "query: [c3]", `'\n'`, `'\x10'`).Replace(job)
	job = job[:strings.Index(job, "queries:")] + job[strings.Index(job, "regions:"):]
	r := MustPlan(t, jobtest.Check(t, jobdir.Of(t, job, []byte(strings.Join(values, "|")+"\x10")), "out"), PlanOptions{})
	if len(r.Records) != 1 {
		t.Fatalf("%d records, %+v", len(r.Records), r.Rejects)
	}
	record := r.Records[0]
	if len(record.Fields) != fieldsShown || record.MoreFields != fieldsShown || record.RowBytes != 1000 || len(record.Row) != bytesShown || len(record.Key[0].Value) != bytesShown {
		t.Errorf("%d fields, %d more; row of %d bytes, %q, %v", len(record.Fields), record.MoreFields, record.RowBytes, record.Row, record.Key)
	}
	for i, want := range []string{strings.Repeat("中", bytesShown/3), `a\x0A中`, `\x00`} {
		if f := record.Fields[i]; *f.Value != want || f.Cut != (i == 0) || f.Stored != nil {
			t.Errorf("column %d: %q, cut %v", i, *f.Value, f.Cut)
		}
	}
	shown := stats.NewRecordTable(r.InputReport, 40, 34)
	if len(shown.Lines) != 41 || shown.More != 2*fieldsShown-40 || shown.Lines[0].Values[0] != strings.Repeat("中", 33)+"…" {
		t.Errorf("%d lines, %d more, %q", len(shown.Lines), shown.More, shown.Lines[0].Values)
	}
}

// TestRecordCells: constants, binary values, nulls, columns without a cell and the qualifiers of a wide table.
func TestRecordCells(t *testing.T) {
	t.Parallel()
	job := strings.Replace(fmt.Sprintf(jobdir.NumbersJob, "user"), "query: [user]", "columns_map: {id: {type: int32, store: binary}, user: {skip: true}, src: {constant: x}}\nwide: {qualifier: \"pad(city, 2)\"}", 1)
	job = strings.Replace(job, `'\n'`, `'\n', null: N`, 1)
	job = strings.Replace(job, "record_delimiter: '\\n', null: N", "record_delimiter: '\\n'\n  null: N", 1)
	job = job[:strings.Index(job, "queries:")] + job[strings.Index(job, "regions:"):]
	r := MustPlan(t, jobtest.Check(t, jobdir.Of(t, job, []byte("65|u|q\nN|u|q2\n")), "out"), PlanOptions{})
	var lines []string
	for _, l := range stats.NewRecordTable(r.InputReport, 9, 99).Lines {
		lines = append(lines, l.Name+" "+l.Cell+" "+strings.Join(l.Values, ","))
	}
	want := `id f:…id 65 → \x00\x00\x00A,null; user  u,u; city f:…city q,q2; src f:…src x,x; user row key u,u; wide.qualifier qualifier 0q,q2`
	if got := strings.Join(lines, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSpellings: each spelling is recognised, and nothing else.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spellings{
		".5": spelledPoint, "-.25": spelledPoint, "0.5": spelledZero, "+0.5": spelledZero, "1.5": 0, "0": 0, ".": 0, "-.": 0, "0.": 0, ".x": 0, "": 0, "5": 0,
		"2026-11-20": spelledDay,
		"01-NOV-26":  spelledOracle, "20-11月-26 01.02.03.000000 上午": spelledOracle, "01-11-2026": 0,
		"2026-11-20 23:00:24":     spelledTime | spelledSpace | spelledSeconds,
		"2026-11-20T23:00:24":     spelledTime | spelledT | spelledSeconds,
		"2026-11-20 23:00:24.0":   spelledTime | spelledSpace | spelledFraction,
		"2026-11-20 23:00:24.000": spelledTime | spelledSpace | spelledFraction,
		"2026-11-20 23:00:24.5":   spelledTime | spelledSpace,
		"2026-11-20 23:00":        spelledTime | spelledSpace,
		"2026-11-20 ":             spelledTime | spelledSpace,
		"2026-11-20x":             0, "2026-11-2": 0, "2026/11/20": 0, "20x6-11-20": 0, "note 0.5": 0,
	} {
		if got := spellingOf([]byte(text)); got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}

// TestMixedSpellings: only columns that keep their text are looked at.
func TestMixedSpellings(t *testing.T) {
	t.Parallel()
	input := []byte("1|2026-11-20 01:02:03|.5\n2|2026-11-20 01:02:04.0|0.5\n")
	for rules, want := range map[string]string{
		"": "user has both 2026-11-20 23:00:24 and 2026-11-20 23:00:24.0; city has both .5 and 0.5",
		"columns_map: {city: {type: decimal, store: binary}}\n":   "user has both 2026-11-20 23:00:24 and 2026-11-20 23:00:24.0",
		"columns_map: {city: {skip: true}, user: {skip: true}}\n": "",
	} {
		r := MustPlan(t, jobtest.Check(t, jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 30) + id")+rules, input), "out"), PlanOptions{})
		got := ""
		for _, c := range r.Checks {
			if c.Code == "value-spelling" {
				_, got, _ = strings.Cut(c.Reason, "cells: ")
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
}

// TestRejectedRecords: records that are not in the form of the input are shown, the first ones by file and offset.
func TestRejectedRecords(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(jobdir.NumbersJob, "record_delimiter: '\\n'", "format: csv\n  header: false", 1)
	for what, c := range map[string]struct{ job, input, reason, text string }{
		"fields":    {jobdir.NumbersJob, "1|2|a\nbad\n2|3|b|c\n", "1 column instead of 3", "bad"},
		"long ones": {jobdir.NumbersJob, "1|2|a\n" + strings.Repeat("中", 100) + "\n", "1 column instead of 3", strings.Repeat("中", bytesShown/3)},
		"no UTF-8":  {jobdir.NumbersJob, "1|2|a\n2|\xd6\xd0|x\n", "not UTF-8", "2|\uFFFD|x"},
		"quotes":    {broken, "1|2|a\n2|\"b\"c|d\n", "quote", "2|\"b\"c|d"},
	} {
		dir := jobdir.Of(t, fmt.Sprintf(c.job, "pad(user, 6) + id"), []byte(c.input+"4|5|a\nlast\n6|7|a\nmore\nand more\n"))
		r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{})
		if len(r.RejectedRecords) != rejectsShown {
			t.Fatalf("%s: %+v", what, r.RejectedRecords)
		}
		first, last := r.RejectedRecords[0], r.RejectedRecords[rejectsShown-1]
		if !strings.Contains(first.Reason, c.reason) || first.Text != c.text || !strings.Contains(first.At, ", byte 6") || first.Cut != (what == "long ones") {
			t.Errorf("%s: %+v", what, first)
		}
		if last.Reason != "1 column instead of 3" || !strings.Contains("last more and more", last.Text) {
			t.Errorf("%s: the last is %+v", what, last)
		}
		if r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{NoRecords: true}); r.RejectedRecords != nil {
			t.Errorf("not wanted: %+v", r.RejectedRecords)
		}
	}
	one := firstRejects([]shownReject{{file: 1, offset: 5}, {file: 2}}, []shownReject{{file: 1, offset: 4}, {file: 0, offset: 9}})
	if len(one) != rejectsShown || one[0].offset != 9 || one[1].offset != 4 || one[2].offset != 5 {
		t.Errorf("of two goroutines: %+v", one)
	}
}

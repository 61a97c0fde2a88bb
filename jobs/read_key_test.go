package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeysAreCheckedAtReading: what a key can make nothing of is told with the line and the place in the expression.
func TestKeysAreCheckedAtReading(t *testing.T) {
	for _, c := range []struct{ rule, rowkey, query, want string }{
		{"note: {type: text}", "mod(note, 7) + id", "", "job.yaml:11: rowkey: row key \"mod(note, 7) + id\": column 5: mod takes whole numbers, and column note is declared text; salt(x, n) takes text"},
		{"note: {type: timestamp, zone: Asia/Shanghai}", "id + desc(note)", "", "column 11: desc takes whole numbers, and column note is declared timestamp; millis(x) and seconds(x)"},
		{"note: {type: timestamp, format: millis}", "id + desc(note, 9999999999)", "", "column 11: desc takes a value from 9999999999, and note is greater: it has 13 digits; use seconds(x)"},
		{"note: {type: bytes}", "reverse(note, 9) + id", "", "column 9: reverse takes text, and column note is declared bytes"},
		{"note: {type: text}", "random_salt(4) + id", "note", "job.yaml:12: query: the query columns do not determine random_salt(4)"},
		{"note: {type: text}", "salt(id, 200) + salt(note, 200) + check_id", "check_id", "more than 10000 scans"},
		{"note: {type: timestamp, zone: Asia/Shanghai}", "check_id + desc(millis(note)) + id", "check_id", ""},
		{"note: {type: decimal}", "long_salt(note, 10) + id", "note", ""},
		{"note: {type: int64}", "random_salt(10) + note + '-' + id", "note", ""},
	} {
		query := "-"
		if c.query != "" {
			query = "query: [" + c.query + "]"
		}
		_, err := Read(writeJob(t, jobWith(map[int]string{10: "columns_map: {" + c.rule + "}\nrowkey: " + c.rowkey, 11: query})), ReadOptions{Date: date20})
		if c.want == "" && err != nil || c.want != "" && (KindOf(err) != Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: %v; want %s", c.rowkey, c.rule, err, c.want)
		}
	}
}

// TestValuesWithoutAKeyAreRejects: each is told with its column and reason; the others are loaded.
func TestValuesWithoutAKeyAreRejects(t *testing.T) {
	const job = `table: t
family: f
input: {path: in, columns: [id, phone, at], field_delimiter: '|', null: '-', max_rejects: 7}
columns_map: {at: {type: timestamp, format: seconds}}
timestamp: 2026-11-20
rowkey: mod(id, 100) + reverse(phone, 11) + desc(seconds(at), 9999999999)
query: [id]
regions: {from: splits, splits: ['50']}
hfile: {compression: none, encoding: none, bloom: row}
output: out
`
	dir := t.TempDir()
	lines := []string{"1|13800138000|1548938096", "x|13800138000|1548938096", "2|138001380001|1548938096", "3|13800138000|1548938096000", "-|13800138000|1", "1.0|1|1", "4|-|1", "5|1|-", "99|7|0"}
	for name, text := range map[string]string{"job.yaml": job, "in": strings.Join(lines, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := Read(filepath.Join(dir, "job.yaml"), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := mustRun(t, j, Options{})
	if s.Books.Read != 9 || s.Books.Written != 2 || s.Books.Rejected != 7 {
		t.Errorf("books %v", s.Books)
	}
	wantRejects(t, filepath.Join(dir, "out", rejectsDir), []string{
		"id: column id: no whole number, in mod(id, 100)",
		"phone: column phone: too wide, in reverse(phone, 11)",
		"at: ",
		"id: column id is null and the row key needs it",
		"id: column id: no whole number",
		"phone: column phone is null",
		"at: column at is null",
	})
	for id, row := range map[string]string{"1": "01000831008318451061903", "99": "99700000000009999999999"} {
		r, err := Get(context.Background(), j, Options{}, []string{id}, filepath.Join(dir, "out"))
		if err != nil || len(r.Rows) != 1 || r.Rows[0].Row != row || r.Scans != 1 {
			t.Errorf("get %s: %+v, %v; want %s", id, r, err, row)
		}
	}
}

// wantRejects compares the reasons of the rejects, each with its column, in the order of the input.
func wantRejects(t *testing.T, dir string, want []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatalf("rejects %v, %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(text) {
		var reject struct{ Column, Reason string }
		if err := json.Unmarshal(line, &reject); err != nil {
			t.Fatal(err)
		}
		got = append(got, reject.Column+": "+reject.Reason)
	}
	if len(got) != len(want) {
		t.Fatalf("rejects\n%s", strings.Join(got, "\n"))
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("reject %d is %s, want %s", i, got[i], want[i])
		}
	}
}

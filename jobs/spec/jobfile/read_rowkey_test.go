package jobfile

import (
	"strings"
	"testing"

	"bulkload/jobs/base/failure"
)

// TestKeysAreCheckedAtReading: what a key can make nothing of is reported with the line and the position in the expression.
func TestKeysAreCheckedAtReading(t *testing.T) {
	for _, c := range []struct{ rule, rowkey, query, want string }{
		{"note: {type: text}", "mod(note, 7) + id", "", "job.yaml:11: rowkey: row key \"mod(note, 7) + id\": character 5: mod needs whole numbers, but column note is declared text; salt(x, n) accepts text"},
		{"note: {type: timestamp, zone: Asia/Shanghai}", "id + desc(note)", "", "character 11: desc needs whole numbers, but column note is declared timestamp; millis(x) and seconds(x)"},
		{"note: {type: timestamp, format: millis}", "id + desc(note, 9999999999)", "", "character 11: desc subtracts the value from 9999999999, but note is greater: it has 13 digits; use seconds(x)"},
		{"note: {type: bytes}", "reverse(note, 9) + id", "", "character 9: reverse needs text, but column note is declared bytes"},
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
		if c.want == "" && err != nil || c.want != "" && (failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: %v; want %s", c.rowkey, c.rule, err, c.want)
		}
	}
}

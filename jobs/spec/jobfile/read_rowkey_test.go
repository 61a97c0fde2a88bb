package jobfile

import (
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
)

// TestKeysAreCheckedAtReading: what a key can make nothing of is reported with the line and the position in the
// expression.
func TestKeysAreCheckedAtReading(t *testing.T) {
	for _, c := range []struct {
		rule, rowkey, query string
		want                mistake // none if it has no place
	}{
		{"note: {type: text}", "mod(note, 7) + id", "",
			atLine(11, errcode.JobRowkey, "rowkey: ", `"mod(note, 7) + id"`, "character 5: mod", "text;",
				"salt(x, n)")},
		{"note: {type: timestamp, zone: Asia/Shanghai}", "id + desc(note)", "",
			atLine(11, errcode.JobRowkey, "character 11: desc", "timestamp;", "millis(x)")},
		{"note: {type: timestamp, format: millis}", "id + desc(note, 9999999999)", "",
			atLine(11, errcode.JobRowkey, "character 11: desc", "9999999999,", "13 digits", "seconds(x)")},
		{"note: {type: bytes}", "reverse(note, 9) + id", "",
			atLine(11, errcode.JobRowkey, "character 9: reverse", "bytes")},
		{"note: {type: text}", "random_salt(4) + id", "note",
			atLine(12, errcode.JobRowkey, "query: ", "random_salt(4)")},
		{"note: {type: text}", "salt(id, 200) + salt(note, 200) + check_id", "check_id",
			atLine(12, errcode.JobRowkey, "10000")},
		{"note: {type: timestamp, zone: Asia/Shanghai}", "check_id + desc(millis(note)) + id", "check_id", mistake{}},
		{"note: {type: decimal}", "long_salt(note, 10) + id", "note", mistake{}},
		{"note: {type: int64}", "random_salt(10) + note + '-' + id", "note", mistake{}},
	} {
		query := "-"
		if c.query != "" {
			query = "query: [" + c.query + "]"
		}
		_, err := Read(jobdir.Write(t, jobWith(map[int]string{10: "columns_map: {" + c.rule + "}\nrowkey: " + c.rowkey, 11: query})), ReadOptions{Date: jobdir.Date})
		if good := c.want.place == ""; good && err != nil || !good && !c.want.saidBy(err) {
			t.Errorf("%s of %s: %v; want %v", c.rowkey, c.rule, err, c.want)
		}
	}
}

package draft

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/spec/jobfile"
)

// drafted drafts from a file with this content, and requires that the draft is a job file without a mistake.
func drafted(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Of(storage.Local, file, name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(d.YAML())
	date := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	if _, err := jobfile.Parse(filepath.Join(dir, "job.yaml"), strings.NewReader(text), jobfile.ReadOptions{Date: date}); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return text
}

// rows are lines by a pattern, which gets the line's number from 0.
func rows(n int, pattern string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(strings.ReplaceAll(pattern, "#", fmt.Sprint(1000+i)))
	}
	return all.String()
}

func TestDrafts(t *testing.T) {
	gbk := "ID,CITY\r\n" + rows(3, "#,\xb1\xb1\xbe\xa9\r\n")
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(rows(30, "#|a|2026-11-20 01:02:03\n"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		name, content string
		want, not     []string
	}{
		"Sqoop's default delimiters, and a date in the path": {"shop/orders/dt=2026-11-20/part-m-00000", rows(20, "#\x0142.5\x01x\n"),
			[]string{"table: orders\n", "path: 'shop/orders/dt=${date}/part-m-00000'", "field_delimiter: '\\x01'", "record_delimiter: '\\n'", "rowkey: 'salt(c1, 10) + c1'", "c2: {type: decimal}", "output: out/orders/${date}", "--date 2026-11-20"},
			[]string{"format:", "null"}},
		"records that end in 0x10, with line breaks inside": {"part-0", rows(20, "#\x01two\nlines\x01x\x10"), []string{"record_delimiter: '\\x10'", "columns: [c1, c2, c3]"}, nil},
		"CR LF":                          {"a.txt", rows(20, "#|a|b\r\n"), []string{"record_delimiter: '\\r\\n'", "field_delimiter: '|'"}, nil},
		"two characters":                 {"a.txt", rows(20, "#|@|a|b|@|c\n"), []string{"field_delimiter: '|@|'", "columns: [c1, c2, c3]"}, nil},
		"compressed":                     {"a.gz", zipped.String(), []string{"c3: {type: timestamp}   # without an offset", "field_delimiter: '|'"}, []string{"compression: gzip"}},
		"GBK with a heading":             {"a.csv", gbk, []string{"format: csv", "charset: gbk", "columns: [ID, CITY]", "rowkey: 'salt(ID, 10) + ID'"}, []string{"header: false"}},
		"a heading of texts":             {"a.csv", "name,city\nx,y\nz,u\n", []string{"columns: [name, city]"}, []string{"header: false"}},
		"no heading, as texts":           {"a.csv", "x,y\nz,x\nu,v\n", []string{"columns: [c1, c2]"}, []string{"columns: [x"}},
		"SQL*Plus' noise":                {"a.csv", "\r\n\"ID\",\"N\"\r\n\"a\",1\r\n\"b\",2\r\n\"ID\",\"N\"\r\n" + rows(40, "\"#\",3\r\n") + "\r\n42 rows selected.\r\n", []string{"columns: [ID, 'N']", "skip_noise: true"}, nil},
		"a statement before the heading": {"a.csv", "SQL> select id, n, c\n  2  from t;\n\nID,N,C\n" + rows(9, "#,7,x\n") + "SQL> spool off\n", []string{"columns: [ID, 'N', C]", "skip_noise: true"}, []string{"header: false"}},
		"a statement alone on its line":  {"a.csv", "SQL> select * from t;\n\nID,N\n" + rows(9, "#,7\n"), []string{"columns: [ID, 'N']", "skip_noise: true"}, []string{"header: false"}},
		"a heading alone":                {"a.csv", "ORDER_ID,AMOUNT,CREATED\n", []string{"columns: [ORDER_ID, AMOUNT, CREATED]", "The only line is taken for the heading", "rowkey: 'salt(ORDER_ID, 10) + ORDER_ID'"}, []string{"  header: false\n"}},
		"a heading with an expression":   {"a.csv", "ID,COUNT(*)\n" + rows(9, "#,7\n"), []string{"columns: [ID, 'COUNT(*)']"}, []string{"header: false"}},
		"values that did not fit":        {"a.csv", "ID,N\n" + rows(9, "#,7\n") + "1,##########\n", []string{"Column N has the value ##########, 1 time:", "columns: [ID, 'N']"}, []string{"header: false"}},
		"dates as Oracle writes them":    {"a.csv", "ID,D\n" + rows(9, "#,01-NOV-26\n"), []string{"# Note: Column D has the value 01-NOV-26: ", "alter session set nls_date_format", "time of day"}, []string{"D: {type"}},
		"a name that ends in a digit":    {"sq10/part-m-00000", rows(20, "#\x0142.5\x01x\n"), []string{"table: sq10\n"}, nil},
		"numbered files":                 {"orders_2026-11-20_003.csv", rows(20, "#,42.5,x\n"), []string{"table: orders\n"}, nil},
		"quotes inside, doubled": {"a.csv", "id,v\n" + rows(9, "#,\"a \"\"b\"\", c\"\n"), []string{"format: csv", "columns: [id, v]"},
			[]string{"Note"}},
		"quotes inside, escaped": {"part-0", rows(9, "#,\"a \\\"b\\\", c\",2026-11-20\n"), []string{"escaped_by: '\\'", "optionally_enclosed_by: '\"'", "c3: {type: date}", "columns: [c1, c2, c3]"}, []string{"format:"}},
		"nulls of Sqoop":         {"part-0", rows(9, "#|null|7\n") + "x|y|null\n", []string{"null: ['null']", "c3: {type: int64}"}, []string{"c2:"}},
		"an empty number":        {"part-0", rows(9, "#|7|x\n") + "x||\n", []string{"null_non_string: ['']", "null_string: ['\\N']"}, nil},
		"a word that may be a null": {"part-0", rows(9, "#|x\n") + "x|NULL\n", []string{"Column c2 has the text NULL 1 times"},
			[]string{"  null:"}},
		"codes are no numbers":    {"part-0", rows(9, "#|007\n") + "x|042\n", []string{"columns: [c1, c2]"}, []string{"c2: {type"}},
		"two columns make a key":  {"part-0", "a|1|x\na|2|x\nb|1|x\nb|2|x\n", []string{"rowkey: 'salt(c1, 10) + c1 + ''-'' + c2'", "together"}, nil},
		"no key":                  {"part-0", "a|x\na|x\nb|x\nb|x\n", []string{"CHANGE THIS"}, nil},
		"a key with some twice":   {"part-0", rows(40, "#|x\n") + "1000|x\n", []string{"CHECK THIS. c1 is nearly unique: 1 of 41"}, nil},
		"hashes need no salt":     {"part-0", hashes(200), []string{"rowkey: c1\n", "splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f']"}, nil},
		"what readers look up by": {"a.csv", "check_id,id\n" + rows(9, "7,#\n") + rows(9, "8,#5\n"), []string{"If readers look up rows by check_id (9.0 each)"}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			text := drafted(t, c.name, c.content)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in\n%s", want, text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("%q is in\n%s", not, text)
				}
			}
		})
	}
}

// hashes are lines with a hash, as it is in hex.
func hashes(n int) string {
	var all strings.Builder
	h := uint64(14695981039346656037)
	for i := range n {
		h = (h ^ uint64(i)) * 1099511628211
		fmt.Fprintf(&all, "%016x|x\n", h^h>>29*0x9e3779b97f4a7c15)
	}
	return all.String()
}

func TestNoDraft(t *testing.T) {
	for what, c := range map[string]struct{ content, want string }{
		"an empty file": {"", "record"},
		"one column":    {"a\nb\nc\n", "field_delimiter"},
		"line breaks":   {rows(9, "#\x01a\x01b\x01two\nlines\x01x\n"), `field_delimiter \x01 and record_delimiter \n, record 1 has 4 columns ("1000\x01a\x01b\x01two") and record 2 has 2 columns ("lines\x01x"). If values have line breaks`},
		"a name twice":  {"ID,NAME,id\n" + rows(9, "#,x,7\n"), "column id twice"},
		"no text":       {"a\x81\x8d,b\n\x81\n\xff\xff", "UTF-8"},
	} {
		file := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Of(storage.Local, file, "a")
		if errcode.Outermost(err) != errcode.InputUnknown || !testwords.Names(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Of(storage.Local, filepath.Join(t.TempDir(), "none"), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// FuzzDraft: whatever the files hold, a draft is a job file without a mistake, or there is an error.
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "x|\\N\n", "\"a\"\"\",b\r\n", "1\x01'2\x10", "PAR1", "a b,null\n-,:\n", "\xb1\xb1,1\n2,3\n", "`,x\ny,z\n"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(dir, "in")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Of(storage.Local, file, "in")
		if err != nil {
			return
		}
		text := d.YAML()
		_, err = jobfile.Parse(filepath.Join(dir, "job.yaml"), bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
		if err != nil && len(content) < 1000 {
			t.Errorf("%v in\n%s", err, text)
		}
	})
}

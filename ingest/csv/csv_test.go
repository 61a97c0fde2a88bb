package csv

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/values"
)

func form(columns ...string) *Form {
	return &Form{Columns: columns, Delimiter: ',', Quote: '"'}
}

func with(f *Form, change func(*Form)) *Form {
	changed := *f
	change(&changed)
	return &changed
}

// got is a record or a bad record.
type got struct {
	offset int64
	raw    string
	fields string // joined by |, a null as NULL
	column string
	reason string
}

// read returns the records of a file, and the error that ended the reading before its end.
func read(t testing.TB, f *Form, content string) ([]got, error) {
	t.Helper()
	return readWindow(t, f, content, chunkSize, maxRecord)
}

func readWindow(t testing.TB, f *Form, content string, window, longest int) ([]got, error) {
	t.Helper()
	return readNamed(t, f, "/memory", content, window, longest)
}

func readNamed(t testing.TB, f *Form, name, content string, window, longest int) ([]got, error) {
	t.Helper()
	file := ingest.SourceFile{Path: name, Size: int64(len(content))}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := f.openSized(testfs.Memory{Content: []byte(content)}, file, window, longest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []got
	for {
		rec, err := r.Next()
		var bad *ingest.BadRecord
		switch {
		case errors.Is(err, io.EOF):
			if r.Bytes() != file.Size {
				t.Errorf("%d of %d bytes consumed at the end", r.Bytes(), file.Size)
			}
			return all, nil
		case errors.As(err, &bad):
			all = append(all, got{bad.Offset, string(bad.Raw), "", bad.Column, bad.Reason})
			if bad.Number != int64(len(all)) {
				t.Errorf("record %d has number %d", len(all), bad.Number)
			}
		case err != nil:
			return all, err
		default:
			all = append(all, got{rec.Offset, string(rec.Raw), joined(rec.Fields), "", ""})
			if rec.Number != int64(len(all)) {
				t.Errorf("record %d has number %d", len(all), rec.Number)
			}
		}
	}
}

func joined(fields []values.Value) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = string(f.Bytes())
		if f.Null() {
			texts[i] = "NULL"
		}
	}
	return strings.Join(texts, "|")
}

func named(t testing.TB, name string) *charset.Charset {
	t.Helper()
	c, err := charset.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRecords(t *testing.T) {
	two := form("id", "note")
	off := with(two, func(f *Form) { f.Quote = 0 })
	bare := with(two, func(f *Form) { f.NoHeading = true })
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		want    []got
	}{
		{"quotes, doubled quotes, line breaks", two, "\"ID\",\"NOTE\"\n1,\"a \"\"b\"\"\nc, d\"\n2,\"\"\"\"\n", []got{
			{12, "1,\"a \"\"b\"\"\nc, d\"", "1|a \"b\"\nc, d", "", ""},
			{29, "2,\"\"\"\"", "2|\"", "", ""}}},
		{"an empty value and a null", two, "ID,NOTE\n1,\n2,\"\"\n,x\n", []got{
			{8, "1,", "1|NULL", "", ""}, {11, "2,\"\"", "2|", "", ""}, {16, ",x", "NULL|x", "", ""}}},
		{"both are nulls", with(two, func(f *Form) { f.QuotedEmpty = "null" }), "ID,NOTE\n2,\"\"\n", []got{{8, "2,\"\"", "2|NULL", "", ""}}},
		{"a text for null", with(two, func(f *Form) { f.Null = []byte("NULL!") }), "ID,NOTE\nNULL!,\"NULL!\"\n", []got{
			{8, "NULL!,\"NULL!\"", "NULL|NULL!", "", ""}}},
		{"CR LF, kept in quotes", two, "ID,NOTE\r\n1,\"a\r\nb\"\r\n2,x\r\n3,y", []got{
			{9, "1,\"a\r\nb\"", "1|a\r\nb", "", ""}, {19, "2,x", "2|x", "", ""}, {24, "3,y", "3|y", "", ""}}},
		{"a CR that is the value's", two, "ID,NOTE\n1,x\r\n2,\"y\"\r\n", []got{
			{8, "1,x\r", "1|x\r", "", ""}, {13, "2,\"y\"", "2|y", "", ""}}},
		{"a mark, blank lines", two, "\xef\xbb\xbf\n\nID,NOTE\n1,x\n\n2,y\n\n\n", []got{
			{13, "1,x", "1|x", "", ""}, {18, "2,y", "2|y", "", ""}}},
		{"columns by name, any order and case", form("Note", "b", "id"), "\"id\",\"ID\",\"NOTE\",\"B\"\n1,2,3,4\n", []got{
			{21, "1,2,3,4", "3|4|1", "", ""}}},
		{"no heading", bare, "1,x\n2,y", []got{{0, "1,x", "1|x", "", ""}, {4, "2,y", "2|y", "", ""}}},
		{"no quotes", off, "ID,NOTE\n1,\"x\n2,\n", []got{{8, "1,\"x", "1|\"x", "", ""}, {13, "2,", "2|NULL", "", ""}}},
		{"other delimiter and quote", with(two, func(f *Form) { f.Delimiter, f.Quote = '|', '\'' }), "ID|NOTE\n'a|''b'|\"\n", []got{
			{8, "'a|''b'|\"", "a|'b|\"", "", ""}}},
		{"empty", two, "", nil},
		{"nothing but blank lines", two, "\n\r\n", nil},
		{"a heading alone", two, "ID,NOTE", nil},
		{"too few and too many", two, "ID,NOTE\n1\n1,2,3\n\"1\"\n", []got{
			{8, "1", "", "", "1 column instead of 2"}, {10, "1,2,3", "", "", "3 columns instead of 2"}, {16, "\"1\"", "", "", "1 column instead of 2"}}},
		{"stray quotes", two, "ID,NOTE\n1,a\"b\n2,\"a\"b\"\n3,c\n", []got{
			{8, "1,a\"b", "", "note", "a quote at byte 3 of the record, in a value that does not begin with one"},
			{14, "2,\"a\"b\"", "", "note", "a quote at byte 4 of the record, within a quoted value, is not written twice"},
			{22, "3,c", "3|c", "", ""}}},
		{"a quote that is never closed", two, "ID,NOTE\n1,\"a\n2,b\n3,c\n", []got{
			{8, "1,\"a", "", "note", "the quote at byte 2 of the record is not closed, or a quote in the value is not written twice"},
			{13, "2,b", "2|b", "", ""}, {17, "3,c", "3|c", "", ""}}},
		{"one that the next record's quote seems to close", two, "ID,NOTE\n1,\"a\n2,\"b\"\n", []got{
			{8, "1,\"a", "", "note", "the quote at byte 2 of the record is not closed, or a quote in the value is not written twice"},
			{13, "2,\"b\"", "2|b", "", ""}}},
		{"what separates rejects is a value in all other files", two, "ID,NOTE\n1,\"p\n\x1e\nq\"\n\x1e\n\x1e,\x1e\n", []got{
			{8, "1,\"p\n\x1e\nq\"", "1|p\n\x1e\nq", "", ""}, {18, "\x1e", "", "", "1 column instead of 2"}, {20, "\x1e,\x1e", "\x1e|\x1e", "", ""}}},
		{"several texts of a null", with(two, func(f *Form) { f.Nulls = [][]byte{[]byte("-"), []byte("N/A")} }), "ID,NOTE\n-,\"-\"\nN/A,NA\n", []got{
			{8, "-,\"-\"", "NULL|-", "", ""}, {14, "N/A,NA", "NULL|NA", "", ""}}},
		{"and without a heading", with(form("id"), func(f *Form) { f.NoHeading = true }), "1\n\x1e\n3\n", []got{
			{0, "1", "1", "", ""}, {2, "\x1e", "\x1e", "", ""}, {4, "3", "3", "", ""}}},
		{"no UTF-8", two, "ID,NOTE\n1,\"a\"\"\xff\"\n\xc3,2\n", []got{
			{8, "1,\"a\"\"\xff\"", "", "note", "not UTF-8: ff at byte 2 of the value"},
			{17, "\xc3,2", "", "id", "not UTF-8: c3 at byte 0 of the value"}}},
		{"no UTF-8 where no one looks", form("id"), "ID,NOTE\n1,\xff\n", []got{{8, "1,\xff", "1", "", ""}}},
		{"GBK", with(two, func(f *Form) { f.Charset = named(t, "gbk") }), "ID,NOTE\n\x81\x7c,\"\xd6\xd0\"\"\"\n1,\xff\n", []got{
			{8, "\x81\x7c,\"\xd6\xd0\"\"\"", "亅|中\"", "", ""}, {18, "1,\xff", "", "note", "not gbk: ff at byte 0 of the value"}}},
		{"GBK with a delimiter that ends a character", with(two, func(f *Form) { f.Charset, f.Delimiter = named(t, "gbk"), '|' }),
			"ID|NOTE\n\x81\x7c|\"\x81\x7c|\"\n\x81\x7c\x81\x7c|\xd6\xd0\n\xff|1\n", []got{
				{8, "\x81\x7c|\"\x81\x7c|\"", "亅|亅|", "", ""}, {17, "\x81\x7c\x81\x7c|\xd6\xd0", "亅亅|中", "", ""},
				{25, "\xff|1", "", "", "not gbk: ff 7c 31 at byte 0 of the record"}}},
		{"Chinese names of columns", with(form("编号"), func(f *Form) { f.Charset = named(t, "gbk") }), "\"\xb1\xe0\xba\xc5\",X\n1,2\n", []got{
			{9, "1,2", "1", "", ""}}},
		{"Oracle's words as values", two, "ID,NOTE\nORA-00942: x,SQL> y\n", []got{{8, "ORA-00942: x,SQL> y", "ORA-00942: x|SQL> y", "", ""}}},
	} {
		all, err := read(t, c.form, c.content)
		if err != nil || !reflect.DeepEqual(all, c.want) {
			t.Errorf("%s (%v):\n got %q\nwant %q", c.name, err, texts(all), texts(c.want))
		}
	}
}

func texts(all []got) [][]string {
	var out [][]string
	for _, g := range all {
		out = append(out, []string{g.raw, g.fields, g.column, g.reason, string(rune('0' + g.offset%10))})
	}
	return out
}

// spool is what SQL*Plus writes where nothing is set.
const spool = "SQL> select id, note\n  2  from t where a in (1, 2);\n\n" +
	"\"ID\",\"NOTE\"\n1,\"x\"\n\n\"ID\",\"NOTE\"\n2,\"y\"\n\n2 rows selected.\n\nElapsed: 00:00:00.03\nSQL> spool off\n"

// TestFeedbackInOtherLanguages: what SQL*Plus says after the rows is no record, in the languages and charsets of its
// clients, in one column, too. Text that only contains it is.
func TestFeedbackInOtherLanguages(t *testing.T) {
	for _, c := range []struct{ charset, line string }{
		{"utf-8", "1 Zeile wurde ausgewählt."}, {"iso-8859-1", "1 Zeile wurde ausgew\xe4hlt."}, {"utf-8", "20 Zeilen ausgewählt."},
		{"utf-8", "2 Zeilen wurden ausgewählt."}, {"utf-8", "Es wurden keine Zeilen ausgewählt"}, {"utf-8", "Keine Zeilen ausgewählt."},
		{"utf-8", "Session wurde geändert."}, {"utf-8", "Abgelaufen: 00:00:00.03"}, {"utf-8", "PL/SQL-Prozedur erfolgreich abgeschlossen."},
		{"utf-8", "1 ligne sélectionnée."}, {"windows-1252", "20 lignes s\xe9lectionn\xe9es."}, {"utf-8", "aucune ligne sélectionnée"},
		{"utf-8", "Session modifiée."}, {"utf-8", "Ecoulé : 00 :00 :00.03"}, {"utf-8", "Procédure PL/SQL terminée avec succès."},
		{"utf-8", "1行が選択されました。"}, {"shift_jis", "20\x8ds\x82\xaa\x91I\x91\xf0\x82\xb3\x82\xea\x82\xdc\x82\xb5\x82\xbd\x81B"},
		{"utf-8", "レコードが選択されませんでした。"}, {"utf-8", "セッションが変更されました。"}, {"utf-8", "経過: 00:00:00.03"}, {"utf-8", "PL/SQLプロシージャが正常に完了しました。"},
	} {
		f := with(form("id"), func(f *Form) { f.SkipNoise, f.Charset = true, named(t, c.charset) })
		all, err := read(t, f, "ID\n1\n"+c.line+"\r\n2\nx"+c.line+"\n")
		if err != nil || len(all) != 3 || all[2].fields == "" {
			t.Errorf("%q in %s: %+v, %v", c.line, c.charset, all, err)
		}
	}
}

func TestNoise(t *testing.T) {
	skip := with(form("id", "note"), func(f *Form) { f.SkipNoise = true })
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		want    string // the records, one after another
		err     string
	}{
		{"skipped", skip, spool, "1|x;2|y", ""},
		{"feedback before the heading", form("id", "note"), spool, "", "a prompt, not a record: \"SQL> select id, note\""},
		{"feedback after it", form("id", "note"), spool[strings.Index(spool, "\"ID\""):],
			"1|x;the heading again;2|y;a message of the client, not a record: \"2 rows selected.\";" +
				"a message of the client, not a record: \"Elapsed: 00:00:00.03\";a prompt, not a record: \"SQL> spool off\"", ""},
		{"no rows", skip, "\nno rows selected\n\n", "", ""},
		{"feedback of no rows", form("id", "note"), "\nno rows selected\n\n", "", "not a record: \"no rows selected\""},
		{"an export that failed", skip, "ID,NOTE\n1,x\nORA-01555: snapshot too old: segment \"_SYSSMU5$\" too small\n", "1|x",
			"/memory at byte 12: the export failed: \"ORA-01555: "},
		{"and is to be read", with(skip, func(f *Form) { f.SkipErrors = true }), "ID,NOTE\n1,x\nERROR:\nORA-01555: snapshot too old: \"S\"\n2,y\n", "1|x;2|y", ""},
		{"an export that failed, whose cause is in the next line", skip, "ID,NOTE\n1,x\nERROR:\r\nORA-01555: snapshot too old: \"S\"\n2,y\n", "1|x",
			"/memory at byte 12: the export failed: \"ERROR: ORA-01555: "},
		{"one that ends there", skip, "ID,NOTE\n1,x\nERROR:\n", "1|x",
			"/memory at byte 12: the export failed: \"ERROR:\""},
		{"an old client", skip, "SP2-0158: unknown SET option \"markup\"\n", "",
			"/memory at byte 0: the export failed: \"SP2-0158"},
		{"a prompt with as many values", skip, "ID,NOTE\n1,x\nSQL> select id, note from t;\n  2  a, b\n2,y\n", "1|x;2|y", ""},
		{"a statement with quotes", skip, "ID,NOTE\n1,x\nSQL> select \"A\nB\" from t;\n2,y\n", "", "B\" from t;"},
		{"one column, Chinese", with(form("id"), func(f *Form) { f.SkipNoise, f.Charset = true, named(t, "gbk") }),
			"ID\n1\n2\n\n\xd2\xd1\xd1\xa1\xd4\xf1 2 \xd0\xd0\xa1\xa3\n\n", "1;2", ""},
		{"one column, a value in quotes", form("note"), "\"NOTE\"\n\"no rows selected\"\n", "no rows selected", ""},
	} {
		all, err := read(t, c.form, c.content)
		var found []string
		for _, g := range all {
			found = append(found, g.fields+strings.SplitN(g.reason, "; export", 2)[0])
		}
		records := strings.ReplaceAll(strings.Join(found, ";"), "the heading again, not a record", "the heading again")
		if c.name == "a statement with quotes" {
			if !strings.Contains(records, "1|x") || !strings.Contains(records, "2|y") || err != nil {
				t.Errorf("%s: %q (%v)", c.name, records, err)
			}
			continue
		}
		code := errcode.CSVExport
		if c.want == "" {
			code = errcode.InputColumns // it was sought and not found
		}
		if records != c.want || (err == nil) != (c.err == "") || err != nil &&
			(errcode.Outermost(err) != code || !testwords.Names(err, c.err)) {
			t.Errorf("%s:\n got %q (%v)\nwant %q (%s)", c.name, records, err, c.want, c.err)
		}
	}
}

// TestMarksBeforeRecords: SQL*Plus begins each page with a form feed (set newpage 0), and files that were joined have
// byte order marks inside. Neither makes a heading a record, nor becomes a part of a key.
func TestMarksBeforeRecords(t *testing.T) {
	plain, noHeading := form("id", "note"), with(form("id", "note"), func(f *Form) { f.NoHeading = true })
	const bom = "\xef\xbb\xbf"
	for _, c := range []struct {
		form                      *Form
		content, skipped, notSkip string
	}{
		{plain, "id,note\n1,x\n\fid,note\n2,y\n", "1|x;2|y", "1|x;heading;2|y"},
		{plain, "\fid,note\n1,x\n\fid,note\n2,y\n", "1|x;2|y", "1|x;heading;2|y"},
		{plain, "\fid,note\n1,x\nid,note\n2,y\n", "1|x;2|y", "1|x;heading;2|y"},
		{plain, "id,note\n1,x\n" + bom + "id,note\n2,y\n", "1|x;2|y", "1|x;heading;2|y"},
		{plain, "\f\n\f\"id\",\"note\"\n\"1\",x\n\f\n\f\"id\",\"note\"\n2,y\n\f", "1|x;2|y", "1|x;heading;2|y"},
		{plain, "id,note\n1,x\n\f\f2,y\n\f\"3\",z\n", "1|x;2|y;3|z", "1|x;mark;mark"},
		{noHeading, bom + "1,x\n" + bom + "2,y\n\f3,z", "1|x;2|y;3|z", "1|x;mark;mark"},
		{noHeading, "1,\fx\n\"\f2\",y\n", "1|\fx;\f2|y", "1|\fx;\f2|y"},
		{with(plain, func(f *Form) { f.Quote = 0 }), "id,note\n1,x\n\fid,note\n2,y\n", "1|x;2|y", "1|x;heading;2|y"},
	} {
		for _, skip := range []bool{true, false} {
			want := c.notSkip
			if skip {
				want = c.skipped
			}
			for window := 4; window < 70; window += 3 {
				all, err := readWindow(t, with(c.form, func(f *Form) { f.SkipNoise = skip }), c.content, window, 1000)
				var found []string
				for _, g := range all {
					switch {
					case strings.HasPrefix(g.reason, "the heading again"):
						found = append(found, "heading")
					case strings.HasPrefix(g.reason, "a form feed or a byte order mark"):
						found = append(found, "mark")
					default:
						found = append(found, g.fields+g.reason)
					}
				}
				if got := strings.Join(found, ";"); got != want || err != nil {
					t.Fatalf("%q, skip_noise %t, window %d: %q (%v), want %q", c.content, skip, window, got, err, want)
				}
			}
		}
	}
}

// TestHeadingReadAsRecord: a warning says that the first record looks like a heading.
func TestHeadingReadAsRecord(t *testing.T) {
	f := with(form("c1", "c2"), func(f *Form) { f.NoHeading = true })
	for content, warned := range map[string]bool{
		"ID,NAME\n1,x\n2,y\n": true, "ID,NAME\nx,2026-11-20\n": true, "ID,NAME\nx,y\n": false, "ID,NAME\n": false, "1,NAME\n2,x\n": false, "ID,NAME\n1,x\nb,z\n": false, "ID,\n1,x\n": false,
	} {
		files := []ingest.SourceFile{{Path: "/memory", Size: int64(len(content))}}
		if got := f.Warnings(testfs.Memory{Content: []byte(content)}, files); (len(got) == 1 && strings.Contains(got[0], "looks like a heading (ID, NAME)")) != warned {
			t.Errorf("%q: %q", content, got)
		}
		text := &delimited.Form{Columns: f.Columns, FieldDelimiter: []byte{','}, RecordDelimiter: []byte{'\n'}}
		if got := text.Warnings(testfs.Memory{Content: []byte(content)}, files); (len(got) == 1 && strings.Contains(got[0], "looks like a heading (ID, NAME)")) != warned {
			t.Errorf("delimited, %q: %q", content, got)
		}
	}
}

// TestMixedLineEnds: where the first line ends with LF and the records with CR LF, a warning says what becomes of the
// CR.
func TestMixedLineEnds(t *testing.T) {
	for content, warned := range map[string]bool{"id,note\n1,x\r\n2,y\r\n": true, "id,note\r\n1,x\r\n": false, "id,note\n1,x\n2,y\r\n": false, "id,note\n": false} {
		files := []ingest.SourceFile{{Path: "/memory", Size: int64(len(content))}}
		if got := form("id", "note").Warnings(testfs.Memory{Content: []byte(content)}, files); (len(got) > 0) != warned {
			t.Errorf("%q: %q", content, got)
		}
	}
}

func TestHeadings(t *testing.T) {
	for _, c := range []struct {
		content string
		code    errcode.Code
		names   []string
	}{
		{"ID,TEXT\n1,2\n", errcode.InputColumns, []string{"no column note", "ID, TEXT"}},
		{"ID,NOTE,note,NOTE\n", "", nil},
		{"ID,Note,NOTE\n", errcode.InputColumns, []string{"column note", "twice"}},
		{"ID;NOTE\n", errcode.InputColumns, []string{"is ; the field delimiter?"}},
		{"ID\x01NOTE\n", errcode.InputColumns, []string{`"ID\x01NOTE"`, "input.header: false", `is \x01 the`}},
		{"ID,NOTE\r1,a\r2,b\r", errcode.InputColumns, []string{"holds CR", `tr '\r' '\n'`}},
		{"\"ID\",\"NOTE\"\r\"1\",\"a\"\r", errcode.InputColumns, []string{"byte 10 ", "CR alone"}},
		{"ID,\"NOTE\n", errcode.InputColumns, []string{"quote at byte 3", "not closed"}},
		{"\xff\xfeI\x00", "", []string{"UTF-16"}}, // a charset.MarkError
		{"\x00I\x00D\x00,\x00n\x00o\x00t\x00e\x00\n", "", []string{"UTF-16 without"}},
		{"I\x00D\x00,\x00n\x00o\x00t\x00e\x00\n\x00", "", []string{"UTF-16 without"}},
		{"ID,\xff,NOTE", errcode.InputColumns, []string{`"\xff"`, "utf-8"}},
	} {
		_, err := read(t, form("ID", "note"), c.content)
		mark := errors.As(err, new(*charset.MarkError))
		if (err == nil) != (c.names == nil) || errcode.Outermost(err) != c.code ||
			mark != (err != nil && c.code == "") || err != nil && !testwords.Names(err, c.names...) {
			t.Errorf("%q: %v, want %s %q", c.content, err, c.code, c.names)
		}
	}
	// A byte in quotes is no sign of a delimiter.
	if _, err := read(t, form("ID", "note"), "\"ID,A;B\"\n"); errcode.Outermost(err) != errcode.InputColumns ||
		testwords.Names(err, "the field delimiter?") {
		t.Errorf("a heading in quotes: %v", err)
	}
}

// TestHint: where a heading is missing, only the first record can tell that the delimiter is another one.
func TestHint(t *testing.T) {
	f := with(form("a", "b"), func(f *Form) { f.NoHeading = true })
	in, err := f.Open(testfs.Memory{Content: []byte("1;2\n3;4\n")}, ingest.Split{File: ingest.SourceFile{Path: "/memory", Size: 8}, End: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for first := range 2 {
		_, err := in.Next()
		var bad *ingest.BadRecord
		if !errors.As(err, &bad) || (bad.Hint == "") != (first > 0) || first == 0 &&
			!(strings.Contains(bad.Hint, "/memory") && strings.Contains(bad.Hint, "is ; the")) {
			t.Errorf("record %d: hint %q of %v", first+1, bad.Hint, err)
		}
	}
}

// TestSameHeadings: files whose headings differ are not one input.
func TestSameHeadings(t *testing.T) {
	dir := t.TempDir()
	var files []ingest.SourceFile
	for i, content := range []string{"ID,NOTE\n1,2\n", "", "\nID,NOTE\r\n", "NOTE,ID\n"} {
		name := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, ingest.SourceFile{Path: name, Size: int64(len(content)), Ordinal: i})
	}
	f := form("id")
	if splits, err := f.Splits(storage.Local, files[:3], 4); err != nil || len(splits) != 2 {
		t.Errorf("%v (%v)", splits, err)
	}
	_, err := f.Splits(storage.Local, files, 4)
	if errcode.Outermost(err) != errcode.InputColumns || !testwords.Names(err, files[0].Path, files[3].Path, "NOTE,ID") {
		t.Errorf("other heading: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for name, bad := range map[string]*Form{
		"no columns":       form(),
		"no delimiter":     with(form("a"), func(f *Form) { f.Delimiter = 0 }),
		"line break":       with(form("a"), func(f *Form) { f.Delimiter = '\n' }),
		"the same":         with(form("a"), func(f *Form) { f.Delimiter = '"' }),
		"not ASCII":        with(form("a"), func(f *Form) { f.Delimiter = 0xa7 }),
		"part of a letter": with(form("a"), func(f *Form) { f.Quote, f.Charset = '|', named(t, "gbk") }),
	} {
		if err := bad.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestWindow: however little of a file is read at a time, the records are the same.
func TestWindow(t *testing.T) {
	f := with(form("a", "b", "c"), func(f *Form) { f.SkipNoise = true })
	content := strings.Repeat("1,\"x\"\"y\n\nz\",3\r\n\"a\"\"\",,\"\"\r\n1,2,\"no\n4,5,6\r\nSQL> x\n", 3) + "\"x\",\"y\",\"z\""
	content = "A,B,C\r\n" + content
	whole, err := read(t, f, content)
	if err != nil || len(whole) != 13 {
		t.Fatalf("%d records (%v): %q", len(whole), err, texts(whole))
	}
	for window := minWindow; window < 60; window++ {
		part, err := readWindow(t, f, content, window, maxRecord)
		if err != nil || !reflect.DeepEqual(part, whole) {
			t.Fatalf("window %d (%v):\n got %q\nwant %q", window, err, texts(part), texts(whole))
		}
	}
}

// TestLongest: a quote that nothing closes costs its line, not the rest of the file; a line without end is no CSV.
func TestLongest(t *testing.T) {
	f := form("a", "b")
	content := "A,B\n1,\"x\n" + strings.Repeat("2,y\n", 100)
	all, err := readWindow(t, f, content, 16, 64)
	if err != nil || len(all) != 101 || all[0].reason == "" || all[100].fields != "2|y" {
		t.Errorf("%d records (%v), first %q", len(all), err, texts(all[:1]))
	}
	_, err = readWindow(t, f, "A,B\n1,"+strings.Repeat("x", 200), 16, 64)
	if errcode.Outermost(err) != errcode.InputFormat || !testwords.Names(err, "byte 4 ", "64 bytes") {
		t.Errorf("a long line: %v", err)
	}
	for _, window := range []int{16, 33, 64} {
		if all, err := readWindow(t, f, "A,B\n1,"+strings.Repeat("x", 62)+"\n2,y\n", window, 64); err != nil || len(all) != 2 {
			t.Errorf("a line of 64 bytes in a window of %d: %d records, %v", window, len(all), err)
		}
		_, err = readWindow(t, f, "A,B\n1,"+strings.Repeat("x", 63)+"\n2,y\n", window, 64)
		if errcode.Outermost(err) != errcode.InputFormat || errcode.InputFormat.Kind() != errcode.Refused {
			t.Errorf("a line of 65 bytes in a window of %d: %v", window, err)
		}
	}
	_, err = readWindow(t, f, strings.Repeat("a,b\r", 20), 16, 64)
	if errcode.Outermost(err) != errcode.InputFormat || !testwords.Names(err, "CR alone") {
		t.Errorf("lines that end with CR: %v", err)
	}
	_, err = readWindow(t, f, "A,B\n1,a\"b"+strings.Repeat("x", 200), 16, 64)
	if errcode.Outermost(err) != errcode.InputFormat || !testwords.Names(err, "byte 4 ", "64 bytes") {
		t.Errorf("a long line with a stray quote: %v", err)
	}
}

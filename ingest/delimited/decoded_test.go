package delimited

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
)

func charsetNamed(t testing.TB, name string) *charset.Charset {
	t.Helper()
	c, err := charset.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOtherCharsets: records of other charsets are cut where their characters are, and offsets are those of the file.
func TestOtherCharsets(t *testing.T) {
	bars := func(name string) *Form {
		return &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\n"),
			Null: []byte("空"), Charset: charsetNamed(t, name)}
	}
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		want    []got
	}{
		{"a second byte like the delimiter", bars("gbk"), "\x81\x7c|\xd6\xd0\nx|\xbf\xd5\n", []got{
			{0, 1, "\x81\x7c|\xd6\xd0", []string{"亅", "中"}, ""},
			{6, 2, "x|\xbf\xd5", []string{"x", "<nil>"}, ""}}},
		{"columns are counted in characters", bars("gbk"), "\x81\x7c\x81\x7c\n", []got{{0, 1, "\x81\x7c\x81\x7c", nil, "1 column instead of 2"}}},
		{"no character", bars("gbk"), "a|b\xff\xd6\xd0c\nd|e\n", []got{
			{0, 1, "a|b\xff\xd6\xd0c", nil, "not gbk: ff d6 d0 63 at byte 3 of the record"},
			{8, 2, "d|e", []string{"d", "e"}, ""}}},
		{"cut off at the end", bars("gb18030"), "a|\x81\x30\x81\n", []got{{0, 1, "a|\x81\x30\x81", nil, "not gb18030: 81 30 81 at byte 2 of the record"}}},
		{"single bytes", bars("windows-1252"), "\x80|\xdf\n", []got{{0, 1, "\x80|\xdf", []string{"€", "ß"}, ""}}},
		{"a delimiter that is not ASCII", &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("\xa7"), RecordDelimiter: []byte("\n"),
			Charset: charsetNamed(t, "iso-8859-1")}, "x\xa7\xe9", []got{{0, 1, "x\xa7\xe9", []string{"x", "é"}, ""}}},
	} {
		if got := read(t, c.form, c.content); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestCharsetSplits: cut anywhere, a file in GBK gives the records it gives as a whole.
func TestCharsetSplits(t *testing.T) {
	form := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\n"), Charset: charsetNamed(t, "gbk")}
	content := strings.Repeat("\x81\x7c\x95\x5c|\xd6\xd0\n|\xc0\xff\nabc|\x81\n", 20)
	whole := read(t, form, content)
	m := testfs.Memory{Content: []byte(content)}
	for size := int64(1); size < 40; size += 3 {
		splits, err := form.Splits(m, []ingest.SourceFile{fileOf(m)}, size)
		if err != nil {
			t.Fatal(err)
		}
		var all []got
		for _, s := range splits {
			all = append(all, readAll(t, form, m, s)...)
		}
		for i := range all {
			all[i].number = whole[i].number // known only in the first split
		}
		if !reflect.DeepEqual(all, whole) {
			t.Fatalf("size %d: %+v", size, all)
		}
	}
}

func TestBadCharacterColumn(t *testing.T) {
	form := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\n"), Charset: charsetNamed(t, "gbk")}
	m := testfs.Memory{Content: []byte("\x81\x7c|\xff\n")}
	r, err := form.Open(m, ingest.Split{File: fileOf(m), End: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next()
	if bad, ok := err.(*ingest.BadRecord); !ok || bad.Column != "b" || bad.Offset != 0 {
		t.Errorf("got %v", err)
	}
}

func TestCharsetOfDelimiters(t *testing.T) {
	for _, c := range []struct{ field, record, want string }{
		{"|", "\n", ""},
		{"\x01", "\x10", ""},
		{",", "|", "record delimiter |"},
		{"\xff", "\n", `field delimiter \xff`},
	} {
		form := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte(c.field), RecordDelimiter: []byte(c.record), Charset: charsetNamed(t, "gbk")}
		if err := form.Check(); (err == nil) != (c.want == "") || err != nil &&
			(errcode.Outermost(err) != errcode.JobValue || !testwords.Names(err, c.want, "gbk")) {
			t.Errorf("%q %q: %v", c.field, c.record, err)
		}
	}
}

// TestMarks: a file that begins with another charset's mark is refused as a whole.
func TestMarks(t *testing.T) {
	for _, c := range []struct{ charset, head, want string }{
		{"gbk", "\xef\xbb\xbf", "UTF-8"}, {"gbk", "\xff\xfe", "UTF-16"}, {"utf-8", "\xfe\xff", "UTF-16"}, {"utf-8", "\xef\xbb\xbf", ""},
	} {
		form := sqoop("a")
		form.Charset = charsetNamed(t, c.charset)
		m := testfs.Memory{Content: []byte(c.head + "x")}
		_, err := form.Open(m, ingest.Split{File: fileOf(m), End: int64(len(m.Content))})
		if (err == nil) != (c.want == "") || err != nil &&
			!(errors.As(err, new(*charset.MarkError)) && testwords.Names(err, c.want)) {
			t.Errorf("%s %x: %v", c.charset, c.head, err)
		}
	}
}

// TestUTF16WithoutAMark: a file whose first two characters are ASCII in UTF-16 is refused as a whole, in both orders of
// bytes, with the charset's name. A zero byte may be a delimiter, or a part of a value after the first characters.
func TestUTF16WithoutAMark(t *testing.T) {
	for _, c := range []struct {
		charset, field, record, content string
		refused                         bool
	}{
		{"utf-8", "|", "\n", "1\x00|\x00x\x00\n\x00", true},
		{"utf-8", "|", "\n", "\x001\x00|\x00x\x00\n", true},
		{"gbk", "\x01", "\x10", "1\x00\x01\x00x\x00\x10\x00", true},
		{"utf-8", "\x00", "\n", "1\x00x\x00y\x00\n", false},
		{"utf-8", "\x00", "\n", "\x001\x00x\x00\n", false},
		{"utf-8", "|", "\x00", "1\x002\x003\x00", false},
		{"utf-8", "|", "\n", "1\x00|x\n", false},
		{"utf-8", "|", "\n", "12\x00|\x00x\n", false},
		{"utf-8", "|", "\n", "\x00\x00|\x00\n", false},
		{"utf-8", "|", "\n", "1\x00\n", false}, // too short to tell
	} {
		form := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte(c.field), RecordDelimiter: []byte(c.record), Charset: charsetNamed(t, c.charset)}
		m := testfs.Memory{Content: []byte(c.content)}
		_, err := form.Open(m, ingest.Split{File: fileOf(m), End: int64(len(m.Content))})
		if c.refused != (err != nil) || err != nil && !(errors.As(err, new(*charset.MarkError)) && testwords.Names(err, "UTF-16", "without", c.charset)) {
			t.Errorf("%s %q %q: %v", c.charset, c.field, c.content, err)
		}
	}
}

// TestEmptyFirstValue: the first record's value is empty, and its file has nothing else: that is no null, whatever the
// buffers have held before.
func TestEmptyFirstValue(t *testing.T) {
	for _, charset := range []string{"utf-8", "gbk", "windows-1252"} {
		for _, escape := range []byte{0, '\\'} {
			d := &Form{Columns: []string{"a"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\n"), Charset: charsetNamed(t, charset), Escape: escape}
			want := []got{{0, 1, "", []string{""}, ""}, {1, 2, "x", []string{"x"}, ""}}
			if all := read(t, d, "\nx\n"); !reflect.DeepEqual(all, want) {
				t.Errorf("%s, escape %q: %v", charset, escape, all)
			}
		}
	}
}

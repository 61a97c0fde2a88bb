package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"

	"github.com/klauspost/compress/gzip"
)

func escapedForm() *Form {
	return &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte(","), RecordDelimiter: []byte("\n"), Escape: '\\', Null: []byte(`\N`)}
}

func enclosedForm(all bool) *Form {
	d := escapedForm()
	d.Enclosure, d.EncloseAll = '"', all
	return d
}

func TestScannedRecords(t *testing.T) {
	gbk := escapedForm()
	gbk.Charset = charsetNamed(t, "gbk")
	bars := escapedForm()
	bars.FieldDelimiter, bars.RecordDelimiter = []byte("||"), []byte("|\n")
	nulls := enclosedForm(false)
	nulls.ColumnNulls = [][][]byte{{[]byte("null")}, {[]byte(`\N`), []byte("")}}
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		want    []got
	}{
		{"escapes", escapedForm(), `a\,b,c\` + "\n" + `d\\` + "\n", []got{{0, 1, `a\,b,c\` + "\n" + `d\\`, []string{"a,b", "c\nd\\"}, ""}}},
		{"nulls, doubled and not", escapedForm(), `\\N,\N` + "\n" + `\\\N,N` + "\n", []got{
			{0, 1, `\\N,\N`, []string{"<nil>", "<nil>"}, ""}, {7, 2, `\\\N,N`, []string{"<nil>", "N"}, ""}}},
		{"a lone escape at the end", escapedForm(), "a,b\nc,d\\", []got{{0, 1, "a,b", []string{"a", "b"}, ""},
			{4, 2, "c,d\\", nil, `it ends with the escape character \x5c, and nothing that it escapes`}}},
		{"enclosed, an empty one, and none", enclosedForm(false), "\"a,\nb\",\"\"\n,c\"d\n\"e\\\"\",\"\\\\\"", []got{
			{0, 1, "\"a,\nb\",\"\"", []string{"a,\nb", ""}, ""}, {10, 2, ",c\"d", []string{"", "c\"d"}, ""},
			{15, 3, "\"e\\\"\",\"\\\\\"", []string{"e\"", "\\"}, ""}}},
		{"columns are counted outside", enclosedForm(false), "\"a,b,c\"\n1,2,\"3\"\n", []got{
			{0, 1, "\"a,b,c\"", nil, "1 column instead of 2"}, {8, 2, "1,2,\"3\"", nil, "3 columns instead of 2"}}},
		{"a stray enclosure costs its own record", enclosedForm(false), "1,\"x\n2,y\n3,z\n", []got{
			{0, 1, "1,\"x", nil, `the enclosed value has no " at its end`}, {5, 2, "2,y", []string{"2", "y"}, ""}, {9, 3, "3,z", []string{"3", "z"}, ""}}},
		{"and with another enclosure later", enclosedForm(false), "1,\"x\n2,\"y\"\n3,z\n", []got{
			{0, 1, "1,\"x", nil, `the enclosed value has no " at its end`},
			{5, 2, "2,\"y\"", []string{"2", "y"}, ""}, {11, 3, "3,z", []string{"3", "z"}, ""}}},
		{"all must be enclosed", enclosedForm(true), "\"1\",2\n,\"3\"\n", []got{
			{0, 1, "\"1\",2", nil, `the value does not begin with "`}, {6, 2, ",\"3\"", []string{"", "3"}, ""}}},
		{"delimiters of several bytes that begin alike", bars, `a\||||b|c|` + "\n" + `\|\|||` + "|\n", []got{
			{0, 1, `a\||||b|c`, []string{"a|", "|b|c"}, ""}, {11, 2, `\|\|||`, []string{"||", ""}, ""}}},
		{"nulls by the column", nulls, "null,null\n\"null\",\"\\\\N\"\n\\N,\n", []got{
			{0, 1, "null,null", []string{"<nil>", "null"}, ""}, {10, 2, "\"null\",\"\\\\N\"", []string{"<nil>", "<nil>"}, ""}, {23, 3, "\\N,", []string{"N", "<nil>"}, ""}}},
		{"not UTF-8", escapedForm(), "a\\,\xff,b\nc,d\n", []got{
			{0, 1, "a\\,\xff,b", nil, "not UTF-8: ff at byte 2 of the value"}, {7, 2, "c,d", []string{"c", "d"}, ""}}},
		{"a second byte like the escape", gbk, "\x81\x5c,\\\x81\x5c\\,\n\xff\x5c,x\n", []got{
			{0, 1, "\x81\x5c,\\\x81\x5c\\,", []string{"乗", "乗,"}, ""}, {9, 2, "\xff\x5c,x", nil, "1 column instead of 2"}}},
		{"an escape at the end of the buffer", gbk, "a,\\", []got{{0, 1, "a,\\", nil, `it ends with the escape character \x5c, and nothing that it escapes`}}},
		{"no character", gbk, "a\\,\xff\xff,x\n", []got{{0, 1, "a\\,\xff\xff,x", nil, "not gbk: ff ff 2c 78 at byte 3 of the record"}}},
		{"what separates rejects is a value in all other files", enclosedForm(false), "\x1e\n\"a\n\x1e\nb\",c\\\n\x1e\n\n", []got{
			{0, 1, "\x1e", nil, "1 column instead of 2"}, {2, 2, "\"a\n\x1e\nb\",c\\\n\x1e", []string{"a\n\x1e\nb", "c\n\x1e"}, ""},
			{15, 3, "", nil, "1 column instead of 2"}}},
		{"strict: an escaped text of a null is a value", &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte{1},
			RecordDelimiter: []byte("\n"), Escape: '\\', Null: []byte(`\N`), Strict: true}, "\\\\N\x01\\N\n", []got{{0, 1, "\\\\N\x01\\N", []string{`\N`, "<nil>"}, ""}}},
		{"nothing", escapedForm(), "", nil},
		{"a byte order mark", enclosedForm(true), "\xef\xbb\xbf\"a\",\"b\"\n", []got{{3, 1, `"a","b"`, []string{"a", "b"}, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.form.Check(); err != nil {
				t.Fatal(err)
			}
			if all := read(t, c.form, c.content); !reflect.DeepEqual(all, c.want) {
				t.Errorf("got  %+v\nwant %+v", all, c.want)
			}
		})
	}
}

// An enclosure that is open for too long ends the search, not the run.
func TestEnclosureOpenTooLong(t *testing.T) {
	content := "1,\"x\n" + strings.Repeat("22,yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n", maxEnclosed/64+200_000)
	all := read(t, enclosedForm(false), content)
	if len(all) != maxEnclosed/64+200_001 || all[0].reason != "the enclosed value has no \" at its end" || all[1].fields[0] != "22" {
		t.Errorf("%d records, first %+v", len(all), all[0])
	}
}

// Records of any length go over the buffer's end.
func TestScannedAcrossChunks(t *testing.T) {
	for _, size := range []int{chunkSize - 5, chunkSize, 3 * chunkSize} {
		long := strings.Repeat(`v\,"\\`, size/6)
		want := strings.ReplaceAll(strings.ReplaceAll(long, `\,`, ","), `\\`, `\`)
		all := read(t, escapedForm(), "1,2\n"+long+","+long+"\n3,4\n")
		if len(all) != 3 || all[1].fields[1] != want || all[2].fields[1] != "4" {
			t.Errorf("%d bytes: %d records", size, len(all))
		}
		enclosed := strings.Repeat("v,\n", size/3)
		all = read(t, enclosedForm(false), "1,2\n\""+enclosed+"\",\"\"\n3,4\n")
		if len(all) != 3 || all[1].fields[0] != enclosed || all[2].fields[1] != "4" {
			t.Errorf("%d bytes enclosed: %d records", size, len(all))
		}
	}
}

func TestScannedAllocatesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		form   *Form
		record string
	}{
		"escapes": {escapedForm(), `a\,b\\c,\\N` + "\n"}, "enclosures": {enclosedForm(false), `"a,b",c` + "\n"},
		"gbk": {func() *Form { d := escapedForm(); d.Charset = charsetNamed(t, "gbk"); return d }(), "\x81\x5c\\,,\\\\N\n"},
	} {
		m := testfs.Memory{Content: bytes.Repeat([]byte(c.record), 300_000)}
		r, err := c.form.Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(200_000, func() {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
		r.Close()
	}
}

// TestCompressedRecords: offsets and numbers are those of the text, a compressed file is never cut, and Bytes ends at
// the file's size.
func TestCompressedRecords(t *testing.T) {
	var text bytes.Buffer
	for i := range 300_000 {
		fmt.Fprintf(&text, "%d\x01规则%d\x10", i, i%1000)
	}
	text.WriteString("bad\x10")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := testfs.Tree(t, map[string]string{"plain": text.String(), "packed.gz": packed.String()})
	files, err := ingest.List(storage.Local, dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	d := sqoop("a", "b")
	splits := splitsOf(t, storage.Local, d, files, 100_000)
	if len(splits) < 5 || splits[0].End != files[0].Size || splits[1].File.Path != files[1].Path {
		t.Fatalf("splits %+v", splits)
	}
	want := readAll(t, d, storage.Local, ingest.Split{File: files[1], End: files[1].Size})
	if all := readAll(t, d, storage.Local, splits[0]); !reflect.DeepEqual(all, want) {
		t.Errorf("%d records, want %d", len(all), len(want))
	}
	if last := want[len(want)-1]; last.offset != int64(text.Len()-4) || last.number != 300_001 || last.reason == "" {
		t.Errorf("last %+v", last)
	}
}

// A file that was cut short is an error after the records that can be read, never the end of the input.
func TestCompressedFileCutShort(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(bytes.Repeat([]byte("a\x10"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	m := testfs.Memory{Content: packed.Bytes()[:packed.Len()-3]}
	r, err := sqoop("a").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
	for err == nil {
		_, err = r.Next()
	}
	if errcode.Outermost(err) != errcode.InputDamaged || !errors.Is(err, io.ErrUnexpectedEOF) ||
		!testwords.Names(err, "/memory", "gzip") {
		t.Error(err)
	}
}

func TestRecognise(t *testing.T) {
	zeros := strings.Repeat("\x00", 5000)
	for _, c := range []struct{ name, head, want string }{
		{"/exp.dmp", "\x03\x00\x01EXPORT:V11.02.00\nDSCOTT\n", "a dump of Oracle's"},
		{"/x", "\x03\x03T\x00\x01EXPORT:V10.02.01\nUSYSTEM\n", "a dump of Oracle's"},
		{"/x", "\x00\x01\x00\x04" + zeros[:63] + `"SYS"."SYS_EXPORT_TABLE_01"` + zeros, "an Oracle Data Pump"},
		{"/x", zeros[:4096] + "\x01\x02<?xml version=\"1.0\"?><ROWSET>" + zeros, "an Oracle Data Pump"},
		{"/x", "KGC\x01\x02HDR" + zeros, "an Oracle Data Pump"},
		{"/table.dmp", "\x01" + zeros, "an Oracle Data Pump"},
		{"/table.dmp", "1\x01a.dmp of text\x10", ""},
		{"/x", "\x01" + zeros, ""},
		{"/x", "PAR1\x15\x04\x15\x20\x00", "a Parquet file"},
		{"/x", "PAR1 is a value\x01b\x10", ""},
		{"/x", "ORC\x0a\x00\x00", "an ORC file"},
		{"/x", "ORCHID\x01b\x10", ""},
		{"/x", "Obj\x01\x02\x16avro.schema\xfa", "an Avro file"},
		{"/x", "Obj\x01b\x10", ""},
		{"/x", "SEQ\x06\x21org.apache.hadoop.io.NullWritable\x22org.apache.hadoop.io.BytesWritable", "a SequenceFile"},
		{"/x", "SEQUENCE,1\n", ""},
		{"/x", "DATABLK*\x00\x00", "an HFile"},
		{"/x", "a.txt" + zeros[:252] + "ustar  " + zeros[:300], "a tar archive"},
		{"/x", "\x01EXPORT: a value\x10", ""},
		{"/x", `"SYS"."T"` + "\x10", ""},
		{"/x.gz", "\x1f\x8b\x08\x00", "compressed twice (gzip inside"},
		{"/x.csv", "(\xb5/\xfd", "compressed twice (zstd inside"},
		{"/x", "", ""},
	} {
		err := ingest.DetectForeign(c.name, []byte(c.head))
		var refused *compressed.RefusedError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.head[:min(len(c.head), 40)], err)
		case c.want != "" && (!errors.As(err, &refused) || !strings.HasPrefix(refused.What, c.want) ||
			!testwords.Names(err, c.name)):
			t.Errorf("%q: %v; want %s", c.head[:min(len(c.head), 40)], err, c.want)
		}
	}
}

func TestCheckMarks(t *testing.T) {
	for want, d := range map[string]*Form{
		"byte 80":     {Escape: 0x80},
		`\n`:          {Enclosure: '\n'},
		"format: csv": {Escape: '"', Enclosure: '"'},
	} {
		d.Columns, d.FieldDelimiter, d.RecordDelimiter = []string{"a"}, []byte(","), []byte("\n")
		if err := d.Check(); errcode.Outermost(err) != errcode.JobValue || !testwords.Names(err, want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// FuzzScanner: wherever the buffer ends, a record is the same or the scanner asks for more; and text without escapes
// and enclosures is cut as it is by the readers that know none.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`a\,b,"c,`+"\n"+`d"`+"\n"+`\\N,`), byte('\\'), byte('"'), false, []byte(","), []byte("\n"))
	f.Add([]byte("a||b|\nc|||\n"), byte(0), byte(0), false, []byte("||"), []byte("|\n"))
	f.Add([]byte("\x81\x5c,\\\x81\x5c\n"), byte('\\'), byte(0), true, []byte(","), []byte("\n"))
	f.Fuzz(func(t *testing.T, content []byte, escape, enclosure byte, other bool, field, record []byte) {
		d := &Form{Columns: make([]string, 3), FieldDelimiter: field, RecordDelimiter: record, Escape: escape, Enclosure: enclosure, EncloseAll: other}
		if other && enclosure == 0 {
			d.EncloseAll, d.Charset = false, charsetNamed(t, "gbk")
		}
		d.Compression = compressed.None
		if d.Check() != nil || len(content) > 2000 || len(field) == 0 || ingest.DetectForeign("/memory", content) != nil ||
			d.Charset.CheckMark(content) != nil || d.Charset.CheckUTF16(content) != nil {
			return
		}
		if !d.needsScanner() && (!d.Charset.IsUTF8() || len(field) > 1 || len(record) > 1) {
			return // delimiters that overlap are recognized in another order
		}
		if !d.needsScanner() {
			comparePlain(t, d, content)
			return
		}
		s := newScanner(d, "/memory")
		end, next, err := s.record(content, true)
		whole := fmt.Sprint(end, next, err, s.spans)
		for n := range content {
			end, next, err := s.record(content[:n], false)
			if err == errMore {
				continue
			}
			if part := fmt.Sprint(end, next, err, s.spans); part != whole {
				t.Fatalf("of %d bytes %s, of all %s", n, part, whole)
			}
		}
		rejoined := 0
		for _, rec := range read(t, d, string(content)) {
			if int(rec.offset) < rejoined || !bytes.HasPrefix(content[rec.offset:], []byte(rec.raw)) {
				t.Fatalf("record %+v after byte %d", rec, rejoined)
			}
			rejoined = int(rec.offset) + len(rec.raw)
		}
		if rest := len(content) - rejoined; rest > len(record) && len(content) > 3 && bytes.IndexByte(content, ingest.RejectSeparator) < 0 {
			t.Fatalf("%d bytes are in no record", rest)
		}
	})
}

// comparePlain scans text in which there is nothing to look for but delimiters, and compares that with how it is read
// without a scanner.
func comparePlain(t *testing.T, d *Form, content []byte) {
	t.Helper()
	s := &scanner{form: d, ends: d.RecordDelimiter}
	s.outside[d.FieldDelimiter[0]] |= endsField
	s.outside[d.RecordDelimiter[0]] |= endsRecord
	for _, want := range read(t, d, string(content)) {
		rest := content[want.offset:]
		end, _, err := s.record(rest, true)
		if err != nil || string(rest[:end]) != want.raw {
			t.Fatalf("%q: %v, want %+v", content, err, want)
		}
		if want.reason == "" || strings.Contains(want.reason, ", want ") {
			if good := s.columns == len(d.Columns); good != (want.reason == "") {
				t.Fatalf("%q: %d columns, want %+v", content, s.columns, want)
			}
		}
		for i, field := range want.fields {
			if got := string(rest[s.spans[i].start:s.spans[i].end]); got != field {
				t.Fatalf("%q: column %d is %q, want %+v", content, i, got, want)
			}
		}
	}
}

// FuzzUnescape: what was escaped is what it was.
func FuzzUnescape(f *testing.F) {
	f.Add([]byte(`a\b\\`), byte('\\'))
	f.Fuzz(func(t *testing.T, text []byte, escape byte) {
		var escaped []byte
		for _, b := range text {
			if b == escape || b == ',' {
				escaped = append(escaped, escape)
			}
			escaped = append(escaped, b)
		}
		if got := unescape(nil, escaped, escape); !bytes.Equal(got, text) {
			t.Fatalf("%q by %q: %q", escaped, escape, got)
		}
		_ = unescape(nil, text, escape)
	})
}

package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// got is a record or a bad record, copied.
type got struct {
	offset, number int64
	raw            string
	fields         []string // "<nil>" for a null
	reason         string
}

// readAll reads a split to its end.
func readAll(t testing.TB, d *Form, fsys storage.FS, split ingest.Split) []got {
	t.Helper()
	r, err := d.Open(fsys, split)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []got
	for {
		rec, err := r.Next()
		var bad *ingest.BadRecord
		switch {
		case errors.Is(err, io.EOF):
			if r.Bytes() != split.End-split.Start {
				t.Errorf("at the end of %d-%d Bytes is %d", split.Start, split.End, r.Bytes())
			}
			return all
		case errors.As(err, &bad):
			all = append(all, got{bad.Offset, bad.Number, string(bad.Raw), nil, bad.Reason})
		case err != nil:
			t.Fatal(err)
		default:
			all = append(all, got{rec.Offset, rec.Number, string(rec.Raw), texts(rec.Fields), ""})
		}
	}
}

func texts(fields []values.Value) []string {
	var s []string
	for _, f := range fields {
		if f.Null() {
			s = append(s, "<nil>")
		} else {
			s = append(s, string(f.Bytes()))
		}
	}
	return s
}

func read(t testing.TB, d *Form, content string) []got {
	t.Helper()
	return readNamed(t, d, "/memory", content)
}

func readNamed(t testing.TB, d *Form, name, content string) []got {
	t.Helper()
	m := testfs.Memory{Content: []byte(content)}
	file := fileOf(m)
	file.Path = name
	return readAll(t, d, m, ingest.Split{File: file, End: file.Size})
}

func sqoop(columns ...string) *Form {
	return &Form{Columns: columns, FieldDelimiter: []byte{1}, RecordDelimiter: []byte{0x10}, Null: []byte(`\N`)}
}

func TestRecords(t *testing.T) {
	two, one := sqoop("a", "b"), sqoop("a")
	wide := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("||"), RecordDelimiter: []byte("\r\n")}
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		want    []got
	}{
		{"nothing", two, "", nil},
		{"one record", two, "x\x01y\x10", []got{{0, 1, "x\x01y", []string{"x", "y"}, ""}}},
		{"no last delimiter", two, "x\x01y\x10z\x01", []got{{0, 1, "x\x01y", []string{"x", "y"}, ""}, {4, 2, "z\x01", []string{"z", ""}, ""}}},
		{"nulls and empties", two, "\\N\x01\x10\x01\\N\x10\\Nx\x01\\n\x10", []got{
			{0, 1, "\\N\x01", []string{"<nil>", ""}, ""}, {4, 2, "\x01\\N", []string{"", "<nil>"}, ""}, {8, 3, "\\Nx\x01\\n", []string{"\\Nx", "\\n"}, ""}}},
		{"newlines and Chinese", two, "规\n则\x01\r\n\x10", []got{{0, 1, "规\n则\x01\r\n", []string{"规\n则", "\r\n"}, ""}}},
		{"a column too many and too few", two, "a\x01b\x01c\x10d\x10e\x01f\x10", []got{
			{0, 1, "a\x01b\x01c", nil, "3 columns instead of 2"}, {6, 2, "d", nil, "1 column instead of 2"}, {8, 3, "e\x01f", []string{"e", "f"}, ""}}},
		{"an empty record between", two, "a\x01b\x10\x10c\x01d\x10", []got{
			{0, 1, "a\x01b", []string{"a", "b"}, ""}, {4, 2, "", nil, "1 column instead of 2"}, {5, 3, "c\x01d", []string{"c", "d"}, ""}}},
		{"an empty record of one column", one, "\x10a\x10\x10", []got{
			{0, 1, "", []string{""}, ""}, {1, 2, "a", []string{"a"}, ""}, {3, 3, "", []string{""}, ""}}},
		{"byte order mark", two, "\xef\xbb\xbfa\x01b\x10\xef\xbb\xbfc\x01d\x10", []got{
			{3, 1, "a\x01b", []string{"a", "b"}, ""}, {7, 2, "\xef\xbb\xbfc\x01d", nil, "a byte order mark before the record, as in files that were joined; join them without their marks"}}},
		{"a byte order mark within a record", two, "a\x01\xef\xbb\xbfb\x10", []got{{0, 1, "a\x01\xef\xbb\xbfb", []string{"a", "\xef\xbb\xbfb"}, ""}}},
		{"a byte order mark alone", two, "\xef\xbb\xbf", nil},
		{"delimiters of several bytes", wide, "a|b||c\nd\r\n|||\r\n\re||f", []got{
			{0, 1, "a|b||c\nd", []string{"a|b", "c\nd"}, ""}, {10, 2, "|||", []string{"", "|"}, ""}, {15, 3, "\re||f", []string{"\re", "f"}, ""}}},
		{"several bytes, columns too many", wide, "a||b||\r\n", []got{{0, 1, "a||b||", nil, "3 columns instead of 2"}}},
		{"bytes that are not UTF-8", two, "规\x01ab\xc3\x10x\x01\xef\xbf\xbd\x10\xed\xa0\x80\x01\x10", []got{
			{0, 1, "规\x01ab\xc3", nil, "not UTF-8: c3 at byte 2 of the value"}, {8, 2, "x\x01\xef\xbf\xbd", []string{"x", "\ufffd"}, ""},
			{14, 3, "\xed\xa0\x80\x01", nil, "not UTF-8: ed a0 80 at byte 0 of the value"}}},
		{"delimiters that are not UTF-8", &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte{0xfe}, RecordDelimiter: []byte{0xff}}, "规\xfeb\xff", []got{
			{0, 1, "规\xfeb", []string{"规", "b"}, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if all := read(t, c.form, c.content); !reflect.DeepEqual(all, c.want) {
				t.Errorf("got  %+v\nwant %+v", all, c.want)
			}
		})
	}
}

// Whatever the content, the delimiters and the size of the splits: all splits together hold each record once, in order.
func TestSplitsHoldEachRecordOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	delimiters := []string{"\x10", "\n", "ab", "abc", "||", "\r\n", "aab", "\xbf", "\xbb\xbf", "abab"}
	alphabet := []string{"a", "b", "c", "|", "\r", "\n", "\x10", "\x01", "\xbf", "ab", "||", "\r\n", "xyz"}
	for round := range 4000 {
		d := &Form{Columns: []string{"x", "y"}, FieldDelimiter: []byte{1}, RecordDelimiter: []byte(delimiters[r.IntN(len(delimiters))])}
		var content strings.Builder
		if r.IntN(3) == 0 {
			content.WriteString("\xef\xbb\xbf")
		}
		for range r.IntN(60) {
			content.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		m := testfs.Memory{Content: []byte(content.String())}
		whole := ingest.Split{File: fileOf(m), End: int64(len(m.Content))}
		want := readAll(t, d, m, whole)
		var all []got
		for _, s := range splitsOf(t, m, d, []ingest.SourceFile{fileOf(m)}, int64(1+r.IntN(20))) {
			all = append(all, readAll(t, d, m, s)...)
		}
		for i := range want {
			want[i].number = 0
		}
		for i := range all {
			all[i].number = 0
		}
		if !reflect.DeepEqual(all, want) {
			t.Fatalf("round %d, delimiter %q, content %q\ngot  %+v\nwant %+v", round, d.RecordDelimiter, content.String(), all, want)
		}
	}
}

// The same with every boundary of a content that is longer than a chunk.
func TestSplitAcrossChunks(t *testing.T) {
	d := &Form{Columns: []string{"x", "y"}, FieldDelimiter: []byte("<>"), RecordDelimiter: []byte("<|>")}
	var content bytes.Buffer
	for i := 0; content.Len() < 3*chunkSize; i++ {
		fmt.Fprintf(&content, "%d<>%s<|>", i, strings.Repeat("x", i*7919%3000))
	}
	m := testfs.Memory{Content: content.Bytes()}
	want := readAll(t, d, m, ingest.Split{File: fileOf(m), End: int64(content.Len())})
	for _, size := range []int64{chunkSize - 1, chunkSize, 2*chunkSize + 1} {
		var all []got
		for _, s := range splitsOf(t, m, d, []ingest.SourceFile{fileOf(m)}, size) {
			all = append(all, readAll(t, d, m, s)...)
		}
		if len(all) != len(want) {
			t.Fatalf("size %d: %d records, want %d", size, len(all), len(want))
		}
		for i := range all {
			if all[i].offset != want[i].offset || all[i].raw != want[i].raw {
				t.Fatalf("size %d: record %d is at %d, want %d", size, i, all[i].offset, want[i].offset)
			}
		}
	}
}

func TestSplits(t *testing.T) {
	files := []ingest.SourceFile{{Path: "/a", Size: 10}, {Path: "/b"}, {Path: "/c", Size: 3, Ordinal: 2}}
	type part struct {
		path       string
		start, end int64
	}
	for _, c := range []struct {
		delimiter string
		size      int64
		want      []part
	}{
		{"\n", 4, []part{{"/a", 0, 4}, {"/a", 4, 10}, {"/c", 0, 3}}},
		{"\n", 3, []part{{"/a", 0, 3}, {"/a", 3, 6}, {"/a", 6, 10}, {"/c", 0, 3}}},
		{"\n", 100, []part{{"/a", 0, 10}, {"/c", 0, 3}}},
		{"\n", 0, []part{{"/a", 0, 10}, {"/c", 0, 3}}},
		{"||", 3, []part{{"/a", 0, 10}, {"/c", 0, 3}}},
	} {
		var all []part
		for _, s := range splitsOf(t, testfs.Memory{Content: []byte("0123456789")}, &Form{RecordDelimiter: []byte(c.delimiter)}, files, c.size) {
			all = append(all, part{s.File.Path, s.Start, s.End})
		}
		if !reflect.DeepEqual(all, c.want) {
			t.Errorf("%q by %d: %v, want %v", c.delimiter, c.size, all, c.want)
		}
	}
}

func TestLongRecords(t *testing.T) {
	for _, size := range []int{chunkSize - 3, chunkSize, 5 * chunkSize} {
		long := strings.Repeat("v", size)
		all := read(t, sqoop("a", "b"), "1\x012\x10"+long+"\x01"+long+"\x10"+"3\x014\x10")
		if len(all) != 3 || all[1].fields[1] != long || all[2].fields[1] != "4" {
			t.Errorf("%d bytes: %d records", size, len(all))
		}
	}
}

func TestRecordTooLong(t *testing.T) {
	m := testfs.Memory{Content: []byte("a\x01b\x10" + strings.Repeat("c\x01d\n", 2*chunkSize))}
	r, err := sqoop("a", "b").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
	if err != nil {
		t.Fatal(err)
	}
	r.(*Reader).maxRecord = 3 * chunkSize
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Next()
	if !testwords.Names(err, "/memory", "byte 4 ", fmt.Sprintf("%d bytes", 3*chunkSize), `\n occurs `) {
		t.Errorf("got %v", err)
	}
	if _, again := r.Next(); again != err {
		t.Errorf("then %v", again)
	}
	if errcode.Outermost(err) != errcode.InputFormat || errcode.InputFormat.Kind() != errcode.Refused {
		t.Errorf("%v is not for a person to mend", err)
	}
}

// TestLongestRecord: whether a record is too long does not depend on where the buffer ends.
func TestLongestRecord(t *testing.T) {
	const longest = 3 * chunkSize
	for _, before := range []int{0, 1, chunkSize - 2, chunkSize} {
		for _, size := range []int{longest, longest + 1} {
			m := testfs.Memory{Content: []byte(strings.Repeat("x", before) + "\x01b\x10" + strings.Repeat("c", size-1) + "\x01\x10" + "e\x01f\x10")}
			r, err := sqoop("a", "b").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
			if err != nil {
				t.Fatal(err)
			}
			r.(*Reader).maxRecord = longest
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(); (err == nil) != (size == longest) {
				t.Errorf("%d bytes after %d: %v", size, before, err)
			}
		}
	}
}

// isHint reports whether a hint names what is wanted, and another delimiter only if that is wanted.
func isHint(hint, want string) bool {
	const other = ", but "
	return (hint == "") == (want == "") && strings.Contains(hint, want) &&
		strings.Contains(hint, other) == strings.Contains(want, other)
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"drift", strings.Repeat("a\x01b\x01c\x10", 5), "first 5 records has 3 columns, "},
		{"a long drift", strings.Repeat("a\x01b\x01c\x10", 5000), "first 1000 records has 3 columns, "},
		{"another field delimiter", strings.Repeat("a,b\x10", 5),
			`first 5 records has the field delimiter \x01, but , occurs once`},
		{"the one that gives the columns", strings.Repeat("a|b;c;d\x10", 5),
			`first 5 records has the field delimiter \x01, but | occurs once`},
		{"no field delimiter", strings.Repeat("ab\x10", 5), `first 5 records has the field delimiter \x01`},
		{"no text", strings.Repeat("a\x00\x00\x07\x10", 20), "40 of the first 100 bytes"},
		{"quotes around a delimiter", strings.Repeat("a\x01\"b\x01c\"\x10", 5), "optionally_enclosed_by"},
		{"only the first", "a\x10b\x01c\x10", ""},
		{"another record delimiter", strings.Repeat("a\x01b\n", 9),
			`first 36 bytes hold no record delimiter \x10, but \n occurs 9 times`},
		{"another record delimiter, long", strings.Repeat("a\x01b\n", chunkSize),
			`first 1048576 bytes hold no record delimiter \x10, but \n occurs 262144 times`},
	} {
		m := testfs.Memory{Content: []byte(c.content)}
		r, err := sqoop("a", "b").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Next()
		var bad *ingest.BadRecord
		if !errors.As(err, &bad) || !isHint(bad.Hint, c.want) {
			t.Errorf("%s: %v, hint %q; want %q", c.name, err, bad.Hint, c.want)
		}
		if _, err = r.Next(); errors.As(err, &bad) && bad.Hint != "" {
			t.Errorf("%s: said twice", c.name)
		}
	}
}

// TestHintsWithEscapes: what is escaped or enclosed is no sign of a delimiter.
func TestHintsWithEscapes(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"another field delimiter", strings.Repeat("a|b\n", 5),
			`first 5 records has the field delimiter \x01, but | occurs once`},
		{"an escaped one before", strings.Repeat(`a\,b|c`+"\n", 5),
			`first 5 records has the field delimiter \x01, but | occurs once`},
		{"only escaped ones", strings.Repeat(`a\,b\|c`+"\n", 5), `first 5 records has the field delimiter \x01`},
		{"only enclosed ones", strings.Repeat(`"a,b|c"`+"\n", 5), `first 5 records has the field delimiter \x01`},
		{"escaped record delimiters", strings.Repeat("a|b\\\nc\n", 5),
			`first 5 records has the field delimiter \x01, but | occurs once`},
		{"drift", strings.Repeat("a\x01b\\\n\x01c\n", 5), "first 5 records has 3 columns, "},
	} {
		form := sqoop("a", "b")
		form.RecordDelimiter, form.Escape, form.Enclosure = []byte("\n"), '\\', '"'
		m := testfs.Memory{Content: []byte(c.content)}
		r, err := form.Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Next()
		var bad *ingest.BadRecord
		if !errors.As(err, &bad) || !isHint(bad.Hint, c.want) {
			t.Errorf("%s: %v, hint %q; want %q", c.name, err, bad.Hint, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	good := sqoop("a")
	for _, c := range []struct {
		name    string
		form    *Form
		content string
		split   ingest.Split
		code    errcode.Code
		want    string
	}{
		{"no columns", &Form{FieldDelimiter: []byte{1}, RecordDelimiter: []byte{2}}, "", ingest.Split{}, "", "columns"},
		{"no record delimiter", &Form{Columns: []string{"a"}}, "", ingest.Split{}, "", "record delimiter"},
		{"no field delimiter", &Form{Columns: []string{"a", "b"}, RecordDelimiter: []byte{2}}, "", ingest.Split{}, "",
			"field delimiter"},
		{"equal delimiters", &Form{Columns: []string{"a"}, FieldDelimiter: []byte{2}, RecordDelimiter: []byte{2}}, "",
			ingest.Split{}, errcode.JobValue, `\x02`},
		{"file grown", good, "abc", ingest.Split{File: ingest.SourceFile{Path: "/f", Size: 2}, End: 2}, errcode.InputChanged,
			"has 3 "},
		{"beyond the end", good, "abc", ingest.Split{File: ingest.SourceFile{Path: "/f", Size: 3}, End: 4}, "",
			"no bytes 0 to 4"},
		{"gzip", good, "\x1f\x8b\x08\x00\x10", ingest.Split{File: ingest.SourceFile{Path: "/f", Size: 5}, End: 5},
			errcode.InputDamaged, "gzip"},
		{"bzip2", good, "BZh91AY&SY\x00\x10", ingest.Split{File: ingest.SourceFile{Path: "/f", Size: 12}, End: 12},
			errcode.InputDamaged, "bzip2"},
		{"parquet", good, "PAR1\x15\x04\x00", ingest.Split{File: ingest.SourceFile{Path: "/f", Size: 7}, End: 7},
			errcode.InputFormat, "Parquet"},
		{"snappy by name", good, "abc", ingest.Split{File: ingest.SourceFile{Path: "/f.snappy", Size: 3}, End: 3},
			errcode.InputFormat, "snappy"},
	} {
		_, err := c.form.Open(testfs.Memory{Content: []byte(c.content)}, c.split)
		if errcode.Outermost(err) != c.code || !testwords.Names(err, c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

// Text may begin as bzip2 does.
func TestTextThatBeginsLikeBzip2(t *testing.T) {
	for _, text := range []string{"BZh", "BZh9 is a name\x01b\x10", "BZh01AY&SY\x10"} {
		if _, err := sqoop("a").Open(testfs.Memory{Content: []byte(text)}, ingest.Split{File: ingest.SourceFile{Path: "/f", Size: int64(len(text))}, End: int64(len(text))}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A file that is cut short while it is read is an error, never a short input.
func TestFileCutShort(t *testing.T) {
	m := testfs.Memory{Content: bytes.Repeat([]byte("a\x10"), chunkSize)}
	r, err := sqoop("a").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
	if err != nil {
		t.Fatal(err)
	}
	r.(*Reader).file = testfs.File{Reader: bytes.NewReader(m.Content[:chunkSize+1])}
	for {
		if _, err = r.Next(); err != nil {
			break
		}
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestReadersSideBySide(t *testing.T) {
	d := sqoop("a", "b")
	dir := testfs.Tree(t, map[string]string{"f": strings.Repeat("abc\x01def\x10", 200_000)})
	files, err := ingest.List(storage.Local, filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for _, s := range splitsOf(t, storage.Local, d, files, files[0].Size/2) {
		wg.Go(func() {
			n := len(readAll(t, d, storage.Local, s))
			mu.Lock()
			defer mu.Unlock()
			total += n
		})
	}
	wg.Wait()
	if total != 200_000 {
		t.Errorf("%d records", total)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	m := testfs.Memory{Content: bytes.Repeat([]byte("abc\x01\\N\x01def\x10"), 300_000)}
	r, err := sqoop("a", "b", "c").Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(200_000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\x01b\x10c\x01d\x10"), []byte{1}, []byte{0x10}, uint8(2), uint8(3))
	f.Add([]byte("\xef\xbb\xbfa||b\r\n\r\n"), []byte("||"), []byte("\r\n"), uint8(2), uint8(1))
	f.Add([]byte("aaaa"), []byte("b"), []byte("aa"), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, content, field, record []byte, columns, size uint8) {
		d := &Form{Columns: make([]string, columns), FieldDelimiter: field, RecordDelimiter: record}
		if d.Check() != nil || size == 0 {
			return
		}
		m := testfs.Memory{Content: content}
		if r, err := d.Open(m, ingest.Split{File: fileOf(m), End: fileOf(m).Size}); err != nil {
			return // compressed
		} else {
			r.Close()
		}
		want := readAll(t, d, m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
		if n := bytes.Count(bytes.TrimPrefix(content, byteOrderMark), record); len(want) != n && len(want) != n+1 {
			t.Fatalf("%d records, %d delimiters", len(want), n)
		}
		var all []got
		for _, s := range splitsOf(t, m, d, []ingest.SourceFile{fileOf(m)}, int64(size)) {
			all = append(all, readAll(t, d, m, s)...)
		}
		if len(all) != len(want) {
			t.Fatalf("in splits %+v, whole %+v", all, want)
		}
		for i := range all {
			if all[i].offset != want[i].offset || all[i].raw != want[i].raw {
				t.Fatalf("in splits %+v, whole %+v", all[i], want[i])
			}
		}
	})
}

// splitsOf are the splits of delimited files.
func splitsOf(t testing.TB, fsys storage.FS, d *Form, files []ingest.SourceFile, size int64) []ingest.Split {
	t.Helper()
	splits, err := d.Splits(fsys, files, size)
	if err != nil {
		t.Fatal(err)
	}
	return splits
}

// fileOf is the file of a file system in memory.
func fileOf(m testfs.Memory) ingest.SourceFile {
	return ingest.SourceFile{Path: "/memory", Size: int64(len(m.Content))}
}

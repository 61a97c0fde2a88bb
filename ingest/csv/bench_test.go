package csv

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/delimited"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
)

// lines are 18 columns a line, like the check table's, as SQL*Plus writes them: numbers bare, text quoted or not at
// all.
func lines(quote string) string {
	var b strings.Builder
	for i := range 18 {
		b.WriteString(",C" + strconv.Itoa(i))
	}
	heading := b.String()[1:] + "\n"
	b.Reset()
	for b.Len() < 32<<20 {
		for i := range 18 {
			if i > 0 {
				b.WriteByte(',')
			}
			switch i % 3 {
			case 0:
				b.WriteString(strconv.Itoa(b.Len() * 7919 % 1000003))
			case 1:
				b.WriteString(quote + "2026-11-20 10:11:12" + quote)
			default:
				b.WriteString(quote + "some text of a value" + quote)
			}
		}
		b.WriteByte('\n')
	}
	return heading + b.String()
}

func BenchmarkReader(b *testing.B) {
	var columns []string
	for i := range 18 {
		columns = append(columns, "C"+strconv.Itoa(i))
	}
	all := form(columns...)
	quoted := lines("\"")
	chinese := strings.ReplaceAll(quoted, "some text of a value", "\xd2\xbb\xb8\xf6\xd6\xd0\xce\xc4\xb5\xc4\xd6\xb5\xcf\xe0\xb5\xb1\xb3\xa4\xb5\xc4")
	for _, c := range []struct {
		name    string
		form    *Form
		content string
	}{
		{"quoted", all, quoted},
		{"bare", all, lines("")},
		{"three columns of eighteen", form(columns[0], columns[5], columns[17]), quoted},
		{"doubled quotes", all, strings.ReplaceAll(quoted, "some text", "so\"\"me \"\"text")},
		{"gbk", with(all, func(f *Form) { f.Charset = named(b, "gbk") }), chinese},
		{"gbk, a delimiter that may end a character", with(form(columns...), func(f *Form) { f.Charset, f.Delimiter = named(b, "gbk"), '|' }),
			strings.ReplaceAll(chinese, ",", "|")},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.form, []byte(c.content)) })
	}
}

// BenchmarkSameRows: the check table's rows as Sqoop's text and as CSV, in UTF-8 and in GBK. The rate is that of the
// text in UTF-8 in all four, so that it tells of rows.
func BenchmarkSameRows(b *testing.B) {
	var rows bytes.Buffer
	if err := sample.Check(&rows, sample.Options{Rows: 50_000}); err != nil {
		b.Fatal(err)
	}
	text := rows.Bytes()
	var spool bytes.Buffer
	spool.WriteString("\"" + strings.Join(sample.CheckColumns, "\",\"") + "\"")
	for record := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0x10}), []byte{0x10}) {
		record = bytes.ReplaceAll(record, []byte("\""), []byte("\"\""))
		spool.WriteString("\n\"")
		spool.Write(bytes.ReplaceAll(record, []byte{1}, []byte("\",\"")))
		spool.WriteString("\"")
	}
	gbk := named(b, "gbk")
	delimited := delimited.Form{Columns: sample.CheckColumns, FieldDelimiter: []byte{1}, RecordDelimiter: []byte{0x10}}
	inGBK := delimited
	inGBK.Charset = gbk
	for _, c := range []struct {
		name    string
		form    ingest.Format
		content []byte
	}{
		{"text utf-8", &delimited, text},
		{"text gbk", &inGBK, encoded(b, gbk, text)},
		{"csv utf-8", form(sample.CheckColumns...), spool.Bytes()},
		{"csv gbk", with(form(sample.CheckColumns...), func(f *Form) { f.Charset = gbk }), encoded(b, gbk, spool.Bytes())},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchmark(b, c.form, c.content)
			b.SetBytes(int64(len(text)))
		})
	}
}

// encoded writes UTF-8 in another charset of one and two bytes.
func encoded(b *testing.B, c *charset.Charset, text []byte) []byte {
	b.Helper()
	codes := map[rune][]byte{}
	for lead := range 256 {
		for second := range 256 {
			for _, code := range [][]byte{{byte(lead)}, {byte(lead), byte(second)}} {
				if out, valid := c.Append(nil, code); valid == len(code) && utf8.RuneCount(out) == 1 {
					r, _ := utf8.DecodeRune(out)
					codes[r] = code
				}
			}
		}
	}
	var out []byte
	for _, r := range string(text) {
		code, ok := codes[r]
		if !ok {
			b.Fatalf("%q is not in %s", r, c.Name())
		}
		out = append(out, code...)
	}
	return out
}

func benchmark(b *testing.B, f ingest.Format, content []byte) {
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		in, err := f.Open(testfs.Memory{Content: content}, ingest.Split{File: ingest.SourceFile{Path: "/memory", Size: int64(len(content))}, End: int64(len(content))})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = in.Next()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		in.Close()
	}
}

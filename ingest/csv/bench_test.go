package csv

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"bulkload/ingest"
)

// lines are 18 columns a line, like the check table's, as SQL*Plus writes them: numbers bare, text quoted or not at all.
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

func benchmark(b *testing.B, f *Form, content []byte) {
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		in, err := f.Open(memory{content: content}, ingest.Split{File: ingest.File{Path: "/memory", Size: int64(len(content))}})
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

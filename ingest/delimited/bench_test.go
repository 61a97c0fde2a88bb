package delimited

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
)

func checkForm() *Form {
	return &Form{Columns: sample.CheckColumns, FieldDelimiter: []byte(sample.FieldDelimiter),
		RecordDelimiter: []byte(sample.RecordDelimiter), Null: []byte(`\N`)}
}

func checkRows(b *testing.B, rows int) []byte {
	var content bytes.Buffer
	if err := sample.Check(&content, sample.Options{Rows: rows}); err != nil {
		b.Fatal(err)
	}
	return content.Bytes()
}

func readThrough(b *testing.B, d *Form, fsys storage.FS, split ingest.Split) (records int) {
	r, err := d.Open(fsys, split)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return records
		} else if err != nil {
			b.Fatal(err)
		}
		records++
	}
}

func BenchmarkReadMemory(b *testing.B) {
	m := testfs.Memory{Content: checkRows(b, 100_000)}
	benchmarkRead(b, checkForm(), m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
}

func BenchmarkReadLocal(b *testing.B) {
	name := filepath.Join(b.TempDir(), "part")
	content := checkRows(b, 200_000)
	if err := os.WriteFile(name, content, 0o644); err != nil {
		b.Fatal(err)
	}
	size := int64(len(content))
	benchmarkRead(b, checkForm(), storage.Local, ingest.Split{File: ingest.SourceFile{Path: name, Size: size}, End: size})
}

// Delimiters of two bytes take the slow path.
func BenchmarkReadWideDelimiters(b *testing.B) {
	content := bytes.ReplaceAll(checkRows(b, 100_000), []byte{1}, []byte("||"))
	m := testfs.Memory{Content: bytes.ReplaceAll(content, []byte{0x10}, []byte("\x1e\n"))}
	d := checkForm()
	d.FieldDelimiter, d.RecordDelimiter = []byte("||"), []byte("\x1e\n")
	benchmarkRead(b, d, m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
}

func benchmarkRead(b *testing.B, d *Form, fsys storage.FS, split ingest.Split) {
	b.SetBytes(split.End)
	b.ReportAllocs()
	for b.Loop() {
		readThrough(b, d, fsys, split)
	}
}

// Each form beside the plain one, over the same rows. MB/s are of the text, of a compressed file too.
func BenchmarkForms(b *testing.B) {
	rows := checkRows(b, 100_000)
	escaped := bytes.ReplaceAll(bytes.ReplaceAll(rows, []byte(`\`), []byte(`\\`)), []byte("\n"), []byte("\\\n"))
	enclosed := append([]byte(`"`), bytes.ReplaceAll(bytes.ReplaceAll(rows, []byte{1}, []byte("\"\x01\"")), []byte{0x10}, []byte("\"\x10\""))...)
	enclosed = enclosed[:len(enclosed)-1]
	with := func(change func(*Form)) *Form {
		d := checkForm()
		change(d)
		return d
	}
	for _, c := range []struct {
		name    string
		form    *Form
		content []byte
	}{
		{"plain", checkForm(), rows},
		{"escaped", with(func(d *Form) { d.Escape = '\\' }), escaped},
		{"optionally enclosed", with(func(d *Form) { d.Enclosure = '"' }), rows},
		{"enclosed", with(func(d *Form) { d.Enclosure, d.EncloseAll = '"', true }), enclosed},
		{"enclosed and escaped", with(func(d *Form) { d.Enclosure, d.EncloseAll, d.Escape = '"', true, '\\' }), enclosed},
		{"nulls by the column", with(func(d *Form) {
			d.ColumnNulls = make([][][]byte, len(d.Columns))
			for i := range d.ColumnNulls {
				d.ColumnNulls[i] = [][]byte{[]byte(`\N`), []byte("null")}
			}
		}), rows},
		{"gbk", with(func(d *Form) { d.Charset = charsetNamed(b, "gb18030") }), []byte(gb18030(b, rows))},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := testfs.Memory{Content: c.content}
			benchmarkRead(b, c.form, m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
		})
	}
	for _, command := range []string{"gzip", "bzip2", "zstd", "lz4"} {
		b.Run(command, func(b *testing.B) {
			cmd := exec.Command(command, "-c")
			cmd.Stdin = bytes.NewReader(rows)
			packed, err := cmd.Output()
			if err != nil {
				b.Skip(err)
			}
			m := testfs.Memory{Content: packed}
			b.SetBytes(int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				readThrough(b, checkForm(), m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
			}
		})
	}
}

// gb18030 writes ASCII rows with a few Chinese characters; the rows' own Chinese becomes one character.
func gb18030(b *testing.B, rows []byte) string {
	b.Helper()
	var s strings.Builder
	for _, c := range string(rows) {
		if c < 0x80 {
			s.WriteRune(c)
		} else {
			s.WriteString("\xb9\xe6")
		}
	}
	return s.String()
}

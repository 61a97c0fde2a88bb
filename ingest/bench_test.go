package ingest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/sample"
	"bulkload/internal/storage"
)

func checkForm() *Delimited {
	return &Delimited{Columns: sample.CheckColumns, FieldDelimiter: []byte(sample.FieldDelimiter),
		RecordDelimiter: []byte(sample.RecordDelimiter), Null: []byte(`\N`)}
}

func checkRows(b *testing.B, rows int) []byte {
	var content bytes.Buffer
	if err := sample.Check(&content, sample.Options{Rows: rows}); err != nil {
		b.Fatal(err)
	}
	return content.Bytes()
}

func readThrough(b *testing.B, d *Delimited, fsys storage.FS, split Split) (records int) {
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
	m := memory{content: checkRows(b, 100_000)}
	benchmarkRead(b, checkForm(), m, Split{File: m.file(), End: m.file().Size})
}

func BenchmarkReadLocal(b *testing.B) {
	name := filepath.Join(b.TempDir(), "part")
	content := checkRows(b, 200_000)
	if err := os.WriteFile(name, content, 0o644); err != nil {
		b.Fatal(err)
	}
	size := int64(len(content))
	benchmarkRead(b, checkForm(), storage.Local, Split{File: File{Path: name, Size: size}, End: size})
}

// Delimiters of two bytes take the slow path.
func BenchmarkReadWideDelimiters(b *testing.B) {
	content := bytes.ReplaceAll(checkRows(b, 100_000), []byte{1}, []byte("||"))
	m := memory{content: bytes.ReplaceAll(content, []byte{0x10}, []byte("\x1e\n"))}
	d := checkForm()
	d.FieldDelimiter, d.RecordDelimiter = []byte("||"), []byte("\x1e\n")
	benchmarkRead(b, d, m, Split{File: m.file(), End: m.file().Size})
}

func benchmarkRead(b *testing.B, d *Delimited, fsys storage.FS, split Split) {
	b.SetBytes(split.End)
	b.ReportAllocs()
	for b.Loop() {
		readThrough(b, d, fsys, split)
	}
}

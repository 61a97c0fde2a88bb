package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
)

// memoryFS holds one file.
type memoryFS struct {
	storage.FS
	content []byte
}

type memoryFile struct {
	*bytes.Reader
}

func (memoryFile) Close() error { return nil }

func (m memoryFS) Open(name string) (storage.File, error) {
	if name != "/it" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return memoryFile{bytes.NewReader(m.content)}, nil
}

// readBytes reads a file from memory. It counts good and bad rows.
func readBytes(form *FlatForm, content []byte, visit func(*ingest.Record)) (rows int, err error) {
	fsys := memoryFS{content: content}
	splits, err := form.Splits(fsys, []ingest.SourceFile{{Path: "/it", Size: int64(len(content))}}, 1)
	if err != nil {
		return 0, err
	}
	for _, split := range splits {
		r, err := form.Open(fsys, split)
		if err != nil {
			return rows, err
		}
		err = drain(r, func(rec *ingest.Record) { rows++; visit(rec) }, func(*ingest.BadRecord) { rows++ })
		r.Close()
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// watched fails a test whose reading needs long or much memory.
func watched(t *testing.T, what string, read func()) {
	t.Helper()
	var before, behind runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() { defer close(done); read() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: still reading", what)
	}
	runtime.ReadMemStats(&behind)
	if got := behind.TotalAlloc - before.TotalAlloc; got > 160<<20 {
		t.Errorf("%s: %d MiB asked for", what, got>>20)
	}
}

// TestDamaged reads files that are cut off, overwritten, or have false lengths. Each must return an error, or all its
// rows.
func TestDamaged(t *testing.T) {
	want := describe(t, "testdata/small.parquet")
	rnd := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	files := append([]string{"testdata/spark/spark-default.parquet", "testdata/spark/spark-v2-delta.parquet"}, readable...)
	if testing.Short() {
		files = []string{"testdata/small.parquet"} // whose pages have checksums
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		values := "" // of a file whose pages have checksums
		if name == "testdata/small.parquet" || name == "testdata/v2.parquet" || name == "testdata/plain.parquet" {
			var text strings.Builder
			if _, err := readBytes(&want.Form, content, func(rec *ingest.Record) { writeValues(&text, rec) }); err != nil {
				t.Fatal(err)
			}
			values = text.String()
		}
		d, spark := want, strings.HasPrefix(name, "testdata/spark/")
		if spark {
			d = describe(t, name)
		}
		for _, damaged := range damages(content, rnd) {
			// Spark's files have indexes between pages and footer, which are not read.
			damaged.mustFail = damaged.mustFail && !(spark && damaged.kind == "shorter")
			watched(t, name+" "+damaged.what, func() {
				outcomes[damaged.kind+": "+outcome(t, name, &d.Form, damaged, len(d.Rows), values)]++
			})
		}
	}
	t.Log(outcomes)
	for _, kind := range []string{"cut", "shorter", "magic"} {
		if outcomes[kind+": error"] == 0 || kind != "shorter" && outcomes[kind+": none"] > 0 {
			t.Errorf("%s: %d errors, %d times none", kind, outcomes[kind+": error"], outcomes[kind+": none"])
		}
	}
	// statistics, the padding of a header and the like don't matter
	for _, kind := range []string{"flip in the data", "zeroes", "large number"} {
		if errors, none := outcomes[kind+": error"], outcomes[kind+": none"]; errors <= none {
			t.Errorf("%s: %d errors, %d times none", kind, errors, none)
		}
	}
}

// outcome reads a damaged file and describes the result. Where the pages have checksums, damage to the data must not
// change a value.
func outcome(t *testing.T, name string, form *FlatForm, d damage, rows int, want string) string {
	var text strings.Builder
	got, err := readBytes(form, d.content, func(rec *ingest.Record) { writeValues(&text, rec) })
	switch {
	case err != nil:
		return "error"
	case d.mustFail:
		t.Errorf("%s, %s: no error", name, d.what)
	case got != rows:
		t.Errorf("%s, %s: %d rows and no error, want %d", name, d.what, got, rows)
	case want != "" && d.inData && text.String() != want:
		t.Errorf("%s, %s: other values and no error", name, d.what)
	}
	return "none"
}

func writeValues(text *strings.Builder, rec *ingest.Record) {
	for _, f := range rec.Fields {
		fmt.Fprintf(text, "%t %q ", f.Null(), f.Bytes())
	}
}

type damage struct {
	kind, what string
	content    []byte
	mustFail   bool
	inData     bool // before the footer
}

// damages makes a few hundred damaged files from a good one.
func damages(good []byte, rnd *rand.Rand) (all []damage) {
	footer := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	start := len(good) - 8 - footer
	add := func(kind string, at int, mustFail bool, content []byte) {
		inData := len(content) == len(good) && bytes.Equal(content[start:], good[start:])
		all = append(all, damage{kind: kind, what: fmt.Sprintf("%s at %d", kind, at), content: content, mustFail: mustFail, inData: inData})
	}
	for range 20 {
		at := rnd.IntN(len(good))
		add("cut", at, true, good[:at])
	}
	for range 20 { // a piece is missing in the middle
		at := rnd.IntN(len(good) - 50)
		add("shorter", at, true, append(bytes.Clone(good[:at]), good[at+1+rnd.IntN(40):]...))
	}
	for range 60 {
		at := rnd.IntN(start)
		b := bytes.Clone(good)
		b[at] ^= 1 << rnd.IntN(8)
		add("flip in the data", at, false, b)
	}
	for range 120 {
		at := start + rnd.IntN(footer)
		b := bytes.Clone(good)
		b[at] ^= 1 << rnd.IntN(8)
		add("flip in the footer", at, false, b)
	}
	for range 40 { // numbers that are too large
		at := rnd.IntN(len(good) - 12)
		if rnd.IntN(2) == 0 {
			at = start + rnd.IntN(footer-4)
		}
		b := bytes.Clone(good)
		copy(b[at:], "\xff\xff\xff\xff\x0f")
		add("large number", at, false, b)
	}
	for range 20 {
		at := rnd.IntN(start)
		b := bytes.Clone(good)
		clear(b[at:min(at+1+rnd.IntN(200), start)])
		add("zeroes", at, false, b)
	}
	for _, length := range []uint32{0, 1, 7, uint32(footer) - 1, uint32(footer) + 1, uint32(len(good)), 1 << 31, 1<<32 - 1} {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[len(b)-8:], length)
		add("footer's length", int(length), length != uint32(footer)+1, b)
	}
	for _, at := range []int{0, len(good) - 1} {
		b := bytes.Clone(good)
		b[at] ^= 0x20
		add("magic", at, true, b)
	}
	return all
}

// TestDamagedPages flips every bit of every page of files whose pages have checksums: each flip must be found. Only the
// column of the page is read.
func TestDamagedPages(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a file again and again")
	}
	form := &FlatForm{Columns: smallColumns}
	for _, name := range []string{"testdata/small.parquet", "testdata/v2.parquet", "testdata/plain.parquet"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		foot, bodies := pageBodies(t, form, content)
		found := 0
		for _, g := range foot.groups {
			for column, c := range g.chunks {
				if rows, err := readChunk(form, foot, column, c, g.rows, content[c.start:c.end]); err != nil || rows != int(g.rows) {
					t.Fatalf("%s, column %s: %d rows, %v", name, foot.columns[column].name, rows, err)
				}
				for _, body := range bodies {
					if body[0] < c.start || body[0] >= c.end {
						continue
					}
					for at := body[0]; at < body[1]; at++ {
						for bit := range 8 {
							content[at] ^= 1 << bit
							if _, err := readChunk(form, foot, column, c, g.rows, content[c.start:c.end]); err == nil {
								t.Errorf("%s: bit %d of byte %d is flipped, and nothing was found", name, bit, at)
							}
							content[at] ^= 1 << bit
							found++
						}
					}
				}
			}
		}
		bytes := int64(0)
		for _, body := range bodies {
			bytes += body[1] - body[0]
		}
		if int64(found) != 8*bytes || found == 0 {
			t.Errorf("%s: %d flips of %d bytes", name, found, bytes)
		}
		t.Logf("%s: %d flips in %d pages", name, found, len(bodies))
	}
}

// readChunk reads the pages of one column, and counts the rows.
func readChunk(form *FlatForm, foot *footer, column int, old chunk, want int64, chunkBytes []byte) (rows int, err error) {
	split := ingest.Split{File: ingest.SourceFile{Path: "/it", Size: int64(len(chunkBytes))}}
	one := *form
	one.Columns = form.Columns[column : column+1]
	r := newRecords(&one, memoryFS{content: chunkBytes}, memoryFile{bytes.NewReader(chunkBytes)}, &footer{columns: foot.columns[column : column+1]}, split)
	r.groups = []rowGroup{{rows: want, chunks: []chunk{{end: int64(len(chunkBytes)), codec: old.codec}}}}
	err = drain(r, func(*ingest.Record) { rows++ }, func(*ingest.BadRecord) { rows++ })
	return rows, err
}

// pageBodies finds the position of each page's bytes.
func pageBodies(t *testing.T, form *FlatForm, content []byte) (foot *footer, bodies [][2]int64) {
	foot, err := form.readFooter(memoryFile{bytes.NewReader(content)}, ingest.SourceFile{Path: "/it", Size: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range foot.groups {
		for _, c := range g.chunks {
			var s stream
			s.reset(memoryFile{bytes.NewReader(content)}, c.start, c.end)
			for s.left() > 0 {
				var h pageHeader
				if err := s.header(&h); err != nil {
					t.Fatal(err)
				}
				if !h.checked {
					t.Fatal("a page without a checksum")
				}
				bodies = append(bodies, [2]int64{s.offset(), s.offset() + int64(h.packed)})
				s.skip(int64(h.packed))
			}
		}
	}
	return foot, bodies
}

// FuzzRead opens and reads any bytes as a Parquet file.
func FuzzRead(f *testing.F) {
	for _, name := range append([]string{"testdata/spark/spark-v2-delta.parquet", "testdata/spark/sqoop-avro.parquet"}, readable...) {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	forms := []*FlatForm{{Columns: smallColumns}, {Columns: describe(f, "testdata/spark/spark-default.parquet").Columns}, {Columns: []string{"text"}}}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, form := range forms {
			_, _ = readBytes(form, content, func(rec *ingest.Record) {
				if len(rec.Fields) != len(form.Columns) {
					t.Fatalf("%d fields", len(rec.Fields))
				}
			})
		}
	})
}

// FuzzPage reads any bytes as the pages of a column: pages that passed the checks must not make a decoder panic, hang
// or ask for much memory.
func FuzzPage(f *testing.F) {
	content, err := os.ReadFile("testdata/spark/spark-v2-delta.parquet")
	if err != nil {
		f.Fatal(err)
	}
	form := describe(f, "testdata/spark/spark-v2-delta.parquet").Form
	foot, err := form.readFooter(memoryFile{bytes.NewReader(content)}, ingest.SourceFile{Path: "/it", Size: int64(len(content))})
	if err != nil {
		f.Fatal(err)
	}
	for i, c := range foot.groups[0].chunks {
		f.Add(i, content[c.start:c.end])
	}
	f.Fuzz(func(t *testing.T, column int, chunkBytes []byte) {
		if column < 0 || column >= len(foot.columns) || len(chunkBytes) == 0 {
			return
		}
		rows, err := readChunk(&form, foot, column, foot.groups[0].chunks[column], foot.groups[0].rows, chunkBytes)
		if err == nil && rows != int(foot.groups[0].rows) {
			t.Fatalf("%d rows and no error", rows)
		}
	})
}

package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
)

// keptIn is where a run keeps its rejects.
const keptIn = "/out/.rejects/" + ingest.RejectsFile

// rejected reads a file and gives its rejects, and the file in which they are kept; "" where there are none.
func rejected(t testing.TB, f *Form, name, content string) (bad []*ingest.BadRecord, kept string) {
	t.Helper()
	in, err := f.Open(testfs.Memory{Content: []byte(content)}, ingest.Split{File: ingest.SourceFile{Path: name, Size: int64(len(content))}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var file strings.Builder
	for err = nil; !errors.Is(err, io.EOF); {
		_, err = in.Next()
		var b *ingest.BadRecord
		switch {
		case errors.As(err, &b):
			if len(bad) == 0 {
				file.WriteString(b.Heading + "\n")
			}
			file.WriteString(strings.ReplaceAll(string(b.Raw), "\x1e", "\x1e\x1e"))
			file.Write(f.RejectDelimiter())
			c := *b
			c.Raw = bytes.Clone(b.Raw)
			bad = append(bad, &c)
		case err != nil && !errors.Is(err, io.EOF):
			t.Fatal(err)
		}
	}
	return bad, file.String()
}

// checkRoundTrip wants of a file's rejects, read as a file, that they are the same rejects, and nothing more.
func checkRoundTrip(t testing.TB, f *Form, content string) {
	t.Helper()
	bad, kept := rejected(t, f, "/memory", content)
	if kept == "" {
		return
	}
	again, keptAgain := rejected(t, f, keptIn, kept)
	if keptAgain != kept || reasons(again) != reasons(bad) {
		t.Fatalf("of %q:\n rejects %s\n in file %q\n read back %s", content, reasons(bad), kept, reasons(again))
	}
	if all, err := readNamed(t, f, keptIn, kept, chunkSize, maxRecord); err != nil || len(all) != len(bad) {
		t.Fatalf("of %q: %d rejects give %d records (%v)", content, len(bad), len(all), err)
	}
}

func reasons(bad []*ingest.BadRecord) string {
	var b strings.Builder
	for _, r := range bad {
		fmt.Fprintf(&b, "%q %s: %s\n", r.Raw, r.Column, r.Reason)
	}
	return b.String()
}

// TestSeparators: in the file of rejects they end records, and a byte of theirs in a value is written twice.
func TestSeparators(t *testing.T) {
	all, err := readNamed(t, form("id", "note"), keptIn, "ID,NOTE\n1,\"a\n\x1e\n2,\"b\"\n\x1e\n3,\"p\n\x1e\x1e\nq\"\n\x1e\n\x1e\x1e\n\x1e\n", chunkSize, maxRecord)
	want := []got{
		{8, "1,\"a", "", "note", "the quote at byte 2 of the record is not closed, or a quote in the value is not written twice"},
		{15, "2,\"b\"", "2|b", "", ""}, {23, "3,\"p\n\x1e\nq\"", "3|p\n\x1e\nq", "", ""}, {36, "\x1e", "", "", "1 column instead of 2"}}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("got  %+v, %v\nwant %+v", all, err, want)
	}
}

// TestRejectFile: the file that a run keeps its rejects in is the one that these tests make.
func TestRejectFile(t *testing.T) {
	for _, f := range roundTripForms(t)[:4] {
		bad, kept := rejected(t, f, "/memory", strings.ReplaceAll("A,B\n\x1e\n1,\"a\n2,\xff\n\"x\"y,1\n1,2,3\n", ",", string(f.Delimiter)))
		dir := t.TempDir()
		rejects := ingest.NewRejects(storage.Local, dir, ingest.Limit{Count: 10}, f.RejectDelimiter())
		for _, b := range bad {
			if err := rejects.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := rejects.Close(10); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join(dir, "rejects.dat"))
		if err != nil || string(file) != kept || len(bad) == 0 {
			t.Errorf("%q (%v), want %q", file, err, kept)
		}
	}
}

// roundTripForms are those that the rejects of random files are tried with.
func roundTripForms(t testing.TB) []*Form {
	two := form("b", "a")
	return []*Form{
		two,
		with(two, func(f *Form) { f.Quote = 0 }),
		with(two, func(f *Form) { f.Charset = named(t, "gbk") }),
		with(two, func(f *Form) { f.Charset, f.Delimiter = named(t, "gbk"), '|' }),
		with(two, func(f *Form) { f.NoHeading = true }),
	}
}

func TestRejectsAreInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"\"", "\"", ",", ",", "|", "\n", "\n", "a", "1", " ", "\"\"", "\n1,\"x\n", "\xff", "\x81\x7c", "A,B\n", "SQL> x\n", "5 rows selected.\n", "\x1e", "\n\x1e\n"}
	forms := roundTripForms(t)
	n := 5000
	if testing.Short() {
		n = 1000
	}
	for range n {
		var b strings.Builder
		b.WriteString("A,B\n")
		for range rng.IntN(20) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		content := b.String()
		if rng.IntN(2) == 0 {
			content = strings.ReplaceAll(content, "\n", "\r\n")
		}
		f := forms[rng.IntN(len(forms))]
		if f.Delimiter == '|' {
			content = "A|B" + content[3:]
		}
		checkRoundTrip(t, f, content)
	}
}

func FuzzRejectsAreInput(f *testing.F) {
	f.Add(0, "1,\"a\n2,\"b\"\n\"x\"y,1\n1,2,3\n")
	f.Add(1, "1,\"a\r\n2\r\n")
	f.Add(2, "\x81\x7c,\xff\n1,\"\n")
	f.Add(3, "\x81\x7c|\xff|\n|\n")
	f.Add(4, "\x1e\n1,\"a\n\x1e")
	f.Add(1, "1\x002\x00\"\x00\n")
	forms := roundTripForms(f)
	f.Fuzz(func(t *testing.T, which int, content string) {
		form := forms[uint(which)%uint(len(forms))]
		heading := "A,B\n"
		if form.Delimiter == '|' {
			heading = "A|B\n"
		}
		if strings.Contains(content, "ORA") || strings.Contains(content, "ERR") || strings.Contains(content, "SP2") {
			return // they end the reading
		}
		checkRoundTrip(t, form, heading+content)
	})
}

// minWindow is the least that is read at a time: the bytes that tell UTF-16.
const minWindow = 4

// FuzzRead: no file gives a panic, a hang or records that depend on how much is read at a time.
func FuzzRead(f *testing.F) {
	f.Add(0, uint8(3), "A,B\n1,\"a\n2,\"b\"\n\"x\"y,1\n1,2,3\n")
	f.Add(2, uint8(7), spool)
	f.Add(4, uint8(0), "1\x002\x00,\x00")
	f.Add(3, uint8(1), "\xef\xbb\xbfA|B\r\n\x81\x7c|\xff|\n|\n")
	forms := roundTripForms(f)
	f.Fuzz(func(t *testing.T, which int, window uint8, content string) {
		form := forms[uint(which)%uint(len(forms))]
		whole, err := read(t, form, content)
		part, partErr := readWindow(t, form, content, int(window)+minWindow, maxRecord)
		if !reflect.DeepEqual(part, whole) || (err == nil) != (partErr == nil) {
			t.Fatalf("window %d: %q (%v), whole %q (%v)", window, texts(part), partErr, texts(whole), err)
		}
	})
}

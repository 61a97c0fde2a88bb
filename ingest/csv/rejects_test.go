package csv

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
)

// rejected reads a file and gives its rejects, and the file that they were kept in; "" where there were none.
func rejected(t testing.TB, f *Form, content, dir string) (bad []got, kept string) {
	t.Helper()
	name := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := f.Open(storage.Local, ingest.Split{File: ingest.File{Path: name, Size: int64(len(content))}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rejects := ingest.NewRejects(storage.Local, filepath.Join(dir, "rejects"), ingest.Limit{Count: 1 << 30}, f.RejectDelimiter())
	for err = nil; !errors.Is(err, io.EOF); {
		_, err = in.Next()
		var b *ingest.BadRecord
		switch {
		case errors.As(err, &b):
			bad = append(bad, got{0, string(b.Raw), "", b.Column, b.Reason})
			if err := rejects.Add(b); err != nil {
				t.Fatal(err)
			}
		case err != nil && !errors.Is(err, io.EOF):
			t.Fatal(err)
		}
	}
	if err := rejects.Close(1 << 30); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "rejects", "rejects.dat"))
	if err != nil && len(bad) > 0 {
		t.Fatal(err)
	}
	return bad, string(file)
}

// checkRoundTrip wants of a file's rejects, read as a file, that they are the same rejects, and nothing more.
func checkRoundTrip(t testing.TB, f *Form, content, dir string) {
	t.Helper()
	bad, kept := rejected(t, f, content, dir)
	if kept == "" {
		return
	}
	again, keptAgain := rejected(t, f, kept, dir)
	if !reflect.DeepEqual(again, bad) || keptAgain != kept {
		t.Fatalf("of %q:\n rejects %q\n in file %q\n read back %q", content, texts(bad), kept, texts(again))
	}
	all, err := read(t, f, kept)
	if err != nil || len(all) != len(bad) {
		t.Fatalf("of %q: %d rejects give %d records (%v)", content, len(bad), len(all), err)
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
	forms, dir := roundTripForms(t), t.TempDir()
	for range 1000 {
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
		checkRoundTrip(t, f, content, dir)
	}
}

func FuzzRejectsAreInput(f *testing.F) {
	f.Add(0, "1,\"a\n2,\"b\"\n\"x\"y,1\n1,2,3\n")
	f.Add(1, "1,\"a\r\n2\r\n")
	f.Add(2, "\x81\x7c,\xff\n1,\"\n")
	f.Add(3, "\x81\x7c|\xff|\n|\n")
	f.Add(4, "\x1e\n1,\"a\n\x1e")
	forms, dir := roundTripForms(f), f.TempDir()
	f.Fuzz(func(t *testing.T, which int, content string) {
		form := forms[uint(which)%uint(len(forms))]
		heading := "A,B\n"
		if form.Delimiter == '|' {
			heading = "A|B\n"
		}
		if strings.Contains(content, "ORA") || strings.Contains(content, "ERR") || strings.Contains(content, "SP2") || strings.Contains(content, "\r\r") {
			return // the first end the reading
		}
		checkRoundTrip(t, form, heading+content, dir)
	})
}

// FuzzRead: no file gives a panic, a hang or records that depend on how much is read at a time.
func FuzzRead(f *testing.F) {
	f.Add(0, uint8(3), "A,B\n1,\"a\n2,\"b\"\n\"x\"y,1\n1,2,3\n")
	f.Add(2, uint8(7), spool)
	f.Add(3, uint8(1), "\xef\xbb\xbfA|B\r\n\x81\x7c|\xff|\n|\n")
	forms := roundTripForms(f)
	f.Fuzz(func(t *testing.T, which int, window uint8, content string) {
		form := forms[uint(which)%uint(len(forms))]
		whole, err := read(t, form, content)
		part, partErr := readWindow(t, form, content, int(window)+1, maxRecord)
		if !reflect.DeepEqual(part, whole) || (err == nil) != (partErr == nil) {
			t.Fatalf("window %d: %q (%v), whole %q (%v)", window, texts(part), partErr, texts(whole), err)
		}
	})
}

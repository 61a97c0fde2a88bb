package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
)

func sqoop(columns ...string) *delimited.Form {
	return &delimited.Form{Columns: columns, FieldDelimiter: []byte{1}, RecordDelimiter: []byte{0x10}, Null: []byte(`\N`)}
}

// feed reads files in splits of size in several goroutines, as a run does.
func feed(t *testing.T, d *delimited.Form, r *ingest.Rejects, files []ingest.SourceFile, size int64) (read int64, err error) {
	t.Helper()
	splits, err := d.Splits(storage.Local, files, size)
	if err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(splits), func(i, j int) { splits[i], splits[j] = splits[j], splits[i] })
	var wg sync.WaitGroup
	var mu sync.Mutex
	for part := range 2 {
		wg.Go(func() {
			for i := part; i < len(splits); i += 2 {
				n, e := feedSplit(d, r, splits[i])
				mu.Lock()
				read, err = read+n, errors.Join(err, e)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return read, err
}

func feedSplit(d *delimited.Form, r *ingest.Rejects, split ingest.Split) (read int64, err error) {
	in, err := d.Open(storage.Local, split)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for ; ; read++ {
		_, err := in.Next()
		var bad *ingest.BadRecord
		switch {
		case errors.Is(err, io.EOF):
			return read, nil
		case errors.As(err, &bad):
			err = r.Add(bad)
		}
		if err != nil {
			return read, err
		}
	}
}

// badInput has two files of 1,000 records each, of which every 50th of the first has a column too many.
func badInput(t *testing.T) ([]ingest.SourceFile, string) {
	var a, b, want strings.Builder
	for i := 1; i <= 1000; i++ {
		record := fmt.Sprintf("%d\x01规\n则", i)
		if i%50 == 0 {
			record += "\x01more"
			want.WriteString(record + "\x10")
		}
		a.WriteString(record + "\x10")
		fmt.Fprintf(&b, "%d\x01fine\x10", i)
	}
	dir := testfs.Tree(t, map[string]string{"a": a.String(), "b": b.String()})
	files, err := ingest.List(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	return files, want.String()
}

// Whatever the threads, the order of the splits and the memory: the same two files, with record numbers.
func TestRejects(t *testing.T) {
	files, want := badInput(t)
	for _, memory := range []int{ingest.RejectsInMemory, 500, 1} {
		for _, size := range []int64{0, 3000, 100} {
			d := sqoop("a", "b")
			dir := filepath.Join(t.TempDir(), "out", ".rejects")
			r := ingest.NewRejects(storage.Local, dir, ingest.Limit{Count: 20}, d.RecordDelimiter)
			r.SetInMemory(memory)
			read, err := feed(t, d, r, files, size)
			if err != nil || read != 2000 || r.Count() != 20 {
				t.Fatalf("%d records, %d rejects, %v", read, r.Count(), err)
			}
			if err := errors.Join(r.Close(read), r.Close(read)); err != nil {
				t.Fatal(err)
			}
			checkRejectFiles(t, dir, files[0], want)
		}
	}
}

func checkRejectFiles(t *testing.T, dir string, in ingest.SourceFile, want string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "rejects.dat"))
	if err != nil || string(data) != want {
		t.Errorf("rejects.dat: %q, %v", data, err)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "rejects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(in.Path)
	if err != nil {
		t.Fatal(err)
	}
	var reasons strings.Builder
	for i := 50; i <= 1000; i += 50 {
		raw := fmt.Sprintf("%d\x01规\n则\x01more", i)
		fmt.Fprintf(&reasons, `{"file":%q,"offset":%d,"record":%d,"reason":"3 columns instead of 2","length":%d}`+"\n",
			in.Path, strings.Index(string(content), "\x10"+raw)+1, i, len(raw))
	}
	if string(lines) != reasons.String() {
		t.Errorf("rejects.jsonl:\n%s\nwant\n%s", lines, reasons.String())
	}
	infos, err := storage.Local.ReadDir(dir)
	if err != nil || len(infos) != 2 || infos[0].Mode.Perm() != 0o600 || infos[1].Mode.Perm() != 0o600 {
		t.Errorf("left in the folder: %+v, %v", infos, err)
	}
}

// The reject file, its cause mended, is input again.
func TestRejectsAreInput(t *testing.T) {
	files, _ := badInput(t)
	d := sqoop("a", "b")
	dir := t.TempDir()
	r := ingest.NewRejects(storage.Local, dir, ingest.Limit{Percent: 1}, d.RecordDelimiter)
	read, err := feed(t, d, r, files, 1000)
	if err := errors.Join(err, r.Close(read)); err != nil {
		t.Fatal(err) // 20 of 2,000 are 1%
	}
	again, err := ingest.List(storage.Local, filepath.Join(dir, "rejects.dat"))
	if err != nil {
		t.Fatal(err)
	}
	wide := sqoop("a", "b", "c")
	in, err := wide.Open(storage.Local, ingest.Split{File: again[0], End: again[0].Size})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n, last := 0, ""
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n, last = n+1, string(record.Fields[0].Bytes())
	}
	if n != 20 || last != "1000" {
		t.Errorf("read again: %d records, the last is %s", n, last)
	}
}

func TestTooManyRejects(t *testing.T) {
	files, _ := badInput(t)
	d := sqoop("a", "b")
	var limit *ingest.LimitError

	r := ingest.NewRejects(storage.Local, t.TempDir(), ingest.Limit{Count: 19}, d.RecordDelimiter)
	_, err := feed(t, d, r, files[:1], 0)
	if !errors.As(err, &limit) || limit.Rejects != 20 || limit.First.Number != 50 || limit.Read != 0 {
		t.Errorf("count: %v", err)
	}
	offset := limit.First.Offset
	place := fmt.Sprintf("%s at byte %d (record 50): ", files[0].Path, offset)
	if limit.ErrorCode() != errcode.RejectColumns ||
		!testwords.Names(err, "20 ", "max_rejects is 19", place, limit.First.Reason) {
		t.Errorf("%s %v", limit.ErrorCode(), err)
	}
	if err := r.Close(0); err != nil {
		t.Errorf("Close after that: %v", err)
	}

	r = ingest.NewRejects(storage.Local, t.TempDir(), ingest.Limit{Percent: 0.9}, d.RecordDelimiter)
	read, err := feed(t, d, r, files, 500)
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Close(read); !errors.As(err, &limit) || limit.Read != 2000 || limit.First.Offset != offset {
		t.Errorf("percentage: %v", err)
	}
	if err := r.Add(&ingest.BadRecord{}); err == nil {
		t.Error("Add after Close")
	}
}

func TestSchemaDriftIsSaidOnce(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"f": strings.Repeat("a\x01b\x01c\x10", 500)})
	files, err := ingest.List(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	d := sqoop("a", "b")
	r := ingest.NewRejects(storage.Local, filepath.Join(dir, ".rejects"), ingest.Limit{}, d.RecordDelimiter)
	_, err = feed(t, d, r, files, 0)
	if errcode.Outermost(err) != errcode.RejectColumns ||
		!testwords.Names(err, "first 500 records", "has 3 columns", "names 2") {
		t.Error(err)
	}
}

// TestLimitErrorCountsRecords: the message names the record's number, also where a reader in the middle of the file met
// it.
func TestLimitErrorCountsRecords(t *testing.T) {
	d := sqoop("a", "b")
	dir := testfs.Tree(t, map[string]string{"part": strings.Repeat("x\x01y\x10", 1000) + "bad\x10" + strings.Repeat("x\x01y\x10", 10)})
	files, err := ingest.List(storage.Local, filepath.Join(dir, "part"))
	if err != nil {
		t.Fatal(err)
	}
	r := ingest.NewRejects(storage.Local, filepath.Join(t.TempDir(), "rejects"), ingest.Limit{}, d.RecordDelimiter)
	_, err = feed(t, d, r, files, 700)
	var limit *ingest.LimitError
	if !errors.As(err, &limit) || limit.First.Number != 1001 || limit.First.Offset != 4000 {
		t.Fatalf("%v, of record %+v", err, limit)
	}
	if err := r.Close(0); err != nil && !errors.As(err, &limit) {
		t.Fatal(err)
	}
}

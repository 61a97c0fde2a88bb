package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/storage"
)

func TestLimits(t *testing.T) {
	for text, want := range map[string]Limit{
		"0": {}, "25": {Count: 25}, " 7 ": {Count: 7}, "0.5%": {Percent: 0.5}, "1 %": {Percent: 1}, "100%": {Percent: 100}, "0%": {},
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "x", "%", "-1%", "101%", "NaN%", "Inf%", "1%%"} {
		if got, err := ParseLimit(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, c := range []struct {
		limit         Limit
		rejects, read int64
		atEnd, want   bool
	}{
		{Limit{}, 0, 100, true, false}, {Limit{}, 1, 0, false, true}, {Limit{Count: 2}, 2, 0, false, false}, {Limit{Count: 2}, 3, 0, false, true},
		{Limit{Percent: 1}, 99, 100, false, false}, {Limit{Percent: 1}, 1, 100, true, false}, {Limit{Percent: 1}, 2, 199, true, true},
		{Limit{Percent: 0.1}, 1, 1000, true, false}, {Limit{Percent: 0.1}, 1, 999, true, true}, {Limit{Percent: 100}, 5, 5, true, false},
	} {
		if got := c.limit.exceeded(c.rejects, c.read, c.atEnd); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// feed reads files in splits of size in several goroutines, as a run does.
func feed(t *testing.T, d *Delimited, r *Rejects, files []File, size int64) (read int64, err error) {
	t.Helper()
	splits := splitsOf(t, storage.Local, d, files, size)
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

func feedSplit(d *Delimited, r *Rejects, split Split) (read int64, err error) {
	in, err := d.Open(storage.Local, split)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for ; ; read++ {
		_, err := in.Next()
		var bad *BadRecord
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
func badInput(t *testing.T) ([]File, string) {
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
	dir := tree(t, map[string]string{"a": a.String(), "b": b.String()})
	files, err := List(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	return files, want.String()
}

// Whatever the threads, the order of the splits and the memory: the same two files, with record numbers.
func TestRejects(t *testing.T) {
	files, want := badInput(t)
	for _, memory := range []int{rejectsInMemory, 500, 1} {
		for _, size := range []int64{0, 3000, 100} {
			d := sqoop("a", "b")
			dir := filepath.Join(t.TempDir(), "out", ".rejects")
			r := NewRejects(storage.Local, dir, Limit{Count: 20}, d.RecordDelimiter)
			r.inMemory = memory
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

func checkRejectFiles(t *testing.T, dir string, in File, want string) {
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
		fmt.Fprintf(&reasons, `{"file":%q,"offset":%d,"record":%d,"reason":"3 columns, want 2","length":%d}`+"\n",
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
	r := NewRejects(storage.Local, dir, Limit{Percent: 1}, d.RecordDelimiter)
	read, err := feed(t, d, r, files, 1000)
	if err := errors.Join(err, r.Close(read)); err != nil {
		t.Fatal(err) // 20 of 2,000 are 1%
	}
	again, err := List(storage.Local, filepath.Join(dir, "rejects.dat"))
	if err != nil {
		t.Fatal(err)
	}
	wide := sqoop("a", "b", "c")
	if all := readAll(t, wide, storage.Local, Split{File: again[0], End: again[0].Size}); len(all) != 20 || all[19].fields[0] != "1000" {
		t.Errorf("read again: %+v", all)
	}
}

func TestTooManyRejects(t *testing.T) {
	files, _ := badInput(t)
	d := sqoop("a", "b")
	var limit *LimitError

	r := NewRejects(storage.Local, t.TempDir(), Limit{Count: 19}, d.RecordDelimiter)
	_, err := feed(t, d, r, files[:1], 0)
	if !errors.As(err, &limit) || limit.Rejects != 20 || limit.First.Number != 50 || limit.Read != 0 {
		t.Errorf("count: %v", err)
	}
	offset := limit.First.Offset
	want := fmt.Sprintf("20 records rejected, max_rejects is 19; first %s at byte %d (record 50): 3 columns, want 2", files[0].Path, offset)
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := r.Close(0); err != nil {
		t.Errorf("Close after that: %v", err)
	}

	r = NewRejects(storage.Local, t.TempDir(), Limit{Percent: 0.9}, d.RecordDelimiter)
	read, err := feed(t, d, r, files, 500)
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Close(read); !errors.As(err, &limit) || limit.Read != 2000 || limit.First.Offset != offset {
		t.Errorf("percentage: %v", err)
	}
	if err := r.Add(&BadRecord{}); err == nil {
		t.Error("Add after Close")
	}
}

func TestSchemaDriftIsSaidOnce(t *testing.T) {
	dir := tree(t, map[string]string{"f": strings.Repeat("a\x01b\x01c\x10", 500)})
	files, err := List(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	d := sqoop("a", "b")
	r := NewRejects(storage.Local, filepath.Join(dir, ".rejects"), Limit{}, d.RecordDelimiter)
	_, err = feed(t, d, r, files, 0)
	want := "; every one of the first 500 records has 3 columns, the job file names 2"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want …%s", err, want)
	}
}

func TestNoRejects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".rejects")
	r := NewRejects(storage.Local, dir, Limit{}, []byte{0x10})
	if err := r.Close(5); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// What earlier runs, finished or killed, have left does not disturb and does not stay.
func TestRejectsOfAnEarlierRun(t *testing.T) {
	dir := tree(t, map[string]string{"rejects.dat": "old", "rejects.jsonl": "old", ".tmp-run-007": "old", ".tmp-rejects.dat": "old"})
	r := NewRejects(storage.Local, dir, Limit{Count: 5}, []byte{0x10})
	if err := r.Add(&BadRecord{Position: Position{File: File{Path: "/in"}, Offset: 3}, Column: "x", Reason: "no", Raw: []byte("raw")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(9); err != nil {
		t.Fatal(err)
	}
	infos, err := storage.Local.ReadDir(dir)
	if err != nil || len(infos) != 2 {
		t.Errorf("%+v, %v", infos, err)
	}
	line, err := os.ReadFile(filepath.Join(dir, "rejects.jsonl"))
	if want := `{"file":"/in","offset":3,"column":"x","reason":"no","length":3}` + "\n"; err != nil || string(line) != want {
		t.Errorf("%s, %v", line, err)
	}
	if err := NewRejects(storage.Local, dir, Limit{}, []byte{0x10}).Close(9); err != nil {
		t.Fatal(err)
	}
	if infos, err := storage.Local.ReadDir(dir); err != nil || len(infos) != 0 {
		t.Errorf("after a clean run: %+v, %v", infos, err)
	}
}

func TestCountRecords(t *testing.T) {
	content := strings.Repeat("a<|>", chunkSize) + "b"
	m := memory{content: []byte(content)}
	count := func(offset int64) (int64, error) {
		f, err := m.Open("/f")
		if err != nil {
			return 0, err
		}
		c := recordCounter{file: f, delimiter: []byte("<|>")}
		return c.before(offset)
	}
	for offset, want := range map[int64]int64{0: 0, 4: 1, 4 * chunkSize: chunkSize, 4*chunkSize - 4: chunkSize - 1, 2*chunkSize + 4: chunkSize/2 + 1} {
		if got, err := count(offset); err != nil || got != want {
			t.Errorf("before %d: %d, %v; want %d", offset, got, err, want)
		}
	}
	if _, err := count(int64(len(content)) + 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("behind the end: %v", err)
	}
}

// TestLimitErrorCountsRecords: the message names the record's number, also where a reader in the middle of the file met
// it.
func TestLimitErrorCountsRecords(t *testing.T) {
	d := sqoop("a", "b")
	dir := tree(t, map[string]string{"part": strings.Repeat("x\x01y\x10", 1000) + "bad\x10" + strings.Repeat("x\x01y\x10", 10)})
	files, err := List(storage.Local, filepath.Join(dir, "part"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRejects(storage.Local, filepath.Join(t.TempDir(), "rejects"), Limit{}, d.RecordDelimiter)
	_, err = feed(t, d, r, files, 700)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.First.Number != 1001 || limit.First.Offset != 4000 {
		t.Fatalf("%v, of record %+v", err, limit)
	}
	if err := r.Close(0); err != nil && !errors.As(err, &limit) {
		t.Fatal(err)
	}
}

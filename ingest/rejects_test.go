package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
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
	dir := testfs.Tree(t, map[string]string{"rejects.dat": "old", "rejects.jsonl": "old", ".tmp-run-007": "old", ".tmp-rejects.dat": "old"})
	r := NewRejects(storage.Local, dir, Limit{Count: 5}, []byte{0x10})
	if err := r.Add(&BadRecord{Position: Position{File: SourceFile{Path: "/in"}, Offset: 3}, Column: "x", Reason: "no", Raw: []byte("raw")}); err != nil {
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
	content := strings.Repeat("a<|>", countChunk) + "b"
	m := testfs.Memory{Content: []byte(content)}
	count := func(offset int64) (int64, error) {
		f, err := m.Open("/f")
		if err != nil {
			return 0, err
		}
		c := recordCounter{file: f, delimiter: []byte("<|>")}
		return c.before(offset)
	}
	for offset, want := range map[int64]int64{0: 0, 4: 1, 4 * countChunk: countChunk, 4*countChunk - 4: countChunk - 1, 2*countChunk + 4: countChunk/2 + 1} {
		if got, err := count(offset); err != nil || got != want {
			t.Errorf("before %d: %d, %v; want %d", offset, got, err, want)
		}
	}
	if _, err := count(int64(len(content)) + 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestReasons: rejects are counted by column and reason, the most frequent first, with their first records by file and
// offset; what is kept of them is bounded.
func TestReasons(t *testing.T) {
	t.Parallel()
	r := NewRejects(storage.Local, filepath.Join(t.TempDir(), ".rejects"), Limit{Count: 10_000}, []byte{'\n'})
	add := func(offset int64, column, reason, raw string) {
		t.Helper()
		if err := r.Add(&BadRecord{Position: Position{File: SourceFile{Path: "/in"}, Offset: offset, Number: offset + 1}, Column: column, Reason: reason, Raw: []byte(raw)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		add(int64(40-i), "age", "not a number", "x")
	}
	add(1, "", "19 columns instead of 18", strings.Repeat("r", 1000))
	for i := range maxReasons + 7 {
		add(int64(100+i), "", fmt.Sprintf("reason %d", i), "")
	}
	if reasons, others := r.Reasons(); reasons != nil || others != 0 {
		t.Errorf("before the end: %v, %d", reasons, others)
	}
	if err := r.Close(100_000); err != nil {
		t.Fatal(err)
	}
	reasons, others := r.Reasons()
	if len(reasons) != maxReasons || others != 9 {
		t.Fatalf("%d reasons and %d others", len(reasons), others)
	}
	if got := fmt.Sprint(reasons[0]); got != "{age not a number 5 [{/in 36 37 [120] false} {/in 37 38 [120] false} {/in 38 39 [120] false}]}" {
		t.Errorf("the first is %s", got)
	}
	if one := reasons[1]; one.Reason != "19 columns instead of 18" || one.Records != 1 || len(one.Samples[0].Raw) != maxSampleBytes || !one.Samples[0].Cut {
		t.Errorf("the second is %+v", one)
	}
}

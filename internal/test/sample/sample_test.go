package sample

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func rowsOf(t testing.TB, write func(io.Writer, Options) error, o Options) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, o); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b.Bytes()) {
		t.Error("not UTF-8")
	}
	var table [][]string
	for record := range strings.SplitSeq(strings.TrimSuffix(b.String(), RecordDelimiter), RecordDelimiter) {
		table = append(table, strings.Split(record, FieldDelimiter))
	}
	return table
}

var (
	guid    = regexp.MustCompile(`^[0-9A-F]{32}$`)
	checkID = regexp.MustCompile(`^A[0-9]{4,11}$`)
)

func TestCheck(t *testing.T) {
	table := rowsOf(t, Check, Options{Rows: 20_000, Seed: 5, FirstKey: "A208849559"})
	if len(table) != 20_000 || table[0][1] != "A208849559" {
		t.Fatalf("%d rows, the first of %s", len(table), table[0][1])
	}
	ids, run, last := map[string]bool{}, 0, ""
	var newlines, empty, emptyLast, chinese int
	for _, row := range table {
		if len(row) != 18 || len(row) != len(CheckColumns) {
			t.Fatalf("%d columns: %q", len(row), row)
		}
		if !guid.MatchString(row[0]) || ids[row[0]] || !checkID.MatchString(row[1]) {
			t.Fatalf("id %s, check_id %s", row[0], row[1])
		}
		ids[row[0]] = true
		if run++; row[1] != last {
			run, last = 1, row[1]
		}
		if run > 24 { // twice 12: two groups of one key may be adjacent
			t.Fatalf("%d rows of %s", run, last)
		}
		whole := strings.Join(row, "")
		newlines += strings.Count(whole, "\n")
		chinese += strings.Count(row[11], "京")
		if row[14] == "" {
			empty++
		}
		if row[17] == "" {
			emptyLast++
		}
	}
	if newlines < 1000 || empty != len(table) || emptyLast < 1000 || chinese < 1000 {
		t.Errorf("%d newlines, %d empty, %d empty at the end, %d Chinese", newlines, empty, emptyLast, chinese)
	}
}

// TestGUIDsCountInTheMiddle: SYS_GUID of one session counts in the middle; its start and end stay the same.
func TestGUIDsCountInTheMiddle(t *testing.T) {
	table := rowsOf(t, Check, Options{Rows: 3, Seed: 1})
	a, b := table[0][0], table[1][0]
	if a[:12] != b[:12] || a[20:] != b[20:] || a[12:20] == b[12:20] {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestOpinion(t *testing.T) {
	for _, row := range rowsOf(t, Opinion, Options{Rows: 1000, Seed: 5}) {
		if len(row) != 8 || len(row) != len(OpinionColumns) || !guid.MatchString(row[0]) || len(row[4]) < 60 {
			t.Fatalf("%q", row)
		}
	}
}

func TestOptions(t *testing.T) {
	var b bytes.Buffer
	if err := Check(&b, Options{Rows: 100, FieldDelimiter: "\t", RecordDelimiter: "\x1e\n", Null: `\N`, KeyRows: 1}); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for record := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\x1e\n"), "\x1e\n") {
		row := strings.Split(record, "\t")
		if len(row) != 18 || row[14] != `\N` {
			t.Fatalf("%q", row)
		}
		keys[row[1]] = true
	}
	if len(keys) != 100 {
		t.Errorf("%d keys in 100 rows of one each", len(keys))
	}
}

func TestSeeds(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(20) {
		for _, row := range append(rowsOf(t, Check, Options{Rows: 500, Seed: seed}), rowsOf(t, Opinion, Options{Rows: 500, Seed: seed})...) {
			if other, taken := seen[row[0]]; taken {
				t.Fatalf("seeds %d and %d both have id %s", seed, other, row[0])
			}
			seen[row[0]] = seed
		}
	}
}

// TestShippedExample: the shipped example is what the go:generate lines make.
func TestShippedExample(t *testing.T) {
	for name, c := range map[string]struct {
		write func(io.Writer, Options) error
		Options
	}{
		"check/2026-11-20/part-m-00000":   {Check, Options{Rows: 1500, Seed: 1, FirstKey: "A208849559"}},
		"check/2026-11-20/part-m-00001":   {Check, Options{Rows: 1500, Seed: 2}},
		"opinion/2026-11-20/part-m-00000": {Opinion, Options{Rows: 300, Seed: 1, FirstKey: "A208849559"}},
		"opinion/2026-11-20/part-m-00001": {Opinion, Options{Rows: 300, Seed: 2}},
	} {
		shipped, err := os.ReadFile(filepath.Join("../../../jobs/examples/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var made bytes.Buffer
		if err := c.write(&made, c.Options); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(shipped, made.Bytes()) {
			t.Errorf("%s differs from what its options make; run go generate ./internal/test/sample", name)
		}
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	if err := Check(full{}, Options{Rows: 5}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCheck(b *testing.B) {
	var size bytes.Buffer
	if err := Check(&size, Options{Rows: 10_000}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(io.Discard, Options{Rows: 10_000}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSkew(t *testing.T) {
	table := rowsOf(t, Check, Options{Rows: 20_000, Seed: 3, Skew: 90, FirstKey: "A208849559", FirstKeyRows: 4000})
	hot, first := 0, 0
	for i, row := range table {
		if row[1] == "A208849559" {
			first++
		}
		if i >= 4000 && Salt(row[1]) == HotSalt {
			hot++
		}
	}
	if first != 4000 || hot < 16_000*85/100 || hot > 16_000*97/100 { // 90 of 100 and a tenth of the others
		t.Errorf("the first key has %d rows, and %d of 16,000 others have the salt %c", first, hot, HotSalt)
	}
}

// TestSalt: the values have known hash codes: "a" is 97, "hello" 99162322, "polygenelubricants" -2147483648.
func TestSalt(t *testing.T) {
	for key, want := range map[string]byte{"": '0', "a": '7', "hello": '2', "polygenelubricants": '8'} {
		if got := Salt(key); got != want {
			t.Errorf("%q has salt %c, want %c", key, got, want)
		}
	}
}

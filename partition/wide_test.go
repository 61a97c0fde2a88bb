package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRowForm(t *testing.T) {
	for row, want := range map[string]string{
		"": "\x00\x00", "a": "a\x00\x00", "\x00": "\x00\xff\x00\x00", "a\x00\xffb": "a\x00\xff\xffb\x00\x00", "\x00\x00": "\x00\xff\x00\xff\x00\x00",
	} {
		if got := AppendRow([]byte("-"), []byte(row)); string(got) != "-"+want {
			t.Errorf("%q is %q, want %q", row, got, "-"+want)
		}
	}
	for _, key := range []string{"", "a", "\x00", "a\x00", "a\x00\x01\x00\x00", "\x00\xff", "\x00\xff\x00", "\x00\xffa\x00\x07"} {
		if row, rest, ok := CutRow(nil, []byte(key)); ok {
			t.Errorf("%q is cut into %q and %q", key, row, rest)
		}
	}
}

// FuzzRowForm: keys order as rows do and then as what is behind, and come apart again.
func FuzzRowForm(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), []byte("a\x00"), []byte(""))
	f.Add([]byte(""), []byte("\x00"), []byte("\x00"), []byte("\xff"))
	f.Add([]byte("1"), []byte("2x"), []byte("12"), []byte("x"))
	f.Add([]byte("\x00\xff"), []byte(""), []byte("\x00"), []byte("\xff\xff"))
	f.Fuzz(func(t *testing.T, row, rest, otherRow, otherRest []byte) {
		key := append(AppendRow(nil, row), rest...)
		other := append(AppendRow(nil, otherRow), otherRest...)
		want := bytes.Compare(row, otherRow)
		if want == 0 {
			want = bytes.Compare(rest, otherRest)
		}
		if got := bytes.Compare(key, other); got != want {
			t.Errorf("%q + %q and %q + %q compare as %d, want %d", row, rest, otherRow, otherRest, got, want)
		}
		gotRow, gotRest, ok := CutRow([]byte("x")[:0], key)
		if !ok || !bytes.Equal(gotRow, row) || !bytes.Equal(gotRest, rest) {
			t.Errorf("%q + %q come apart as %q + %q, %v", row, rest, gotRow, gotRest, ok)
		}
		CutRow(nil, row) // whatever the bytes
	})
}

// TestWideRowsAreNotCut sorts rows of very different widths, through spills, and cuts them into slices: every row is in
// one slice, and all entries are there, in order.
func TestWideRowsAreNotCut(t *testing.T) {
	splits := [][]byte{AppendRow(nil, []byte("3\x00")), AppendRow(nil, []byte("6"))}
	regions, err := NewRegions(splits)
	if err != nil {
		t.Fatal(err)
	}
	const lanes, entries = 2, 60_000
	s, err := NewSorter(Options{Regions: regions, Memory: 1 << 20, WorkDir: t.TempDir(), Lanes: lanes})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]string{}
	r := rand.New(rand.NewPCG(3, 4))
	for range lanes {
		l := s.Lane()
		for i := range entries / lanes {
			row := []byte(fmt.Sprint(r.IntN(1000)))
			if r.IntN(2) == 0 {
				row = []byte("7") // half of all in one row
			}
			if r.IntN(5) == 0 {
				row = append(row, 0, byte(r.IntN(3)))
			}
			entry := AppendRow(l.Buffer(), row)
			rowLen := len(entry)
			entry = fmt.Appendf(entry, "%d", r.IntN(1e6))
			want[regions.Find(entry[:rowLen])] = append(want[regions.Find(entry[:rowLen])], string(entry))
			if err := l.Commit(append(entry, "payload"...), rowLen, len(entry), Position{Offset: int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sorted, err := s.Sort(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer sorted.Close()
	if sorted.Stats().Runs < 2 {
		t.Errorf("%d runs", sorted.Stats().Runs)
	}
	for region := range regions.Len() {
		var got []string
		cut := sorted.Slices(region, 8)
		if len(cut) < 2 {
			t.Errorf("region %d has %d slices", region, len(cut))
		}
		last := []byte(nil)
		for _, slice := range cut {
			for i, key := range sliceKeys(t, sorted, slice) {
				row, _, ok := CutRow(nil, key)
				if !ok {
					t.Fatalf("%q is no key", key)
				}
				if i == 0 && bytes.Equal(row, last) {
					t.Errorf("row %q is in two slices", row)
				}
				last = bytes.Clone(row)
				got = append(got, string(key))
			}
		}
		slices.Sort(want[region])
		if !slices.Equal(got, want[region]) {
			t.Errorf("region %d: %d entries, want %d, or in another order", region, len(got), len(want[region]))
		}
	}
}

func sliceKeys(t *testing.T, sorted *Sorted, slice Slice) (keys [][]byte) {
	t.Helper()
	run, err := sorted.Slice(slice)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := run.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, bytes.Clone(e.Key))
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return keys
}

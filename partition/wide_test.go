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

	"bulkload/sortentry"
)

// TestWideRowsAreNotCut sorts rows of very different widths, through spills, and cuts them into slices: every row is in
// one slice, and all entries are there, in order.
func TestWideRowsAreNotCut(t *testing.T) {
	splits := [][]byte{sortentry.AppendRow(nil, []byte("3\x00")), sortentry.AppendRow(nil, []byte("6"))}
	regions, err := NewRegions(splits)
	if err != nil {
		t.Fatal(err)
	}
	const shards, entries = 2, 60_000
	s, err := NewSorter(SortOptions{Regions: regions, Memory: 1 << 20, WorkDir: t.TempDir(), Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]string{}
	r := rand.New(rand.NewPCG(3, 4))
	for range shards {
		l := s.NewShard()
		for i := range entries / shards {
			row := []byte(fmt.Sprint(r.IntN(1000)))
			if r.IntN(2) == 0 {
				row = []byte("7") // half of all in one row
			}
			if r.IntN(5) == 0 {
				row = append(row, 0, byte(r.IntN(3)))
			}
			entry := sortentry.AppendRow(l.Buffer(), row)
			rowLen := len(entry)
			entry = fmt.Appendf(entry, "%d", r.IntN(1e6))
			want[regions.Find(entry[:rowLen])] = append(want[regions.Find(entry[:rowLen])], string(entry))
			if err := l.Commit(append(entry, "payload"...), rowLen, len(entry), EntryOrigin{Offset: int64(i)}); err != nil {
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
				row, _, ok := sortentry.CutRow(nil, key)
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

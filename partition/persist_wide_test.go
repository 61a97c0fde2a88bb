package partition

import (
	"bytes"
	"fmt"
	"testing"

	"bulkload/sortentry"
)

// TestMergedWideRunsAreCutAsBefore: a merged run's description has the rows at which regions may be cut, and no whole
// keys.
func TestMergedWideRunsAreCutAsBefore(t *testing.T) {
	k := &keeper{store: LocalStore(t.TempDir() + "/kept"), failing: -1}
	o := SortOptions{Regions: regions(t), Memory: 256 << 10, Shards: 1}
	first := sortWide(t, k, o, 20_000)
	if len(first.runs) == len(k.runs) && first.Stats().Runs == len(k.runs) {
		t.Fatal("nothing was merged")
	}
	want := first.Slices(0, 8)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := sortWide(t, k, o, 0)
	if got := again.Slices(0, 8); !equalSlices(got, want) {
		t.Errorf("cut at %v, and at %v before", got, want)
	}
}

// sortWide sorts entries of 300 rows, which all go to kept runs, and what is kept already.
func sortWide(t *testing.T, k *keeper, o SortOptions, entries int) *Sorted {
	t.Helper()
	o.Persistent = k.kept()
	s, err := NewSorter(o)
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	for i := range entries {
		key := sortentry.AppendRow(shard.Buffer(), fmt.Appendf(nil, "row%03d", i*7919%300))
		rowLen := len(key)
		key = fmt.Appendf(key, "q%06d", i)
		entry := append(key, bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(i * 31)}, 60)...)
		if err := shard.Commit(entry, rowLen, len(key), EntryOrigin{Offset: int64(i)}); err != nil {
			t.Fatal(err)
		}
		if !shard.Full() && i+1 < entries {
			continue
		}
		run, err := shard.Spill()
		if err != nil {
			t.Fatal(err)
		}
		k.runs = append(k.runs, run)
	}
	if err := shard.Close(); err != nil {
		t.Fatal(err)
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sorted
}

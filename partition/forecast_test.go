package partition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bulkload/internal/test/testrand"
)

// TestForecastSpill compares the forecast with what a sort spills: entries of one size and of many, one and several
// shards with equal and different parts, and so many runs that some must be merged before the rest. With the memory that
// a sort names it spills nothing.
func TestForecastSpill(t *testing.T) {
	type shape struct {
		memory       int64
		least, most  int // bytes of an entry
		shards       []int64
		withinOne100 int // how many hundredths the forecast may be off
	}
	for _, c := range []shape{
		{1 << 20, 100, 100, []int64{5000}, 0},
		{1 << 20, 100, 100, []int64{50_000}, 0},
		{1 << 20, 100, 100, []int64{30_000, 30_000}, 0},
		{1 << 20, 100, 100, []int64{50_000, 0, 13_000}, 0},
		{8 << 20, 1000, 1000, []int64{20_000, 9_000}, 0},
		{8 << 20, 30, 30, []int64{100_000, 200_000}, 0},
		{1 << 20, 40, 400, []int64{40_000, 40_000}, 5},
		{4 << 20, 10, 3000, []int64{10_000, 10_000}, 10},
		{128 << 10, 100, 100, []int64{60_000, 60_000}, 5},
	} {
		if rows := c.shards[0]; testing.Short() && rows > 30_000 {
			continue // with the race detector, minutes
		}
		t.Run(fmt.Sprint(c.memory, c.least, c.most, c.shards), func(t *testing.T) {
			regions, err := NewRegions(nil)
			if err != nil {
				t.Fatal(err)
			}
			seed := testrand.New(t).Uint64()
			expected := Shape{Shards: c.shards}
			sort := func(memory int64) Stats {
				t.Helper()
				r := rand.New(rand.NewPCG(seed, 1))
				sorter, err := NewSorter(SortOptions{Regions: regions, Memory: memory, Shards: len(c.shards), WorkDir: t.TempDir(), Uncompressed: 1 << 40})
				if err != nil {
					t.Fatal(err)
				}
				sum, rows := 0, int64(0)
				for i, n := range c.shards {
					shard := sorter.NewShard()
					for at := range n {
						e := append(shard.Buffer(), make([]byte, c.least+r.IntN(c.most-c.least+1))...)
						copy(e, fmt.Sprintf("%08x", r.Uint32()))
						sum, rows, expected.Largest = sum+len(e), rows+1, max(expected.Largest, len(e))
						if err := shard.Commit(e, 8, 8, EntryOrigin{File: uint32(i), Offset: at}); err != nil {
							t.Fatal(err)
						}
					}
					if err := shard.Close(); err != nil {
						t.Fatal(err)
					}
				}
				expected.Mean = float64(sum) / float64(rows)
				sorted, err := sorter.Sort(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer sorted.Close()
				return sorted.Stats()
			}
			stats := sort(c.memory)
			if (stats.Needs > 0) != (stats.Runs > 0) || stats.Runs > 0 && stats.Needs < c.memory {
				t.Errorf("%d runs with %d bytes; %d would have been enough", stats.Runs, c.memory, stats.Needs)
			}
			if stats.Runs > 0 {
				if enough := sort(stats.Needs); enough.Runs > 0 {
					t.Errorf("%d bytes are said to be enough, and with them there are %d runs", stats.Needs, enough.Runs)
				}
			}
			got := ForecastSpill(c.memory, expected)
			bytes := float64(got.Entries) * expected.Mean
			// Headers of entries and blocks are about a tenth of entries of 100 bytes.
			spilled := float64(stats.SpilledBytes) * expected.Mean / (expected.Mean + 6)
			off := 0.0
			if spilled > 0 {
				off = bytes/spilled - 1
			}
			t.Logf("%+v: %.0f bytes; %d runs, %.0f bytes spilled: %+.1f%%", got, bytes, stats.Runs, spilled, 100*off)
			if slices.Max([]float64{off, -off}) > 0.03+float64(c.withinOne100)/100 || c.withinOne100 == 0 && got.Runs != stats.Runs || (spilled == 0) != (bytes == 0) {
				t.Errorf("forecast %d runs and %.0f bytes; spilled %d and %.0f", got.Runs, bytes, stats.Runs, spilled)
			}
		})
	}
}

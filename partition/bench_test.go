package partition

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

func BenchmarkSort(b *testing.B) {
	for _, c := range []struct {
		name   string
		memory int64
	}{{"in memory", 1 << 30}, {"spilled", 16 << 20}} {
		b.Run(c.name, func(b *testing.B) { benchSort(b, c.memory) })
	}
}

func benchSort(b *testing.B, memory int64) {
	const rows = 300_000
	r := rand.New(rand.NewPCG(4, 4))
	key, payload := make([]byte, 0, 65), make([]byte, 166)
	o := SortOptions{Regions: regions(b, "1", "2", "3", "4", "5", "6", "7", "8", "9"), Memory: memory, WorkDir: b.TempDir(), Shards: 1}
	b.SetBytes(rows * int64(65+len(payload)))
	b.ReportAllocs()
	for range b.N {
		s, err := NewSorter(o)
		if err != nil {
			b.Fatal(err)
		}
		shard := s.NewShard()
		for i := range rows {
			if i%6 == 0 {
				key = fmt.Appendf(key[:0], "%d%016x%016x", r.IntN(10), r.Uint64(), r.Uint64())
			}
			key = fmt.Appendf(key[:33], "59C1%08X01ECE053C5013807B6BE", i)
			if err := commit(shard, append(append(shard.Buffer(), key...), payload...), len(key), EntryOrigin{0, int64(i)}); err != nil {
				b.Fatal(err)
			}
		}
		shard.Close()
		sorted, err := s.Sort(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for i := range o.Regions.Len() {
			run, err := sorted.Region(i)
			for err == nil {
				_, err = run.Next()
			}
			if !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
		}
		sorted.Close()
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mentries/s")
}

// BenchmarkOrder measures the sorting of an arena alone, by counting and by comparing.
func BenchmarkOrder(b *testing.B) {
	for name, sort := range map[string]func(*arena){"counting": (*arena).sort, "comparing": sortComparing} {
		b.Run(name, func(b *testing.B) {
			a := filledArena(300_000)
			shuffled := slices.Clone(a.index)
			b.ReportAllocs()
			for b.Loop() {
				copy(a.index, shuffled)
				sort(a)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(a.index)), "ns/entry")
		})
	}
}

func filledArena(n int) *arena {
	a, r := newArena(1<<30), rand.New(rand.NewPCG(4, 4))
	head := ""
	for i := range n {
		if i%6 == 0 {
			head = fmt.Sprintf("%d%016x%016x", r.IntN(10), r.Uint64(), r.Uint64())
		}
		if len(a.tail()) < 1024 {
			a.addChunk(1024)
		}
		key := fmt.Appendf(a.tail()[headerLen:headerLen], "%s59C1%08X01ECE053C5013807B6BE", head, i*2654435761)
		a.growIndex(false)
		a.add(len(key), 200, EntryOrigin{0, int64(i)})
	}
	return a
}

// sortComparing is the plain way, which the counting one is measured against.
func sortComparing(a *arena) {
	slices.SortFunc(a.index, func(x, y indexEntry) int {
		if c := cmp.Compare(x.prefix, y.prefix); c != 0 {
			return c
		}
		return a.compare(x.at, y.at, 0)
	})
}

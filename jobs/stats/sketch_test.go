package stats

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// TestDistinct compares HyperLogLog with exact counts, of every size, and its mean error with what is promised.
func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 100, 1000, 10_000, 20_000, 40_000, 100_000, 1_000_000} {
		const tries = 5
		var squares float64
		for try := range tries {
			var whole, half HyperLogLog
			for i := range n {
				hash := Hash(number(uint64(try)<<40 | uint64(i)))
				whole.Add(hash)
				whole.Add(hash)
				if i%2 == 0 {
					half.Add(hash)
				}
			}
			got := whole.Count()
			if whole.Merge(&half); whole.Count() != got {
				t.Errorf("%d: a part of it changes the count", n)
			}
			off := float64(got-int64(n)) / math.Max(float64(n), 1)
			if math.Abs(off) > 4*distinctError {
				t.Errorf("%d different values are counted as %d", n, got)
			}
			squares += off * off
		}
		if err := math.Sqrt(squares / tries); err > 2*distinctError {
			t.Errorf("%d: the error is %.2f%%", n, 100*err)
		}
	}
}

func TestDistinctMerge(t *testing.T) {
	var a, b HyperLogLog
	for i := range 200_000 {
		if d := &a; i%3 == 0 {
			d = &b
			d.Add(Hash(number(uint64(i))))
		} else {
			d.Add(Hash(number(uint64(i))))
		}
	}
	if a.Merge(&b); math.Abs(float64(a.Count())/200_000-1) > 4*distinctError {
		t.Errorf("%d together", a.Count())
	}
}

// zipf makes keys of which some are far more frequent than the others.
func zipf(n int) (keys []uint64, exact map[uint64]int64) {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.3, 3, 100_000)
	exact = map[uint64]int64{}
	for range n {
		k := z.Uint64()
		keys = append(keys, k)
		exact[k]++
	}
	return keys, exact
}

func unknown(uint64) (int64, bool) { return 0, false }

// TestFrequent compares space-saving with exact counts: no key with more than rows/counters rows is missing, and each
// count is between its bounds; merged from parts, too.
func TestFrequent(t *testing.T) {
	const rows, counters = 300_000, 500
	keys, exact := zipf(rows)
	whole, parts := NewHeavyHitters(counters), []*HeavyHitters{NewHeavyHitters(counters), NewHeavyHitters(counters), NewHeavyHitters(counters)}
	for i, k := range keys {
		b := number(k)
		whole.Add(Hash(b), b, 1)
		parts[i%3].Add(Hash(b), b, 1)
	}
	merged := parts[0]
	merged.Merge(parts[1])
	merged.Merge(parts[2])
	for name, f := range map[string]*HeavyHitters{"whole": whole, "merged": merged} {
		top := f.Top(counters, unknown, func(b []byte) string { return fmt.Sprint(binary.BigEndian.Uint64(b)) })
		found := map[string]Frequency{}
		for _, c := range top {
			found[c.Key] = c
		}
		for k, n := range exact {
			c, ok := found[fmt.Sprint(k)]
			switch {
			case !ok && n > 2*rows/counters:
				t.Errorf("%s: key %d with %d rows is missing", name, k, n)
			case ok && (c.Rows < n || c.Rows-c.Over > n):
				t.Errorf("%s: key %d has %d rows, not %d to %d", name, k, n, c.Rows-c.Over, c.Rows)
			}
		}
		if top[0].Key != "0" || float64(top[0].Rows-top[0].Over) < 0.9*float64(exact[0]) {
			t.Errorf("%s: the first is %+v; key 0 has %d", name, top[0], exact[0])
		}
	}
}

func TestFrequentAllocatesNothing(t *testing.T) {
	f, n := NewHeavyHitters(100), uint64(0)
	key := make([]byte, 8)
	add := func() {
		n++
		binary.BigEndian.PutUint64(key, n%1000)
		f.Add(Hash(key), key, 1)
	}
	for range 5000 {
		add()
	}
	if allocs := testing.AllocsPerRun(1000, add); allocs > 0.1 {
		t.Errorf("%.2f allocations a row", allocs)
	}
}

// TestGroups compares the distribution with exact counts: of all keys while there are few, then of a part that
// represents all.
func TestGroups(t *testing.T) {
	keys, exact := zipf(300_000)
	for _, most := range []int{1 << 20, 4000} {
		g := NewGroupCounts(most)
		for _, k := range keys {
			g.Add(Hash(number(k)), 1)
		}
		d := g.Distribution()
		var over int64
		for k, n := range exact {
			if n > RowLimit {
				over++
			}
			if rows, known := g.Rows(Hash(number(k))); known && rows != n {
				t.Fatalf("key %d has %d rows, counted %d", k, n, rows)
			}
		}
		if most == 1<<20 {
			if d.Share != 1 || d.Keys != int64(len(exact)) || d.Max != exact[0] || d.Over != over {
				t.Errorf("%+v; exactly %d keys, the largest %d, %d large", d, len(exact), exact[0], over)
			}
			var sum int64
			for _, b := range d.Buckets {
				sum += b.Keys
			}
			if sum != d.Keys {
				t.Errorf("buckets have %d keys of %d", sum, d.Keys)
			}
			continue
		}
		if d.Keys > 4000 || d.Share > 0.5 || math.Abs(float64(d.Keys)/d.Share/float64(len(exact))-1) > 0.15 {
			t.Errorf("%d keys are one in %.0f of %d", d.Keys, 1/d.Share, len(exact))
		}
	}
}

func TestQuantilesOfADistribution(t *testing.T) {
	g := NewGroupCounts(1000)
	for i := range 100 {
		g.Add(Hash(number(uint64(i))), int64(i+1))
	}
	d := g.Distribution()
	if d.Mean != 50.5 || d.Median != 50 || d.P90 != 90 || d.P99 != 99 || d.Max != 100 || d.Over != 50 {
		t.Errorf("%+v", d)
	}
	if want := (Bucket{21, 50, 30}); !slices.Contains(d.Buckets, want) {
		t.Errorf("buckets %v, want %v among them", d.Buckets, want)
	}
}

// TestSeen compares repeated keys with exact counts, while all are kept, and while a part is.
func TestSeen(t *testing.T) {
	for _, memory := range []int64{64 << 20, 256 << 10} {
		s := NewDuplicateSketch(memory)
		var batch []SketchRow
		const keys, twice, differing = 200_000, 6000, 2000
		for i := range keys {
			batch = append(batch, SketchRow{Hash(number(uint64(i))), 1})
			if i < twice {
				content := uint32(1)
				if i < differing {
					content = 2
				}
				batch = append(batch, SketchRow{Hash(number(uint64(i))), content}, SketchRow{Hash(number(uint64(i))), 1})
			}
		}
		rand.New(rand.NewPCG(3, 4)).Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		for len(batch) > 0 {
			n := min(100, len(batch))
			s.Add(batch[:n])
			batch = batch[n:]
		}
		r := s.Repeats()
		if memory == 64<<20 {
			if want := (Repeats{keys, twice, 2 * twice, differing, 1}); r != want {
				t.Errorf("%+v, want %+v", r, want)
			}
			continue
		}
		near := func(what string, got int64, want float64) {
			if math.Abs(float64(got)/r.Share/want-1) > 0.2 {
				t.Errorf("%s: %d of one in %.0f, want %.0f", what, got, 1/r.Share, want)
			}
		}
		near("keys", r.Keys, keys)
		near("repeated", r.Repeated, twice)
		near("rows", r.Rows, 2*twice)
		near("differing", r.Differing, differing)
		if int64(len(s.slots))*16 > memory {
			t.Errorf("it takes %d bytes of %d", len(s.slots)*16, memory)
		}
	}
}

// TestSample: what is kept does not depend on the order, groups are kept whole, and memory is bounded.
func TestSample(t *testing.T) {
	type row struct{ group, row int }
	var rows []row
	for g := range 5000 {
		for i := range 1 + g%10 {
			rows = append(rows, row{g, i})
		}
	}
	take := func(budget int) *Sample {
		s := NewSample(budget)
		for _, r := range rows {
			entry := fmt.Appendf(nil, "%05d-%02d=some value", r.group, r.row)
			s.Add(Hash(number(uint64(r.group))), Hash(entry), entry, 8, 1)
		}
		s.Sort()
		return s
	}
	if s := take(10 << 20); !s.whole() || s.Len() != len(rows) {
		t.Errorf("%d of %d rows where there is room for all", s.Len(), len(rows))
	}
	a := take(50_000)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	b := take(50_000)
	if a.Len() != b.Len() || a.whole() || len(a.data) > 50_000 || a.Len() < 500 {
		t.Fatalf("%d and %d rows, %d bytes", a.Len(), b.Len(), len(a.data))
	}
	count := map[string]int{}
	for i := range a.Len() {
		key, rest := a.Row(i)
		other, _ := b.Row(i)
		if string(key) != string(other) || string(rest) != "=some value" {
			t.Fatalf("row %d is %q in one order, %q in the other", i, key, other)
		}
		count[string(key[:5])]++
	}
	for group, n := range count {
		if g, err := strconv.Atoi(group); err != nil || n != 1+g%10 {
			t.Errorf("group %s has %d rows of %d", group, n, 1+g%10)
		}
	}
}

// TestSampleOfOneGroup: a query key with nearly all rows does not outgrow the budget.
func TestSampleOfOneGroup(t *testing.T) {
	s := NewSample(100_000)
	for i := range 100_000 {
		entry := fmt.Appendf(nil, "one-%06d=value", i)
		s.Add(7, Hash(entry), entry, 10, 1)
	}
	if len(s.data) > 100_000 || s.Len() < 1000 {
		t.Errorf("%d rows, %d bytes", s.Len(), len(s.data))
	}
}

// TestSampleOfKeys: a key that comes again weighs more, and takes no room.
func TestSampleOfKeys(t *testing.T) {
	s := NewSample(1000)
	for range 10_000 {
		for _, key := range []string{"b", "a"} {
			s.Add(Hash([]byte(key)), Hash([]byte(key)), []byte(key), 1, 2)
		}
	}
	if s.Sort(); s.Len() != 2 || s.Weight(0) != 20_000 || !s.whole() {
		t.Errorf("%d keys, the first weighs %d", s.Len(), s.Weight(0))
	}
}

func BenchmarkFrequent(b *testing.B) {
	keys, _ := zipf(1 << 16)
	f, key := NewHeavyHitters(4096), make([]byte, 8)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		binary.BigEndian.PutUint64(key, keys[i%len(keys)])
		f.Add(Hash(key), key, 1)
	}
}

// whole reports whether everything that was offered is kept.
func (s *Sample) whole() bool { return s.level.Load() == 0 && s.thin.Load() == 0 }

// distinctError is the standard error of HyperLogLog.Count, relative to the count: 1.04 / √registers.
const distinctError = 1.04 / 128

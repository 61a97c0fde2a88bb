package stats

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/test/testrand"
)

// skewed draws a key of which few come often and many come rarely.
func skewed(r *rand.Rand, keys int) uint64 { return uint64(math.Pow(float64(keys), r.Float64())) }

// TestFrequentBounds: of every key that has a counter the true number of rows is between the bounds, and every key that
// has more rows than one part in as many as there are counters has one: alone, and merged in any way.
func TestFrequentBounds(t *testing.T) {
	r := testrand.New(t)
	for range 60 {
		counters, parts := r.IntN(40)+1, r.IntN(4)+1
		truth, rows := map[uint64]int64{}, int64(0)
		var all []*HeavyHitters
		for range parts {
			f := NewHeavyHitters(counters)
			for range r.IntN(5000) {
				key, n := skewed(r, 1000), r.Int64N(3)+1
				f.Add(Hash(number(key)), number(key), n)
				truth[key] += n
				rows += n
			}
			all = append(all, f)
		}
		for len(all) > 1 { // in any order, also merged ones with each other
			i := r.IntN(len(all) - 1)
			all[i].Merge(all[i+1])
			all = slices.Delete(all, i+1, i+2)
		}
		have := map[string]bool{}
		none := func(uint64) (int64, bool) { return 0, false }
		for _, k := range all[0].Top(counters, none, func(b []byte) string { return string(b) }) {
			have[k.Key] = true
			n := truth[beUint64(k.Key)]
			if n > k.Rows || n < k.Rows-k.Over || k.Over < 0 {
				t.Fatalf("%d counters, %d parts: key %x has %d rows, it says %d to %d", counters, parts, k.Key, n, k.Rows-k.Over, k.Rows)
			}
		}
		if len(have) > counters {
			t.Fatalf("%d keys with %d counters", len(have), counters)
		}
		for key, n := range truth {
			if parts == 1 && n > rows/int64(counters) && !have[string(number(key))] {
				t.Fatalf("%d counters: a key with %d of %d rows has none", counters, n, rows)
			}
		}
	}
}

func beUint64(s string) (n uint64) {
	for _, b := range []byte(s) {
		n = n<<8 | uint64(b)
	}
	return n
}

// TestFrequentTop: keys are in the order of what they have for certain, an exact count is put instead of a bound, and
// what is kept of a long key is a copy of its beginning.
func TestFrequentTop(t *testing.T) {
	f := NewHeavyHitters(3)
	long := bytes.Repeat([]byte("k"), 2*longestKept)
	f.Add(1, long, 5)
	copy(long, "changed")
	f.Add(2, []byte("b"), 7)
	f.Add(3, []byte("c"), 6)
	f.Add(4, []byte("d"), 1) // takes the place of the one with 5
	show := func(b []byte) string { return string(b) }
	got := f.Top(10, func(hash uint64) (int64, bool) { return 8, hash == 4 }, show)
	if want := []Frequency{{"d", 8, 0}, {"b", 7, 0}, {"c", 6, 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = f.Top(2, func(uint64) (int64, bool) { return 0, false }, show)
	if want := []Frequency{{"b", 7, 0}, {"c", 6, 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	g := NewHeavyHitters(1)
	g.Add(1, bytes.Repeat([]byte("k"), 2*longestKept), 1)
	if top := g.Top(1, func(uint64) (int64, bool) { return 0, false }, show); top[0].Key != strings.Repeat("k", longestKept) {
		t.Errorf("%d bytes of a key are kept", len(top[0].Key))
	}
	if top := NewHeavyHitters(0).Top(5, nil, show); top == nil || len(top) > 0 {
		t.Errorf("%v of nothing", top)
	}
}

// TestGroupsWhateverTheOrder: rows in any order, from any number of goroutines, leave the same keys with the same
// counts: for the keys that are left, all of their rows.
func TestGroupsWhateverTheOrder(t *testing.T) {
	r := testrand.New(t)
	for _, most := range []int{1, 10, 1000} {
		truth := map[uint64]int64{}
		var rows []uint64
		for range 20_000 {
			hash := Hash(number(skewed(r, 5000)))
			truth[hash]++
			rows = append(rows, hash)
		}
		alone := NewGroupCounts(most)
		for _, hash := range rows {
			alone.Add(hash, 1)
		}
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		together := NewGroupCounts(most)
		var all sync.WaitGroup
		for part := range slices.Chunk(rows, 5000) {
			all.Go(func() {
				for _, hash := range part {
					together.Add(hash, 1)
				}
			})
		}
		all.Wait()
		if !maps.Equal(alone.rows, together.rows) || len(alone.rows) > most {
			t.Errorf("at most %d keys: %d in one order, %d in another", most, len(alone.rows), len(together.rows))
		}
		kept := 0
		for hash, n := range truth {
			if got, known := alone.Rows(hash); known {
				if kept++; got != n {
					t.Fatalf("a key has %d rows, %d are counted", n, got)
				}
			}
		}
		if kept != len(alone.rows) {
			t.Errorf("%d keys are kept, %d of them came", len(alone.rows), kept)
		}
		d := alone.Distribution()
		checkDistribution(t, d, slices.Sorted(maps.Values(alone.rows)))
	}
}

// checkDistribution compares a distribution with the counts themselves.
func checkDistribution(t *testing.T, d Distribution, counts []int64) {
	t.Helper()
	var all, over, inBuckets int64
	for _, n := range counts {
		all += n
		if n > RowLimit {
			over++
		}
	}
	last := int64(0)
	for _, b := range d.Buckets {
		var want int64
		for _, n := range counts {
			if n >= b.From && n <= b.To {
				want++
			}
		}
		if b.From != last+1 || b.To < b.From || b.Keys != want {
			t.Errorf("a bucket %+v after one to %d; %d keys are in it", b, last, want)
		}
		last = b.To
		inBuckets += b.Keys
	}
	if d.Keys != int64(len(counts)) || d.Over != over || inBuckets != d.Keys {
		t.Errorf("%+v of %d keys, %d over the limit", d, len(counts), over)
	}
	if len(counts) == 0 {
		return
	}
	if d.Max != slices.Max(counts) || last != d.Max || math.Abs(d.Mean-float64(all)/float64(len(counts))) > 1e-9 {
		t.Errorf("%+v: the largest is %d, the mean %v", d, slices.Max(counts), float64(all)/float64(len(counts)))
	}
	if !slices.IsSorted([]int64{1, d.Median, d.P90, d.P99, d.Max}) {
		t.Errorf("%+v: quantiles out of order", d)
	}
	if below, _ := slices.BinarySearch(counts, d.Median+1); 2*below < len(counts) {
		t.Errorf("%+v: %d of %d keys have at most the median", d, below, len(counts))
	}
}

// TestDistributionOfFew: nothing, one key, and counts at the ends of buckets.
func TestDistributionOfFew(t *testing.T) {
	for _, counts := range [][]int64{{}, {1}, {50}, {51}, {1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000}, {3, 6, 11, 21, 51, 101, 1001, 10_001, 100_001}, {1e15}} {
		g := NewGroupCounts(100)
		for i, n := range counts {
			g.Add(Hash(number(uint64(i))), n)
		}
		d := g.Distribution()
		checkDistribution(t, d, counts)
		if d.Buckets == nil || d.Share != 1 {
			t.Errorf("%v: %+v", counts, d)
		}
	}
}

// TestPathsAsCounted: how many rows queries return and read, against a count of all: exactly where all fits, about
// where not.
func TestPathsAsCounted(t *testing.T) {
	r := testrand.New(t)
	for _, most := range []int{10_000, 500} {
		p := NewQueryCost(most)
		values, prefixes, prefixOf := map[uint64]int{}, map[uint64]int{}, map[uint64]uint64{}
		var all sync.WaitGroup
		for range 4 {
			var rows []uint64
			for range 5_000 {
				v := r.Uint64N(4000)
				rows = append(rows, v)
				values[v]++
				prefixes[v/7]++
				prefixOf[v] = v / 7
			}
			all.Go(func() {
				for _, v := range rows {
					p.Add(Hash(number(v)), Hash(number(v/7+1<<40)))
				}
			})
		}
		all.Wait()
		var wantReturned, wantRead float64
		for v, n := range values {
			wantReturned += float64(n) / float64(len(values))
			wantRead += float64(prefixes[prefixOf[v]]) / float64(len(values))
		}
		returned, read := p.Means()
		near := 1e-9
		if most < len(values) {
			near = 0.25
		}
		if math.Abs(returned-wantReturned) > near*wantReturned || math.Abs(read-wantRead) > near*wantRead {
			t.Errorf("at most %d values: %v and %v, want %v and %v", most, returned, read, wantReturned, wantRead)
		}
		if len(p.values) > most {
			t.Errorf("%d values are held, at most %d", len(p.values), most)
		}
	}
	if returned, read := NewQueryCost(10).Means(); returned != 0 || read != 0 {
		t.Errorf("%v and %v of nothing", returned, read)
	}
}

// TestSeenAsCounted: repeated keys, rows after the first and keys whose rows differ, against a count of all; from
// several goroutines, in memory for all and for few.
func TestSeenAsCounted(t *testing.T) {
	r := testrand.New(t)
	for _, memory := range []int64{1 << 22, 1 << 15, 0} {
		type key struct {
			rows   int64
			differ bool
			first  uint32
		}
		truth := map[uint64]*key{}
		s := NewDuplicateSketch(memory)
		var all sync.WaitGroup
		for range 4 {
			var rows []SketchRow
			for range 5_000 {
				n := skewed(r, 20_000) + r.Uint64N(20_000)*r.Uint64N(2)
				content := uint32(n % 5)
				if n%3 == 0 {
					content += r.Uint32N(2)
				}
				rows = append(rows, SketchRow{Hash(number(n)), content})
				k := truth[n]
				if k == nil {
					k = &key{first: content}
					truth[n] = k
				}
				k.rows++
				k.differ = k.differ || content != k.first
			}
			all.Go(func() {
				for part := range slices.Chunk(rows, 100) {
					s.Add(part)
				}
			})
		}
		all.Wait()
		var want Repeats
		for n, k := range truth {
			if !chosen(Hash(number(n)), s.level) {
				continue
			}
			want.Keys++
			if k.rows > 1 {
				want.Repeated++
				want.Rows += k.rows - 1
			}
			if k.differ {
				want.Differing++
			}
		}
		want.Share = math.Pow(0.5, float64(s.level))
		if got := s.Repeats(); got != want {
			t.Errorf("in %d bytes: %+v, want %+v", memory, got, want)
		}
		if int64(len(s.slots)*16) > max(memory, 1<<14) {
			t.Errorf("%d slots in %d bytes", len(s.slots), memory)
		}
	}
	whole, half := Repeats{Share: 1}, Repeats{Share: 0.5}
	if whole.Missed(1) != 0 || whole.Missed(0) != 1 || half.Missed(3) != 0.125 {
		t.Errorf("%v, %v, %v", whole.Missed(1), whole.Missed(0), half.Missed(3))
	}
}

// TestSeenZeroHash: a key whose hash is 0, which marks a free slot, is counted as any other.
func TestSeenZeroHash(t *testing.T) {
	s := NewDuplicateSketch(1 << 20)
	s.Add([]SketchRow{{0, 1}, {0, 1}, {0, 2}, {5, 1}})
	if got := s.Repeats(); got != (Repeats{Keys: 2, Repeated: 1, Rows: 2, Differing: 1, Share: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestSampleWhateverTheOrder: what is kept of the same rows does not depend on their order, groups are kept whole,
// weights of rows that come again add up, and the budget is kept.
func TestSampleWhateverTheOrder(t *testing.T) {
	r := testrand.New(t)
	for _, budget := range []int{1 << 20, 20_000, 3_000} {
		type offered struct{ group, row uint64 }
		var rows []offered
		for range 4_000 {
			n := r.Uint64N(3_000)
			rows = append(rows, offered{n / 3, n})
		}
		weights := map[string]int64{}
		for _, o := range rows {
			weights[fmt.Sprintf("%06d", o.row)]++
		}
		var first string
		for try := range 3 {
			s := NewSample(budget)
			var all sync.WaitGroup
			for part := range slices.Chunk(rows, 1+len(rows)/(try+1)) {
				all.Go(func() {
					for _, o := range part {
						key := fmt.Appendf(nil, "%06d", o.row)
						s.Add(Hash(number(o.group)), Hash(number(o.row)), key, len(key), 1)
					}
				})
			}
			all.Wait()
			s.Sort()
			var text strings.Builder
			groups := map[uint64]int{}
			for i := range s.Len() {
				key, rest := s.Row(i)
				n, _ := strconv.ParseUint(string(key), 10, 64)
				groups[n/3]++
				if len(rest) > 0 || s.whole() && s.Weight(i) != weights[string(key)] || s.Weight(i) > weights[string(key)] {
					t.Fatalf("row %s weighs %d, it came %d times", key, s.Weight(i), weights[string(key)])
				}
				fmt.Fprintf(&text, "%s ", key)
			}
			for g, n := range groups {
				want := 0
				for row := 3 * g; row < 3*g+3; row++ {
					want += int(min(weights[fmt.Sprintf("%06d", row)], 1))
				}
				if s.thin.Load() == 0 && n != want {
					t.Fatalf("group %d has %d of its %d rows", g, n, want)
				}
			}
			if len(s.data) > budget || s.whole() != (len(s.rows) == len(weights)) {
				t.Errorf("%d bytes with a budget of %d; all of them: %v", len(s.data), budget, s.whole())
			}
			if first == "" {
				first = text.String()
			}
			if text.String() != first {
				t.Errorf("budget %d: another order keeps others", budget)
			}
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}
	}
}

// TestSampleRowsWithPayload: a row with something after its key is kept as often as it comes, ordered by key and then
// by that.
func TestSampleRowsWithPayload(t *testing.T) {
	s := NewSample(1000)
	for _, entry := range []string{"kb", "ka", "kb", "ja"} {
		s.AddAt(1, 1, Hash([]byte(entry)), []byte(entry), 1, 2)
	}
	s.Sort()
	var got []string
	for i := range s.Len() {
		key, rest := s.Row(i)
		got = append(got, string(key)+"+"+string(rest))
	}
	if want := []string{"j+a", "k+a", "k+b", "k+b"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s.Scale([]float64{100, 1.5})
	if s.Weight(0) != 3 {
		t.Errorf("a weight of 2 times 1.5 is %d", s.Weight(0))
	}
	if firsts := s.Firsts(); !slices.Equal(firsts, []bool{true, false, false, false}) {
		t.Errorf("%v are the first rows of their groups", firsts)
	}
}

// TestThinKeepsGroups: of places that represent more and less, rows are left that represent about as many each; whole
// groups, and of the place that represents most all.
func TestThinKeepsGroups(t *testing.T) {
	by := []float64{1, 4, 2}
	s := NewSample(1 << 20)
	for place := range by {
		for group := range 400 {
			for row := range group%3 + 1 {
				entry := fmt.Appendf(nil, "%d-%d-%d", place, group, row)
				s.AddAt(place, Hash(number(uint64(group+place*1000))), Hash(entry), entry, len(entry), 1)
			}
		}
	}
	before := map[string]int{}
	for i := range s.Len() {
		key, _ := s.Row(i)
		place, group, _ := cutGroup(string(key))
		before[place+group]++
	}
	s.Thin(by)
	kept, rows := map[string]int{}, map[string]float64{}
	for i := range s.Len() {
		key, _ := s.Row(i)
		place, group, _ := cutGroup(string(key))
		kept[place+group]++
		rows[place]++
	}
	for g, n := range kept {
		if n != before[g] {
			t.Errorf("group %s has %d of its %d rows", g, n, before[g])
		}
	}
	all := rows["1-"]
	if all != 799 {
		t.Errorf("%v rows are left of the place that represents most", all)
	}
	for place, share := range map[string]float64{"0-": 0.25, "2-": 0.5} {
		if got := rows[place] / all; math.Abs(got-share) > 0.02 {
			t.Errorf("of place %s %.3f of the rows are left, want %.3f", place, got, share)
		}
	}
}

func cutGroup(key string) (place, group, row string) {
	parts := strings.SplitAfter(key, "-")
	return parts[0], parts[1], parts[2]
}

// TestQuantilesAsCounted: however keys and weights are, cuts rise, each tells the keys on its sides apart in as few
// bytes as do, no more parts come out than were asked for, and a part is no heavier than a fair share and one key.
func TestQuantilesAsCounted(t *testing.T) {
	r := testrand.New(t)
	for range 300 {
		s := NewSample(1 << 20)
		heaviest := int64(0)
		for range r.IntN(200) + 1 {
			key := []byte(strconv.FormatUint(r.Uint64()>>r.IntN(64), 2+r.IntN(2)*34))
			s.Add(r.Uint64(), Hash(key), key, len(key), r.Int64N(100)+1)
		}
		s.Sort()
		for i := range s.Len() {
			heaviest = max(heaviest, s.Weight(i))
		}
		parts := r.IntN(12) + 1
		cuts := quantiles(s, 0, s.Len(), parts)
		if len(cuts) >= parts || !slices.IsSortedFunc(cuts, bytes.Compare) || len(slices.CompactFunc(slices.Clone(cuts), bytes.Equal)) != len(cuts) {
			t.Fatalf("%d parts are cut at %q", parts, cuts)
		}
		var weights []int64
		at := 0
		for _, c := range append(slices.Clone(cuts), nil) {
			var part int64
			from := at
			for at < s.Len() && (c == nil || bytes.Compare(keyAt(s, at), c) < 0) {
				part += s.Weight(at)
				at++
			}
			weights = append(weights, part)
			if part == 0 {
				t.Fatalf("nothing is before %q", c)
			}
			if c != nil && (at == from || at == s.Len() || len(c) > 1 && bytes.Compare(c[:len(c)-1], keyAt(s, at-1)) > 0) {
				t.Fatalf("%q is longer than it must be between %q and %q", c, keyAt(s, at-1), keyAt(s, at))
			}
		}
		all := weigh(s, 0, s.Len())
		if got, want := skewOf(s, cuts), float64(slices.Max(weights))*float64(len(weights))/float64(all); math.Abs(got-want) > 1e-9 {
			t.Fatalf("skew %v, counted %v", got, want)
		}
		if largest := slices.Max(weights); s.Len() >= parts && largest > all/int64(parts)+2*heaviest {
			t.Fatalf("%d parts of %d: the largest has %d, the heaviest key %d", parts, all, largest, heaviest)
		}
	}
}

// TestSuggestProperties: whatever the sizes, the servers and the salts, the splits rise, are one fewer than the
// regions, each salt but the first begins a region, and the reason has the numbers.
func TestSuggestProperties(t *testing.T) {
	r := testrand.New(t)
	for range 200 {
		w := RegionInput{Source: r.Int64N(1e12) >> r.IntN(40), HFiles: r.Int64N(1e12) >> r.IntN(40), Servers: r.IntN(20), MaxFileSize: []int64{0, 1e9, 10e9}[r.IntN(3)], FromKey: noSplits}
		for salt := range r.IntN(2) * r.IntN(10) {
			w.Salts = append(w.Salts, []byte{'0' + byte(salt)})
		}
		s := NewSample(1 << 20)
		for range r.IntN(2000) {
			key := fmt.Appendf(nil, "%d%06d", r.IntN(max(len(w.Salts), 1)), r.IntN(1e6))
			s.Add(r.Uint64(), Hash(key), key, len(key), 10)
		}
		s.Sort()
		got := ProposeRegions(w, s, text)
		if got.Regions != len(got.Splits)+1 || len(got.Keys) != len(got.Splits) || !slices.IsSortedFunc(got.Keys, bytes.Compare) {
			t.Fatalf("%+v: %+v", w, got)
		}
		for i, salt := range w.Salts {
			if i > 0 && !slices.Contains(got.Splits, string(salt)) {
				t.Fatalf("salt %s begins no region: %q", salt, got.Splits)
			}
		}
		if got.BySource.Least > got.BySource.Most || got.BySource.Least < 1 || !strings.Contains(got.Reason, Size(w.Source)+" of source at 1.9 GiB per region") {
			t.Fatalf("%+v", got)
		}
		if got.Skew < 0 || s.Len() > 0 && got.Skew < 1-1e-9 {
			t.Fatalf("a skew of %v", got.Skew)
		}
	}
}

// TestEvenSplitsUnlessSkewed: splits that follow from the expression are taken, as they hold for later loads, unless
// the keys fill them unevenly and other ones better.
func TestEvenSplitsUnlessSkewed(t *testing.T) {
	even := func(int) ([][]byte, error) { return [][]byte{[]byte("5")}, nil }
	for name, c := range map[string]struct {
		keys string
		from string
	}{"even": {"0123456789", "key"}, "all below": {"0011223344", "sample"}, "one key": {"0000000000", "sample"}, "a little off": {"0112345678", "key"}} {
		s := NewSample(1000)
		for i, k := range c.keys {
			key := []byte(string(k))
			if name != "one key" {
				key = fmt.Appendf(key, "%d", i)
			}
			s.Add(uint64(i), Hash(key), key, len(key), 1)
		}
		s.Sort()
		got := ProposeRegions(RegionInput{Source: 4e9, FromKey: even}, s, text)
		if got.From != c.from {
			t.Errorf("%s: from %s, skew %v, %q", name, got.From, got.Skew, got.Splits)
		}
	}
}

// TestScatterOfRows: a whole input whose groups are together has no scatter; the more places a group is met at, the
// fewer groups there are than the sample would let expect.
func TestScatterOfRows(t *testing.T) {
	r := testrand.New(t)
	fill := func(placeOf func(group, row int) int) *Sample {
		s := NewSample(1 << 22)
		for group := range 300 {
			for row := range group%4 + 1 {
				entry := fmt.Appendf(nil, "%d-%d", group, row)
				s.AddAt(placeOf(group, row), Hash(number(uint64(group))), Hash(entry), entry, len(entry), 1)
			}
		}
		return s
	}
	together := fill(func(group, _ int) int { return group % 10 }).Scatter(75_000)
	apart := fill(func(int, int) int { return r.IntN(10) }).Scatter(75_000)
	whole := fill(func(int, int) int { return r.IntN(10) }).Scatter(750)
	if together != 1 || whole != 1 || apart <= 0 || apart > 0.5 {
		t.Errorf("together %v, apart %v, all of the input %v", together, apart, whole)
	}
	if got := NewSample(10).Scatter(0); got != 1 {
		t.Errorf("of nothing: %v", got)
	}
	for _, seen := range []float64{10, 1000} { // no estimate is below what was seen
		for once := 0.0; once <= seen; once += seen / 10 {
			for _, twice := range []float64{1, 10, 100} {
				for _, thrice := range []float64{0, 9, 10, 100} {
					if got := groupsInAll(seen, once, twice, thrice, 50); got < seen || math.IsNaN(got) || math.IsInf(got, 0) {
						t.Errorf("%v seen, %v once, %v twice, %v three times: %v", seen, once, twice, thrice, got)
					}
				}
			}
		}
	}
}

// TestDistinctOrderAndMerge: the count of a set is the same in any order, with repeats, and merged of any parts.
func TestDistinctOrderAndMerge(t *testing.T) {
	r := testrand.New(t)
	for _, n := range []int{0, 1, 100, 30_000} {
		var whole HyperLogLog
		parts := make([]HyperLogLog, 3)
		for i := range n {
			hash := Hash(number(uint64(i)))
			whole.Add(hash)
			for range r.IntN(2) + 1 {
				parts[r.IntN(3)].Add(hash)
			}
		}
		r.Shuffle(3, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		parts[0].Merge(&parts[1])
		parts[0].Merge(&parts[2])
		if parts[0].registers != whole.registers || parts[0].Count() != whole.Count() {
			t.Errorf("%d values: %d whole, %d in parts", n, whole.Count(), parts[0].Count())
		}
	}
	var d HyperLogLog // hashes of only zeros and only ones
	d.Add(0)
	d.Add(math.MaxUint64)
	if d.Count() != 2 {
		t.Errorf("the lowest and the highest hash are %d values", d.Count())
	}
	if n := testing.AllocsPerRun(10, func() { d.Add(7); d.Count() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestCompareIsFair: of two plans each line says the same whichever is put first; what differs by less than two in a
// hundred, or shows alike, is no better.
func TestCompareIsFair(t *testing.T) {
	r := testrand.New(t)
	for range 200 {
		a, b := madeReport(), madeReport()
		for _, p := range []*InputReport{a, b} {
			p.KeyBytes.Mean, p.RawBytes, p.HFiles.Bytes = float64(r.IntN(40)), r.Int64N(1e12), r.Int64N(1e12)
			p.Suggestion.Skew, p.Query.Scans, p.Query.Full, p.Repeats.Repeated = 1+r.Float64(), r.IntN(20), r.IntN(3) == 0, r.Int64N(5)
			p.Daily = Day{float64(r.IntN(1e6)), float64(r.IntN(1e6)), float64(r.IntN(1e9))}
			for range r.IntN(4) {
				p.Checks = append(p.Checks, Finding{Severity: []Severity{Problem, Warning, Note}[r.IntN(3)]})
			}
		}
		there, back := Compare(a, b), Compare(b, a)
		for i, line := range there {
			want := Compared{line.What, line.B, line.A, map[int]int{0: 0, 1: 2, 2: 1}[line.Better]}
			if back[i] != want || line.A == line.B && line.Better != 0 || strings.Contains(line.A+line.B, "Inf") || strings.Contains(line.A+line.B, "NaN") {
				t.Fatalf("%+v, and the other way round %+v", line, back[i])
			}
		}
		if len(there) != 13 {
			t.Fatalf("%d lines", len(there))
		}
	}
	a, b := madeReport(), madeReport()
	b.Query, b.Queries, b.Wide = nil, nil, true
	for _, line := range Compare(a, b) {
		if line.What == "scans per query" || line.What == "scans per day" || line.Better != 0 {
			t.Errorf("%+v", line)
		}
	}
	b = madeReport()
	b.RawBytes = a.RawBytes*101/100 + 1
	for _, line := range Compare(a, b) {
		if line.Better != 0 {
			t.Errorf("a hundredth more is better: %+v", line)
		}
	}
	b.RawBytes = a.RawBytes * 103 / 100
	if i := slices.IndexFunc(Compare(a, b), func(c Compared) bool { return c.What == "KeyValue bytes" }); Compare(a, b)[i].Better != 1 {
		t.Error("three hundredths more are no worse")
	}
}

package digest

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"

	"bulkload/cell"

	"github.com/zeebo/xxh3"
)

// contribution follows the package comment literally, without shortcuts.
func contribution(c *cell.Cell, timed bool) uint64 {
	column := append([]byte{byte(len(c.Family))}, c.Family...)
	column = append(append(column, byte(len(c.Qualifier))), c.Qualifier...)
	var low, high uint64
	word := func(b []byte) (w uint64) {
		for i := range b {
			w |= uint64(b[i]) << (8 * i)
		}
		return w
	}
	switch v, n := c.Value, len(c.Value); {
	case n == 0:
	case n < 4:
		low = word([]byte{v[0], v[n/2], v[n-1]})
	case n <= 8:
		low = word(append(append([]byte{}, v[:4]...), v[n-4:]...))
	case n <= 16:
		low, high = word(v[:8]), word(v[n-8:])
	case n <= 32:
		low = word(v[:8]) + 0x165667B19E3779F9*word(v[n-16:n-8])
		high = word(v[8:16]) + 0x9E3779B185EBCA87*word(v[n-8:])
	default:
		low = xxh3.Hash(v)
	}
	high += uint64(len(c.Value)) * 0xC2B2AE3D27D4EB4F
	x, y, product, mask := new(big.Int), new(big.Int), new(big.Int), new(big.Int).SetUint64(1<<64-1)
	row := xxh3.Hash(c.Row) * 0x9E3779B185EBCA87
	x.SetUint64(row + low)
	y.SetUint64(xxh3.Hash(column) + uint64(c.Type)*0x85EBCA77C2B2AE63 + (row<<32 | row>>32) + high)
	product.Mul(x, y)
	h := new(big.Int).Rsh(product, 64).Uint64() ^ new(big.Int).And(product, mask).Uint64()
	if !timed {
		return h
	}
	m := uint64(c.Timestamp) * 0x9E3779B185EBCA87
	m = (m ^ m>>33) * 0xC2B2AE3D27D4EB4F
	m = (m ^ m>>29) * 0x165667B19E3779F9
	return h * (m ^ m>>32 | 1)
}

// TestMixingIsXXH64s: XXH64 of nothing is the mixing of its fifth constant.
func TestMixingIsXXH64s(t *testing.T) {
	if got, want := avalanche(0x27D4EB2F165667C5), uint64(0xEF46DB3751D8E999); got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

func q0(q string) byte { return (q + "_")[0] }

// cells returns cells with values of all lengths up to 40.
func cells(rows int) []*cell.Cell {
	var all []*cell.Cell
	for r := range rows {
		for _, q := range []string{"a", "b", "", "c"} {
			all = append(all, &cell.Cell{
				Row: []byte{byte(r)}, Family: []byte("f"), Qualifier: []byte(q),
				Timestamp: int64(r), Type: cell.Put, Value: bytes.Repeat([]byte{'v', byte(r), q0(q)}, 40)[:r%40+len(q)],
			})
		}
	}
	return all
}

func TestStreamFollowsTheDefinition(t *testing.T) {
	all := cells(40)
	var want Sum
	var stream Stream
	for _, c := range all {
		want.Add(Sum{1, contribution(c, true), contribution(c, false)})
		stream.Add(c)
	}
	if stream.Sum != want {
		t.Errorf("stream gives %v, the definition %v", stream.Sum, want)
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	all := cells(40)
	var a, b Stream
	for _, c := range all {
		a.Add(c)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		b.Add(c)
	}
	if a.Sum != b.Sum {
		t.Errorf("shuffled cells give %v, ordered ones %v", b.Sum, a.Sum)
	}
}

// TestEveryBitOfAValueCounts: any changed bit of a value, or an additional byte, changes the digest.
func TestEveryBitOfAValueCounts(t *testing.T) {
	of := func(value []byte) string {
		var s Stream
		s.Add(&cell.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put, Value: value})
		return s.Sum.String()
	}
	for n := range 40 {
		value := make([]byte, n+1)
		base := of(value[:n])
		if of(value) == base {
			t.Errorf("%d zero bytes and one more have the same digest", n)
		}
		for i := range n * 8 {
			value[i/8] ^= 1 << (i % 8)
			if of(value[:n]) == base {
				t.Errorf("value of %d bytes: bit %d does not count", n, i)
			}
			value[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestEveryPartCounts(t *testing.T) {
	base := cell.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put, Value: []byte("v")}
	sum := func(change func(*cell.Cell)) Sum {
		c := base
		change(&c)
		var s Stream
		s.Add(&c)
		return s.Sum
	}
	same := sum(func(*cell.Cell) {})
	changes := map[string]func(*cell.Cell){
		"row":       func(c *cell.Cell) { c.Row = []byte("s") },
		"family":    func(c *cell.Cell) { c.Family = []byte("g") },
		"qualifier": func(c *cell.Cell) { c.Qualifier = []byte("qq") },
		"moved":     func(c *cell.Cell) { c.Family, c.Qualifier = []byte("fq"), nil },
		"value":     func(c *cell.Cell) { c.Value = nil },
		"type":      func(c *cell.Cell) { c.Type = cell.Delete },
	}
	for name, change := range changes {
		if s := sum(change); s.Timed == same.Timed || s.Timeless == same.Timeless {
			t.Errorf("%s: a changed cell has the same digest %v", name, s)
		}
	}
	later := sum(func(c *cell.Cell) { c.Timestamp = 6 })
	if later.Timed == same.Timed || later.Timeless != same.Timeless {
		t.Errorf("another timestamp gives %v beside %v", later, same)
	}
}

func TestTwiceDoesNotCancelAndSubTakesOut(t *testing.T) {
	var one, two Stream
	c := cells(1)[0]
	one.Add(c)
	two.Add(c)
	two.Add(c)
	if two.Sum.Timed == 0 || two.Sum == one.Sum {
		t.Errorf("the same cell twice gives %v, once %v", two.Sum, one.Sum)
	}
	two.Sum.Sub(one.Sum)
	if two.Sum != one.Sum {
		t.Errorf("taking one out leaves %v, want %v", two.Sum, one.Sum)
	}
}

func BenchmarkStream(b *testing.B) {
	all := cells(200)
	b.ReportAllocs()
	b.SetBytes(int64(len(all)))
	var s Stream
	for b.Loop() {
		for _, c := range all {
			s.Add(c)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	want := Sum{3, 1<<64 - 1, 5}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); s != `{"cells":3,"with_timestamp":"ffffffffffffffff","without_timestamp":"0000000000000005"}` {
		t.Errorf("written as %s", s)
	}
	var got Sum
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("read back as %v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"cells":3,"with_timestamp":"x"}`), &got); err == nil {
		t.Error("a digest that is no number is accepted")
	}
}

// TestDigestIsPinned: manifests and summaries contain digests, so every release must compute the same ones.
func TestDigestIsPinned(t *testing.T) {
	var s Stream
	for _, c := range cells(3) {
		s.Add(c)
	}
	if got, want := s.Sum.String(), "eeb2aa71373c0957/d2ee1b7c1824354b"; got != want {
		t.Errorf("the digest of fixed cells is %s, was %s: old outputs would no longer verify; raise the manifest's schema if that is meant", got, want)
	}
}

func TestRunsGiveTheSameAsCells(t *testing.T) {
	var plain, runs Stream
	for round := range 3 {
		all := cells(40)
		for i := 0; i < len(all); i += 4 { // rows of the columns a, b, "", c
			for _, c := range all[i : i+4] {
				c.Timestamp += int64(round)
				plain.Add(c)
			}
			if i == 0 && round == 0 { // as in a file's first row: each cell brings its column's number
				for n, c := range all[:4] {
					runs.AddRun(c, [...]int{2, 0, -1, 2000}[n], nil, nil)
				}
				continue
			}
			runs.AddRun(all[i], 2, []int32{0}, [][]byte{all[i+1].Value})
			runs.AddRun(all[i+2], -1, []int32{2000}, [][]byte{all[i+3].Value})
		}
	}
	if plain.Sum != runs.Sum {
		t.Errorf("in runs %v, cell by cell %v", runs.Sum, plain.Sum)
	}
}

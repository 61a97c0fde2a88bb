package partition

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// randomEntries have keys with long common prefixes, of any length, many of them equal, and payloads of any size.
func randomEntries(r *rand.Rand, n, largest int) []Entry {
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	entries := make([]Entry, n)
	for i := range entries {
		key := []byte(fmt.Sprintf("%d%08x", r.IntN(10), r.IntN(max(n/3, 1))))
		switch r.IntN(10) {
		case 0:
			key = key[:1+r.IntN(len(key))]
		case 1:
			key = append(key, make([]byte, r.IntN(4))...)
		case 2:
			key = append(key, bytes.Repeat([]byte("long"), r.IntN(60))...)
		}
		payload := make([]byte, r.IntN(200))
		if r.IntN(100) == 0 {
			payload = make([]byte, r.IntN(largest))
		}
		for n := 0; n < len(payload); {
			n += copy(payload[n:], noise[r.IntN(1000):])
		}
		entries[i] = Entry{Key: key, EntryOrigin: EntryOrigin{uint32(i % 3), int64(i)}, Payload: payload}
	}
	return entries
}

// sortEntries sorts through shards that work in parallel, entry i through shard i%shards.
func sortEntries(t testing.TB, o SortOptions, entries []Entry) *Sorted {
	t.Helper()
	s, err := NewSorter(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() })
	var wait sync.WaitGroup
	for n := range o.Shards {
		shard := s.NewShard()
		wait.Go(func() {
			for i := n; i < len(entries); i += o.Shards {
				e := &entries[i]
				b := append(append(shard.Buffer(), e.Key...), e.Payload...)
				if err := commit(shard, b, len(e.Key), e.EntryOrigin); err != nil {
					t.Error(err)
				}
			}
			if n%2 == 0 {
				shard.Sort()
			}
			if err := shard.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	sorted, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sorted
}

func TestSortIsTheSameHoweverItIsDone(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := []int{0, 1, 10, 3000, 20_000}[r.IntN(5)]
		largest := []int{1000, 300_000, 3 << 20}[r.IntN(3)]
		if n > 3000 {
			largest = 1000
		}
		entries := randomEntries(r, n, largest)
		want := slices.Clone(entries)
		sortPlainly(want)
		o := SortOptions{Regions: regions(t, "1", "2", "30000", "9"), Memory: 1 << (10 + r.IntN(20)), WorkDir: filepath.Join(t.TempDir(), "work"), Shards: 1 + r.IntN(4), Uncompressed: int64(r.IntN(3)) << (4 + r.IntN(24))}
		t.Run(fmt.Sprintf("seed=%d,entries=%d,memory=%d,lanes=%d", seed, n, o.Memory, o.Shards), func(t *testing.T) {
			sorted := sortEntries(t, o, entries)
			compareRegions(t, sorted, o.Regions, want)
			if st := sorted.Stats(); st.Entries != int64(n) {
				t.Errorf("stats tell of %d entries", st.Entries)
			}
			if err := sorted.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(o.WorkDir); len(left) > 0 {
				t.Errorf("%d files are left in the work folder", len(left))
			}
		})
	}
}

// sortPlainly orders entries by key, then by position.
func sortPlainly(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(bytes.Compare(a.Key, b.Key), cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
}

// compareRegions reads all regions in parallel.
func compareRegions(t *testing.T, sorted *Sorted, regions *Regions, want []Entry) {
	var wait sync.WaitGroup
	for i := range regions.Len() {
		var mine []Entry
		for _, e := range want {
			if regions.Find(e.Key) == i {
				mine = append(mine, e)
			}
		}
		wait.Go(func() { compareRegion(t, sorted, i, mine) })
	}
	wait.Wait()
}

func compareRegion(t *testing.T, sorted *Sorted, region int, want []Entry) {
	run, err := sorted.Region(region)
	if err != nil {
		t.Error(err)
		return
	}
	defer run.Close()
	var last *Entry
	for i := 0; ; i++ {
		e, err := run.Next()
		if i == len(want) {
			if !errors.Is(err, io.EOF) {
				t.Errorf("region %d goes on after its %d entries: %v", region, i, err)
			}
			return
		}
		if err != nil {
			t.Errorf("region %d, entry %d: %v", region, i, err)
			return
		}
		if !same(e, &want[i]) || last != nil && !same(last, &want[i-1]) {
			t.Errorf("region %d: entry %d is %q %v, want %q %v, or the one before it has changed", region, i, e.Key, e.EntryOrigin, want[i].Key, want[i].EntryOrigin)
			return
		}
		last = e
	}
}

func same(a, b *Entry) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload) && a.EntryOrigin == b.EntryOrigin
}

func TestOpenLaneIsRefused(t *testing.T) {
	s, err := NewSorter(SortOptions{Regions: regions(t), Shards: 1, WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	if _, err := s.Sort(t.Context()); err == nil {
		t.Fatal("a sort began before its lane was closed")
	}
	if err := commit(shard, shard.Buffer(), 0, EntryOrigin{}); err == nil {
		t.Fatal("an entry without key was taken")
	}
}

func TestLanesRefuseWhatTheyCannotTake(t *testing.T) {
	s, err := NewSorter(SortOptions{Regions: regions(t), Shards: 1, Memory: 1 << 20, WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	one := func(l *Shard, keyLen int) error {
		return commit(l, append(l.Buffer(), "key"...), keyLen, EntryOrigin{})
	}
	for name, err := range map[string]error{
		"no key":          one(shard, 0),
		"key too short":   one(shard, 4),
		"key too long":    commit(shard, make([]byte, MaxKey+1000), MaxKey+1, EntryOrigin{}),
		"a lane too many": one(s.NewShard(), 3),
		"too few lanes":   second(NewSorter(SortOptions{Regions: regions(t)})),
		"no regions":      second(NewSorter(SortOptions{Shards: 1})),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := commit(shard, append(shard.Buffer(), bytes.Repeat([]byte("k"), MaxKey)...), MaxKey, EntryOrigin{}); err != nil {
		t.Errorf("the longest key: %v", err)
	}
	shard.Sort()
	if err := one(shard, 3); err == nil {
		t.Error("a sorted lane took an entry")
	}
	for range 2 {
		if err := shard.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := one(shard, 3); err == nil {
		t.Error("a closed lane took an entry")
	}
	sorted, err := s.Sort(t.Context())
	if err != nil || sorted.Stats().Entries != 1 {
		t.Errorf("%v: %+v", err, sorted.Stats())
	}
	if _, err := s.Sort(t.Context()); err == nil {
		t.Error("a sort was ended twice")
	}
	if err := sorted.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sorted.Region(0); err == nil {
		t.Error("a region of a closed sort was given")
	}
}

func second(_ *Sorter, err error) error { return err }

func TestRegionsCanBeReadAgain(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(5, 5)), 5000, 1000)
	o := SortOptions{Regions: regions(t, "5"), Memory: 1 << 18, WorkDir: t.TempDir(), Shards: 2}
	sorted := sortEntries(t, o, entries)
	sortPlainly(entries)
	half, err := sorted.Region(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.Next(); err != nil { // and stays open, half read
		t.Fatal(err)
	}
	for range 3 {
		compareRegions(t, sorted, o.Regions, entries)
	}
	if err := errors.Join(half.Close(), half.Close()); err != nil {
		t.Error(err)
	}
	if _, err := half.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a closed run gives %v", err)
	}
}

// TestSkewedKeys has many entries with one long beginning, with one key, and with keys that differ in zeros at their
// ends.
func TestSkewedKeys(t *testing.T) {
	beginning := bytes.Repeat([]byte("0123456789"), 20)
	r := rand.New(rand.NewPCG(6, 6))
	var entries []Entry
	for i := range 30_000 {
		var key []byte
		switch i % 3 {
		case 0:
			key = fmt.Appendf(bytes.Clone(beginning), "%06d", r.IntN(1_000_000))
		case 1:
			key = beginning
		default:
			key = append(bytes.Clone(beginning[:r.IntN(3)]), make([]byte, 1+r.IntN(20))...)
		}
		entries = append(entries, Entry{Key: key, EntryOrigin: EntryOrigin{uint32(r.IntN(2)), int64(i)}})
	}
	for _, memory := range []int64{1 << 18, 1 << 26} {
		o := SortOptions{Regions: regions(t, "0123", "0123456789012345678901234567895"), Memory: memory, WorkDir: t.TempDir(), Shards: 2}
		sorted := sortEntries(t, o, entries)
		want := slices.Clone(entries)
		sortPlainly(want)
		compareRegions(t, sorted, o.Regions, want)
	}
}

func TestCommitAllocatesNothing(t *testing.T) {
	s, err := NewSorter(SortOptions{Regions: regions(t, "5"), Shards: 1, Memory: 20_000_000, WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() })
	shard, payload, n := s.NewShard(), make([]byte, 200), int64(0)
	commit := func() {
		b := strconv.AppendInt(shard.Buffer(), 1_000_000+n*7919%1_000_000, 10)
		if err := commit(shard, append(b, payload...), 7, EntryOrigin{0, n}); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for range 100_000 { // through the first spill
		commit()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100_000 { // and the second
		commit()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 200 || after.TotalAlloc-before.TotalAlloc > 1<<20 || len(s.runs) < 2 {
		t.Errorf("%d allocations, %d bytes, in a spill of %d", n, after.TotalAlloc-before.TotalAlloc, len(s.runs))
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, memory := range []int64{1 << 19, 1 << 26} {
		sorted := sortEntries(t, SortOptions{Regions: regions(t), Shards: 2, Memory: memory, WorkDir: t.TempDir()}, randomEntries(rand.New(rand.NewPCG(7, 7)), 30_000, 1000))
		run, err := sorted.Region(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(25_000, func() {
			if _, err := run.Next(); err != nil {
				t.Fatal(err)
			}
		}); got > 0.01 { // the runs' second buffers
			t.Errorf("memory %d: %v allocations an entry", memory, got)
		}
	}
}

// commit adds an entry whose key is a row.
func commit(l *Shard, entry []byte, keyLen int, pos EntryOrigin) error {
	return l.Commit(entry, keyLen, keyLen, pos)
}

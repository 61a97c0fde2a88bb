package partition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func regions(t testing.TB, splits ...string) *Regions {
	t.Helper()
	var b [][]byte
	for _, s := range splits {
		b = append(b, []byte(s))
	}
	r, err := NewRegions(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegionsHoldRows(t *testing.T) {
	r := regions(t, "1", "2", "25", "9")
	for row, want := range map[string]int{"": 0, "0": 0, "0\xff": 0, "1": 1, "1zz": 1, "2": 2, "24": 2, "25": 3, "250": 3, "8": 3, "9": 4, "zz": 4} {
		if got := r.Find([]byte(row)); got != want {
			t.Errorf("row %q is in region %d, want %d", row, got, want)
		}
	}
	if r.Len() != 5 || len(r.Start(0)) != 0 || string(r.End(0)) != "1" || string(r.Start(4)) != "9" || len(r.End(4)) != 0 {
		t.Errorf("ends of the regions are wrong")
	}
}

func TestSplitsMustAscend(t *testing.T) {
	for _, splits := range [][][]byte{{{}}, {[]byte("b"), []byte("a")}, {[]byte("a"), []byte("a")}} {
		if _, err := NewRegions(splits); err == nil {
			t.Errorf("splits %q were taken", splits)
		}
	}
}

func TestSaltsBeginRegions(t *testing.T) {
	digits := strings.Split("0 1 2 3 4 5 6 7 8 9", " ")
	for _, c := range []struct {
		name   string
		splits []string
		salts  []string
		fault  string
	}{
		{"one region a salt", digits[1:], digits, ""},
		{"a boundary at the first salt, too", digits, digits, ""},
		{"later splits inside salts", []string{"1", "17f", "2", "3", "4", "5", "5a", "5b", "6", "7", "8", "9", "95"}, digits, ""},
		{"a split below the first salt's", []string{"0555", "1", "2"}, digits[:3], ""},
		{"one salt shares a region", []string{"1", "2", "3", "4", "6", "7", "8", "9"}, digits, `salt "5"`},
		{"boundaries are shifted", []string{"15", "25"}, digits[:3], `salt "1"`},
		{"no regions", nil, digits, `salt "1"`},
		{"one salt, one region", nil, []string{"0"}, ""},
		{"two digits", []string{"01", "02"}, []string{"00", "01", "02"}, ""},
		{"two digits in a table for one", []string{"1", "2"}, []string{"00", "01", "02"}, `salt "01"`},
		{"splits of another table", []string{"!", "1"}, []string{"0", "1"}, "another table"},
	} {
		var salts [][]byte
		for _, s := range c.salts {
			salts = append(salts, []byte(s))
		}
		err := regions(t, c.splits...).CheckSalts(salts)
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
}

// randomEntries have keys with long common prefixes, of any length, many of them equal, and payloads of any size.
func randomEntries(r *rand.Rand, n, largest int) []Entry {
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
		for j := range payload {
			payload[j] = byte(i + j)
		}
		entries[i] = Entry{Key: key, Position: Position{uint32(i % 3), int64(i)}, Payload: payload}
	}
	return entries
}

// sortEntries sorts through lanes that work side by side, entry i through lane i%lanes.
func sortEntries(t testing.TB, o Options, entries []Entry) *Sorted {
	t.Helper()
	s, err := NewSorter(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() })
	var wait sync.WaitGroup
	for n := range o.Lanes {
		lane := s.Lane()
		wait.Go(func() {
			for i := n; i < len(entries); i += o.Lanes {
				e := &entries[i]
				b := append(append(lane.Buffer(), e.Key...), e.Payload...)
				if err := lane.Commit(b, len(e.Key), e.Position); err != nil {
					t.Error(err)
				}
			}
			if err := lane.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	sorted, err := s.Sort()
	if err != nil {
		t.Fatal(err)
	}
	return sorted
}

func TestSortIsTheSameHoweverItIsDone(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := []int{0, 1, 10, 3000, 20_000}[r.IntN(5)]
		entries := randomEntries(r, n, []int{1000, 300_000, 3 << 20}[r.IntN(3)])
		want := slices.Clone(entries)
		slices.SortFunc(want, func(a, b Entry) int {
			if c := bytes.Compare(a.Key, b.Key); c != 0 {
				return c
			}
			return a.Position.compare(b.Position)
		})
		o := Options{Regions: regions(t, "1", "2", "30000", "9"), Memory: 1 << (10 + r.IntN(20)), WorkDir: filepath.Join(t.TempDir(), "work"), Lanes: 1 + r.IntN(4)}
		t.Run(fmt.Sprintf("seed=%d,entries=%d,memory=%d,lanes=%d", seed, n, o.Memory, o.Lanes), func(t *testing.T) {
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

// compareRegions reads all regions side by side.
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
	if n := sorted.RegionEntries(region); n != int64(len(want)) {
		t.Errorf("region %d has %d entries, want %d", region, n, len(want))
	}
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
				t.Errorf("region %d goes on behind its %d entries: %v", region, i, err)
			}
			return
		}
		if err != nil {
			t.Errorf("region %d, entry %d: %v", region, i, err)
			return
		}
		if !same(e, &want[i]) || last != nil && !same(last, &want[i-1]) {
			t.Errorf("region %d: entry %d is %q %v, want %q %v, or the one before it has changed", region, i, e.Key, e.Position, want[i].Key, want[i].Position)
			return
		}
		last = e
	}
}

func same(a, b *Entry) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload) && a.Position == b.Position
}

func TestManyRunsAreMergedInSteps(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(1, 1)), 60_000, 1000)
	o := Options{Regions: regions(t, "5"), Memory: 1 << 20, WorkDir: t.TempDir(), Lanes: 2}
	sorted := sortEntries(t, o, entries)
	if st := sorted.Stats(); st.Runs < 8 || len(sorted.sorter.runs) > 4 {
		t.Fatalf("%d runs were spilled and %d are left: nothing was merged in steps", st.Runs, len(sorted.sorter.runs))
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return a.Position.compare(b.Position)
	})
	compareRegions(t, sorted, o.Regions, entries)
}

func TestDamagedSpillIsFound(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(2, 2)), 20_000, 1000)
	sorted := sortEntries(t, Options{Regions: regions(t), Memory: 1, WorkDir: t.TempDir(), Lanes: 1}, entries)
	run := sorted.sorter.runs[0]
	if _, err := run.file.WriteAt([]byte{0xff, 0xfe, 0xfd}, run.starts[1]/2); err != nil {
		t.Fatal(err)
	}
	in, err := sorted.Region(0)
	for err == nil {
		_, err = in.Next()
	}
	if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), run.file.Name()) || !strings.Contains(err.Error(), "offset") {
		t.Fatalf("a damaged spilled run gives %v", err)
	}
}

func TestSpillFailureIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := NewSorter(Options{Regions: regions(t), Memory: 1, WorkDir: file, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	lane := s.Lane()
	for i := range 100_000 {
		if err = lane.Commit(append(lane.Buffer(), "some key of an entry"...), 8, Position{0, int64(i)}); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "--work-dir") {
		t.Fatalf("a work folder that can't be made gives %v", err)
	}
}

func TestSpilledFilesArePrivate(t *testing.T) {
	sorted := sortEntries(t, Options{Regions: regions(t), Memory: 1, WorkDir: filepath.Join(t.TempDir(), "w"), Lanes: 1}, randomEntries(rand.New(rand.NewPCG(3, 3)), 20_000, 1000))
	info, err := sorted.sorter.runs[0].file.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(sorted.sorter.dir); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("folder's mode %v, %v", dir.Mode(), err)
	}
}

func TestOpenLaneIsRefused(t *testing.T) {
	s, err := NewSorter(Options{Regions: regions(t), Lanes: 1, WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	lane := s.Lane()
	if _, err := s.Sort(); err == nil {
		t.Fatal("a sort began before its lane was closed")
	}
	if err := lane.Commit(lane.Buffer(), 0, Position{}); err == nil {
		t.Fatal("an entry without key was taken")
	}
}

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
	o := Options{Regions: regions(b, "1", "2", "3", "4", "5", "6", "7", "8", "9"), Memory: memory, WorkDir: b.TempDir(), Lanes: 1}
	b.SetBytes(rows * int64(65+len(payload)))
	b.ReportAllocs()
	for range b.N {
		s, err := NewSorter(o)
		if err != nil {
			b.Fatal(err)
		}
		lane := s.Lane()
		for i := range rows {
			if i%6 == 0 {
				key = fmt.Appendf(key[:0], "%d%016x%016x", r.IntN(10), r.Uint64(), r.Uint64())
			}
			key = fmt.Appendf(key[:33], "59C1%08X01ECE053C5013807B6BE", i)
			if err := lane.Commit(append(append(lane.Buffer(), key...), payload...), len(key), Position{0, int64(i)}); err != nil {
				b.Fatal(err)
			}
		}
		lane.Close()
		sorted, err := s.Sort()
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

package partition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"bulkload/internal/test/testwords"
)

// keeper is the account of what kept runs hold, as a caller of the sort has it: entries by their index.
type keeper struct {
	mu      sync.Mutex
	store   Store
	runs    []RunFile
	covered map[int]bool
	failing int // replacements that are still recorded; negative: all
}

var errKilled = errors.New("killed")

func (k *keeper) kept() *PersistentRuns {
	return &PersistentRuns{Store: k.store, Runs: slices.Clone(k.runs), Replace: func(from []string, to RunFile) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.failing == 0 {
			return errKilled
		}
		k.failing--
		k.runs = slices.DeleteFunc(k.runs, func(r RunFile) bool { return slices.Contains(from, r.Name) })
		k.runs = append(k.runs, to)
		return nil
	}}
}

// live is one life of a sort: it takes what is not covered yet, and is killed after some entries, or not (negative). A
// killed one has mostly finished a run that nobody has taken account of.
func (k *keeper) live(t *testing.T, o SortOptions, entries []Entry, killed int) (*Sorted, error) {
	t.Helper()
	o.Persistent = k.kept()
	s, err := NewSorter(o)
	if err != nil {
		t.Fatal(err)
	}
	var shards []*Shard
	since := make([][]int, o.Shards)
	for range o.Shards {
		shards = append(shards, s.NewShard())
	}
	checkpoint := func(i int) {
		run, err := shards[i].Spill()
		if err != nil {
			t.Fatal(err)
		}
		if run.Name == "" {
			return
		}
		k.runs = append(k.runs, run)
		for _, n := range since[i] {
			k.covered[n] = true
		}
		since[i] = nil
	}
	for n := range entries {
		if k.covered[n] {
			continue
		}
		if killed == 0 {
			for _, shard := range shards[1:] {
				if _, err := shard.Spill(); err != nil {
					t.Fatal(err)
				}
			}
			return nil, errors.Join(errKilled, s.Discard())
		}
		killed--
		e, shard := &entries[n], shards[n%o.Shards]
		if err := commit(shard, append(append(shard.Buffer(), e.Key...), e.Payload...), len(e.Key), e.EntryOrigin); err != nil {
			t.Fatal(err)
		}
		since[n%o.Shards] = append(since[n%o.Shards], n)
		if shard.Full() {
			checkpoint(n % o.Shards)
		}
	}
	if !s.CanMerge() {
		for i := range shards {
			checkpoint(i)
		}
	}
	for _, shard := range shards {
		if err := shard.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	return sorted, nil
}

// TestKilledSortsGoOn: however often a sort is killed, while entries come and while runs are merged, and with whatever
// memory and shards it continues, the same entries come out, and the regions are cut at the same rows.
func TestKilledSortsGoOn(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		entries := randomEntries(r, 2000+r.IntN(30_000), []int{1000, 300_000}[r.IntN(2)])
		o := SortOptions{Regions: regions(t, "1", "2", "30000", "9"), Shards: 1, WorkDir: t.TempDir()}
		plain := sortEntries(t, SortOptions{Regions: o.Regions, Memory: 1 << 30, Shards: 1}, entries)
		k := &keeper{store: LocalStore(filepath.Join(t.TempDir(), "kept")), covered: map[int]bool{}}
		var sorted *Sorted
		lives := 0
		for sorted == nil {
			if lives++; lives > 30 {
				t.Fatalf("seed %d: no end after %d lives", seed, lives)
			}
			o.Memory, o.Shards = 1<<(16+r.IntN(6)), 1+r.IntN(3)
			killed, before := 1+r.IntN(len(entries)), len(k.covered)
			k.failing = r.IntN(3)
			if lives > 4 {
				killed, k.failing = -1, -1
			}
			var err error
			if sorted, err = k.live(t, o, entries, killed); err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if len(k.covered) < before {
				t.Errorf("seed %d: %d entries were kept, and %d before", seed, len(k.covered), before)
			}
		}
		want := slices.Clone(entries)
		sortPlainly(want)
		compareRegions(t, sorted, o.Regions, want)
		if got, want := sorted.Stats(), plain.Stats(); got.Entries != want.Entries || got.Bytes != want.Bytes {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
		for region := range o.Regions.Len() {
			if got, want := sorted.Slices(region, 5), plain.Slices(region, 5); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("seed %d: region %d is cut into %v, want %v", seed, region, got, want)
			}
		}
		if err := sorted.Close(); err != nil {
			t.Error(err)
		}
		checkKept(t, k)
	}
}

// checkKept wants the runs that are accounted for in the folder, and nothing else.
func checkKept(t *testing.T, k *keeper) {
	t.Helper()
	files, err := os.ReadDir(k.store.Path(""))
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(files) != len(k.runs) {
		t.Errorf("%d files are kept, %v; want %d", len(files), err, len(k.runs))
	}
	for _, run := range k.runs {
		info, err := os.Stat(k.store.Path(run.Name))
		if err != nil || info.Size() != run.Size || info.Mode().Perm() != 0o600 {
			t.Errorf("%+v: %v", run, err)
		}
	}
}

// keptRuns are some runs of a killed sort.
func keptRuns(t *testing.T) (*keeper, SortOptions) {
	t.Helper()
	o := SortOptions{Regions: regions(t, "5"), Memory: 1 << 16, Shards: 1}
	k := &keeper{store: LocalStore(filepath.Join(t.TempDir(), "kept")), covered: map[int]bool{}}
	if _, err := k.live(t, o, randomEntries(rand.New(rand.NewPCG(1, 1)), 5000, 1000), 4000); !errors.Is(err, errKilled) || len(k.runs) < 3 {
		t.Fatalf("%d runs, %v", len(k.runs), err)
	}
	return k, o
}

func TestChangedKeptRunsAreRefused(t *testing.T) {
	k, o := keptRuns(t)
	name := k.store.Path(k.runs[1].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-30] ^= 1
	other, err := os.ReadFile(k.store.Path(k.runs[2].Name))
	if err != nil {
		t.Fatal(err)
	}
	for what, content := range map[string][]byte{"cut": whole[:len(whole)-1], "longer": append(bytes.Clone(whole), 'x'), "a changed description": flipped,
		"empty": {}, "another run": other, "missing": nil, "whole": whole} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if content == nil {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		o.Persistent = k.kept()
		s, err := NewSorter(o)
		good := what == "whole"
		if good != (err == nil) || !good && !(errors.Is(err, ErrStaleRuns) && testwords.Names(err, k.runs[1].Name)) {
			t.Errorf("%s: %v", what, err)
		}
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
	}
	o.Regions = regions(t, "5", "6")
	if _, err := NewSorter(o); !errors.Is(err, ErrStaleRuns) {
		t.Errorf("with other regions: %v", err)
	}
	o.Regions, o.Persistent = regions(t, "5"), k.kept()
	o.Persistent.Runs[0].Name = "../kept/" + o.Persistent.Runs[0].Name
	if _, err := NewSorter(o); !errors.Is(err, ErrStaleRuns) {
		t.Errorf("a run elsewhere: %v", err)
	}
}

// TestDamagedKeptRunIsFound: a block that has changed is an error when it is read, never another entry.
func TestDamagedKeptRunIsFound(t *testing.T) {
	k, o := keptRuns(t)
	name := k.store.Path(k.runs[1].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := len(whole) - k.runs[1].FooterLen
	o.Memory = 1 << 24 // nothing is merged before
	for _, at := range []int{0, 5, 9, 100, blocks / 2, blocks - 1} {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x10
		if err := os.WriteFile(name, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		o.Persistent = k.kept()
		s, err := NewSorter(o)
		if err != nil {
			t.Fatal(err)
		}
		sorted, err := s.Sort(t.Context())
		if err == nil {
			err = readRegions(sorted)
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
	}
}

func readRegions(sorted *Sorted) error {
	for region := range sorted.regions.Len() {
		run, err := sorted.Region(region)
		for err == nil {
			_, err = run.Next()
		}
		if errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}

// TestSortEndsWithItsContext: the merging of many runs stops, and what was kept stays.
func TestSortEndsWithItsContext(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(1, 1)), 60_000, 1000)
	for _, keep := range []bool{false, true} {
		o := SortOptions{Regions: regions(t, "5"), Memory: 1 << 17, WorkDir: t.TempDir(), Shards: 1}
		k := &keeper{store: LocalStore(filepath.Join(o.WorkDir, "kept")), covered: map[int]bool{}, failing: -1}
		if keep {
			o.Persistent = k.kept()
		}
		s, err := NewSorter(o)
		if err != nil {
			t.Fatal(err)
		}
		shard := s.NewShard()
		for i := range entries {
			e := &entries[i]
			err := commit(shard, append(append(shard.Buffer(), e.Key...), e.Payload...), len(e.Key), e.EntryOrigin)
			if err == nil && shard.Full() {
				var run RunFile
				run, err = shard.Spill()
				k.runs = append(k.runs, run)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if keep {
			run, err := shard.Spill()
			if err != nil {
				t.Fatal(err)
			}
			k.runs = append(k.runs, run)
		}
		if err := shard.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Sort(ctx); !errors.Is(err, context.Canceled) || testwords.Names(err, "free some space") {
			t.Errorf("kept %t: %v", keep, err)
		}
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
		if keep {
			checkKept(t, k)
		} else if left, _ := os.ReadDir(o.WorkDir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}

// TestRunsAreGrouped: the groups are large enough for one pass where one suffices, none larger than what can be read at
// once, and as many as shards where that can be.
func TestRunsAreGrouped(t *testing.T) {
	for _, c := range []struct{ runs, keep, shards, groups, left int }{
		{3, 2, 2, 1, 2}, {10, 6, 1, 1, 6}, {10, 6, 2, 2, 6}, {11, 6, 1, 1, 6}, {12, 6, 1, 2, 6}, {36, 6, 1, 6, 6}, {36, 6, 4, 6, 6},
		{100, 6, 4, 17, 17}, {5, 1, 4, 3, 3}, {2, 1, 4, 1, 1}, {800, 500, 2, 2, 500}, {5000, 512, 16, 16, 512},
	} {
		large, groups := groupRuns(make([]*spilledRun, c.runs), c.keep, c.shards)
		all := len(large)
		for _, g := range groups {
			all += len(g)
			if len(g) > max(c.keep, 2) {
				t.Errorf("%+v: a group of %d", c, len(g))
			}
		}
		if all != c.runs || len(groups) != c.groups || len(large)+len(groups) != c.left {
			t.Errorf("%+v: %d groups and %d others of %d runs", c, len(groups), len(large), all)
		}
	}
}

// FuzzTail holds that a description that is read fits the run, whatever its bytes are.
func FuzzTail(f *testing.F) {
	f.Add([]byte(`{"starts":[0,10,20],"largest":100,"packed":50,"counts":[1,2],"cuts":["YQ=="],"places":[{"at":10,"key":"YQ=="}]}`), int64(20))
	f.Add([]byte(`{"starts":[0,-10,20],"counts":[-1,2]}`), int64(20))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		tail, err := parseFooter(text, RunFile{Size: size, Entries: 3}, 2)
		if err != nil {
			return
		}
		p, c := tail.index(), tail.sample()
		c.compact()
		if at := p.seek([]byte("m")); at < 0 || at > size {
			t.Fatalf("a place at %d of %d", at, size)
		}
		if again, err := json.Marshal(tail); err != nil || len(again) == 0 {
			t.Fatal(err)
		}
	})
}

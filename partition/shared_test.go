package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
)

// sortInParts sorts entries in parts, each of which leaves a run in a folder of its own.
func sortInParts(t *testing.T, o SortOptions, parts [][]Entry) []StoredFile {
	t.Helper()
	var files []StoredFile
	for i, part := range parts {
		sorted := sortEntries(t, o, part)
		store := LocalStore(t.TempDir())
		f, err := sorted.WriteRun(context.Background(), store, fmt.Sprintf("part-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, StoredFile{Store: store, RunFile: f})
	}
	return files
}

// TestPartsAreOneSort: runs of parts, merged, have the entries, the order and the cuts of one sort, whether the parts
// had spilled or not, and whoever had which entries.
func TestPartsAreOneSort(t *testing.T) {
	t.Parallel()
	entries := skewedEntries(30_000, 60)
	splits := regions(t, "1", "2", "3", "4", "5")
	whole := sortEntries(t, SortOptions{Regions: splits, Memory: 1 << 30, Shards: 1, WorkDir: t.TempDir()}, entries)
	for _, memory := range []int64{1, 1 << 20, 1 << 30} {
		for n := range 4 {
			parts := make([][]Entry, n+1) // the last one has none
			for i, e := range entries {
				at := (i / 7) % max(n, 1)
				parts[at] = append(parts[at], e)
			}
			files := sortInParts(t, SortOptions{Regions: splits, Memory: memory, Shards: 2, WorkDir: t.TempDir()}, parts)
			joined, err := OpenRuns(splits, files)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := joined.Stats(), whole.Stats(); a.Entries != b.Entries || a.Bytes != b.Bytes || a.Runs != len(parts) {
				t.Errorf("memory %d, %d parts: %+v, and %+v of one sort", memory, n, a, b)
			}
			for region := range splits.Len() {
				cut := joined.Slices(region, 7)
				if want := whole.Slices(region, 7); !equalSlices(cut, want) {
					t.Errorf("memory %d, %d parts: region %d is cut at %v instead of %v", memory, n, region, cut, want)
				}
				for _, s := range cut {
					wantSame(t, joined, whole, s)
				}
			}
			if err := joined.Close(); err != nil {
				t.Error(err)
			}
			for _, f := range files {
				if err := CheckRun(f.Store, f.RunFile, splits.Len(), true); err != nil {
					t.Errorf("a run after it was closed: %v", err)
				}
			}
		}
	}
}

func wantSame(t *testing.T, a, b *Sorted, s Slice) {
	t.Helper()
	x, err1 := readSlice(a, s)
	y, err2 := readSlice(b, s)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(x, y, func(a, b Entry) bool {
		return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload) && a.EntryOrigin == b.EntryOrigin
	}) {
		t.Errorf("%v has %d entries, and %d in one sort", s, len(x), len(y))
	}
}

// TestDamagedPart: a run that is missing, cut off or changed is named, when it is opened or when it is read.
func TestDamagedPart(t *testing.T) {
	t.Parallel()
	splits := regions(t, "5")
	entries := skewedEntries(5_000, 60)
	for what, damage := range map[string]func(name string, size int64) error{
		"missing": func(name string, _ int64) error { return os.Remove(name) },
		"cut off": func(name string, size int64) error { return os.Truncate(name, size-1) },
		"changed": func(name string, size int64) error {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte{0xA5, 0x5A}, size/4)
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			files := sortInParts(t, SortOptions{Regions: splits, Memory: 1 << 30, Shards: 1, WorkDir: t.TempDir()}, [][]Entry{entries[:2500], entries[2500:]})
			bad := files[1].Store.Path(files[1].Name)
			if err := damage(bad, files[1].Size); err != nil {
				t.Fatal(err)
			}
			joined, err := OpenRuns(splits, files)
			for region := 0; err == nil && region < splits.Len(); region++ {
				_, err = readSlice(joined, Slice{Region: region})
			}
			var of *RunError
			if !errors.As(err, &of) || of.Path != bad {
				t.Errorf("it is not said that %s is %s: %v", bad, what, err)
			}
		})
	}
}

// TestTooManyParts: more runs than may be open at once are refused.
func TestTooManyParts(t *testing.T) {
	t.Parallel()
	if _, err := OpenRuns(regions(t), make([]StoredFile, MaxRuns+1)); err == nil {
		t.Error("nothing was refused")
	}
}

// TestIndexMemory: what OpenRuns keeps of the footers has about the size that IndexMemory says. It is alone in its
// process.
func TestIndexMemory(t *testing.T) {
	splits := make([]string, 3000)
	for i := range splits {
		splits[i] = fmt.Sprintf("%06d", 10*i+5)
	}
	among := regions(t, splits...)
	sorted := sortEntries(t, SortOptions{Regions: among, Memory: 1 << 30, Shards: 1, WorkDir: t.TempDir()}, skewedEntries(30_000, 60))
	store := LocalStore(t.TempDir())
	f, err := sorted.WriteRun(context.Background(), store, "run")
	if err != nil {
		t.Fatal(err)
	}
	files := slices.Repeat([]StoredFile{{Store: store, RunFile: f}}, MaxRuns)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	joined, err := OpenRuns(among, files)
	if err != nil {
		t.Fatal(err)
	}
	got, says := heap()-before, joined.IndexMemory()
	if got < says*3/4 || got > says*5/4 || says < 512*3000*8 {
		t.Errorf("the footers of %d runs use %d bytes, IndexMemory says %d", len(files), got, says)
	}
	if err := joined.Close(); err != nil {
		t.Error(err)
	}
}

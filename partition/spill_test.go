package partition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// spilled sorts entries in the least memory there is.
func spilled(t *testing.T, workDir string) *Sorted {
	t.Helper()
	entries := randomEntries(rand.New(rand.NewPCG(2, 2)), 20_000, 1000)
	sorted := sortEntries(t, SortOptions{Regions: regions(t), Memory: 1, WorkDir: workDir, Shards: 1}, entries)
	if len(sorted.runs) < 2 {
		t.Fatalf("%d runs were spilled", len(sorted.runs))
	}
	return sorted
}

func TestManyRunsAreMergedInSteps(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(1, 1)), 60_000, 1000)
	o := SortOptions{Regions: regions(t, "5"), Memory: 1 << 17, WorkDir: t.TempDir(), Shards: 2}
	sorted := sortEntries(t, o, entries)
	if st := sorted.Stats(); st.Runs < 100 || len(sorted.runs) > 8 || len(sorted.memory) > 0 {
		t.Fatalf("%d runs were spilled and %d are left: nothing was merged in steps", st.Runs, len(sorted.runs))
	}
	if files, err := os.ReadDir(sorted.folder.path); err != nil || len(files) != len(sorted.runs)+1 {
		t.Errorf("%d files, %v, where %d runs and a lock should be", len(files), err, len(sorted.runs))
	}
	sortPlainly(entries)
	compareRegions(t, sorted, o.Regions, entries)
}

func TestMemoryKeepsWhatFits(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(1, 1)), 20_000, 1000)
	sorted := sortEntries(t, SortOptions{Regions: regions(t, "5"), Memory: 2 << 20, WorkDir: t.TempDir(), Shards: 1}, entries)
	if len(sorted.memory) != 1 || len(sorted.runs) == 0 {
		t.Errorf("%d runs in memory beside %d spilled ones", len(sorted.memory), len(sorted.runs))
	}
}

// TestBudgetIsKept watches the heap while far more than the memory goes through the sort.
func TestBudgetIsKept(t *testing.T) {
	const memory = 8 << 20
	s, err := NewSorter(SortOptions{Regions: regions(t, "3", "6"), Memory: memory, WorkDir: t.TempDir(), Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() })
	before, most := liveHeap(), uint64(0)
	shards, payload := []*Shard{s.NewShard(), s.NewShard()}, bytes.Repeat([]byte("payload "), 30)
	for i := range 200_000 { // 50 MB
		b := fmt.Appendf(shards[i%2].Buffer(), "%08x", uint32(i)*2654435761)
		if err := commit(shards[i%2], append(b, payload...), 8, EntryOrigin{0, int64(i)}); err != nil {
			t.Fatal(err)
		}
		if i%20_000 == 0 {
			most = max(most, liveHeap())
		}
	}
	if err := errors.Join(shards[0].Close(), shards[1].Close()); err != nil {
		t.Fatal(err)
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // in parallel
		run, err := sorted.Region(i)
		for n := 0; err == nil && n < 30_000; n++ {
			_, err = run.Next()
		}
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, liveHeap())
		defer run.Close()
	}
	if taken := most - before; taken > memory*11/10 || taken < memory/2 {
		t.Errorf("%d bytes of heap were taken, of a budget of %d", taken, memory)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestDamagedSpillIsFound(t *testing.T) {
	dir := t.TempDir()
	sorted := spilled(t, dir)
	run := sorted.runs[0]
	whole, err := os.ReadFile(run.path())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 1, 4, 7, 8, 11, 12, 13, 1000, len(whole) / 2, len(whole) - 1} {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x40
		if err := os.WriteFile(run.path(), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		wantDamage(t, sorted, run.path(), fmt.Sprintf("byte %d", at))
	}
	if err := os.WriteFile(run.path(), whole[:len(whole)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, sorted, run.path(), "a cut file")
	if err := os.WriteFile(run.path(), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readToEnd(sorted); !errors.Is(err, io.EOF) {
		t.Errorf("the whole file gives %v", err)
	}
}

func wantDamage(t *testing.T, sorted *Sorted, name, what string) {
	t.Helper()
	err := readToEnd(sorted)
	if !errors.Is(err, ErrDamaged) || !testwords.Names(err, name, "offset") {
		t.Errorf("%s: %v", what, err)
	}
}

// readToEnd reads region 0 until it fails or ends.
func readToEnd(sorted *Sorted) error {
	run, err := sorted.Region(0)
	if err != nil {
		return err
	}
	defer run.Close()
	for err == nil {
		_, err = run.Next()
	}
	return err
}

func TestEntriesOfABlockAreHeldToItsEnd(t *testing.T) {
	block := appendEntry(nil, &Entry{Key: []byte("key"), Payload: []byte("payload"), EntryOrigin: EntryOrigin{1 << 31, 1 << 50}})
	var e Entry
	if rest := decodeEntry(block, &e); rest == nil || len(rest) > 0 || string(e.Key) != "key" || string(e.Payload) != "payload" || e.EntryOrigin != (EntryOrigin{1 << 31, 1 << 50}) {
		t.Errorf("%+v, rest %v", e, rest)
	}
	for n := range block {
		if decodeEntry(block[:n:n], &e) != nil {
			t.Errorf("an entry was read from its first %d bytes", n)
		}
	}
}

func TestSpillFailureIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := NewSorter(SortOptions{Regions: regions(t), Memory: 1, WorkDir: file, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	if err = fill(shard); !testwords.Names(err, "--work-dir", file) {
		t.Fatalf("a work folder that can't be made gives %v", err)
	}
	if again := commit(shard, append(shard.Buffer(), 'k'), 1, EntryOrigin{}); !errors.Is(again, err) {
		t.Errorf("after the failure the lane says %v", again)
	}
	if err := errors.Join(shard.Close(), s.Discard()); err != nil {
		t.Error(err)
	}
}

// fill commits entries until the shard fails.
func fill(shard *Shard) error {
	for i := range 100_000 {
		if err := commit(shard, append(shard.Buffer(), "some key of an entry"...), 8, EntryOrigin{0, int64(i)}); err != nil {
			return err
		}
	}
	return nil
}

func TestFullDiskIsTold(t *testing.T) {
	work := t.TempDir()
	f := newFolder(work)
	w := newRunWriter(regions(t), f, minBlock)
	_, err := w.write(12_345, nil, func() error {
		_ = w.file.Close()
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0) // every write says that the device is full
		if err != nil {
			testcluster.Without(t, fmt.Sprintf("needs /dev/full: %v", err))
		}
		w.file = full
		e := &Entry{Key: []byte("key"), Payload: make([]byte, 1000)}
		for err == nil {
			err = w.add(e)
		}
		return err
	})
	if !errors.Is(err, syscall.ENOSPC) || !testwords.Names(err, "12345 bytes", work, "are free") {
		t.Errorf("a full disk gives %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(f.path, "run-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := f.remove(); err != nil {
		t.Error(err)
	}
}

func TestSpilledFilesArePrivate(t *testing.T) {
	work := filepath.Join(t.TempDir(), "w")
	sorted := spilled(t, work)
	for name, want := range map[string]os.FileMode{sorted.runs[0].path(): 0o600, sorted.folder.path: 0o700, work: 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if err := sorted.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(work); err == nil {
		t.Error("the work folder that the sort made is still there")
	}
}

// TestDiscardAfterSort: a sort that has ended is discarded if that of another output fails. Its runs are closed, too.
func TestDiscardAfterSort(t *testing.T) {
	work := t.TempDir()
	s, err := NewSorter(SortOptions{Regions: regions(t), Memory: 1, WorkDir: work, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	if err := errors.Join(fill(shard), shard.Close()); err != nil {
		t.Fatal(err)
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runs := sorted.runs
	if err := s.Discard(); err != nil {
		t.Error(err)
	}
	for _, r := range runs {
		if r.in != nil {
			t.Errorf("%s is open", r.path())
		}
	}
	if left, _ := os.ReadDir(work); len(runs) == 0 || len(left) > 0 {
		t.Errorf("%d entries are left in the work folder, of %d runs", len(left), len(runs))
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	work := t.TempDir()
	s, err := NewSorter(SortOptions{Regions: regions(t), Memory: 1, WorkDir: work, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	shard := s.NewShard()
	if err := fill(shard); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Fatalf("%d entries in the work folder while the sort goes on", len(left))
	}
	if err := errors.Join(s.Discard(), s.Discard(), shard.Close()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(work); len(left) > 0 {
		t.Errorf("%d entries are left in the work folder", len(left))
	}
}

func TestKilledSortsAreClearedAway(t *testing.T) {
	work := t.TempDir()
	alive := spilled(t, work)
	for _, name := range []string{"bulkload-sort-killed/run-000001", "bulkload-sort-killed/lock", "bulkload-other/file", "file"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o700), os.WriteFile(filepath.Join(work, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := spilled(t, work).Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(work)
	if err != nil || len(left) != 3 {
		t.Errorf("%v is left, %v; want what is no sort's, and the living sort", left, err)
	}
	if err := readToEnd(alive); !errors.Is(err, io.EOF) {
		t.Errorf("the living sort gives %v", err)
	}
}

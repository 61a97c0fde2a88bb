package partition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// memoryStore is a store that is no disk. As on HDFS a run can't be read before it is closed. Its call number failAt
// fails, counted from 1.
type memoryStore struct {
	mu     sync.Mutex
	runs   map[string][]byte // whole ones
	begun  map[string]bool
	calls  int
	failAt int
}

var errStore = errors.New("the store fails")

func (s *memoryStore) call() error {
	if s.calls++; s.calls == s.failAt {
		return fmt.Errorf("call %d: %w", s.calls, errStore)
	}
	return nil
}

func (s *memoryStore) Path(name string) string { return "memory:" + name }
func (s *memoryStore) Free() (int64, error)    { return 12_345, nil }

func (s *memoryStore) List() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.begun)), s.call()
}

func (s *memoryStore) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.call(); err != nil {
		return err
	}
	if !s.begun[name] {
		return fs.ErrNotExist
	}
	delete(s.begun, name)
	delete(s.runs, name)
	return nil
}

func (s *memoryStore) Create(name string) (io.WriteCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.call(); err != nil {
		return nil, err
	}
	if s.begun[name] {
		return nil, fs.ErrExist
	}
	s.begun[name] = true
	return &memoryWriter{store: s, name: name}, nil
}

func (s *memoryStore) Open(name string) (StoredRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, whole := s.runs[name]
	if err := s.call(); err != nil {
		return nil, err
	}
	if !whole {
		return nil, fs.ErrNotExist
	}
	return &memoryReader{s, bytes.NewReader(content)}, nil
}

type memoryWriter struct {
	store *memoryStore
	name  string
	bytes.Buffer
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.store.call(); err != nil {
		return 0, err
	}
	return w.Buffer.Write(p)
}

func (w *memoryWriter) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.store.call(); err != nil {
		return err
	}
	w.store.runs[w.name] = w.Bytes()
	return nil
}

type memoryReader struct {
	store   *memoryStore
	content *bytes.Reader
}

func (r *memoryReader) ReadAt(p []byte, at int64) (int, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if err := r.store.call(); err != nil {
		return 0, err
	}
	return r.content.ReadAt(p, at)
}

func (r *memoryReader) Close() error { return nil }

func (r *memoryReader) Size() (int64, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return r.content.Size(), r.store.call()
}

// life is one life of a sort with this keeper, over all entries that no run covers yet, and ends at the first error.
func (k *keeper) life(t *testing.T, o SortOptions, entries []Entry) (read []Entry, err error) {
	o.Persistent = k.kept()
	s, err := NewSorter(o)
	if err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	defer func() { err = errors.Join(err, s.Discard()) }()
	shard := s.NewShard()
	defer shard.Close()
	var since []int
	for n := range entries {
		if !k.covered[n] {
			e := &entries[n]
			if err := commit(shard, append(append(shard.Buffer(), e.Key...), e.Payload...), len(e.Key), e.EntryOrigin); err != nil {
				return nil, err
			}
			since = append(since, n)
		}
		if shard.Full() || n == len(entries)-1 && !s.CanMerge() {
			run, err := shard.Spill()
			if err != nil {
				return nil, err
			}
			if run.Name != "" {
				k.runs = append(k.runs, run)
			}
			for _, n := range since {
				k.covered[n] = true
			}
			since = nil
		}
	}
	if err := shard.Close(); err != nil {
		return nil, err
	}
	sorted, err := s.Sort(t.Context())
	if err != nil {
		return nil, err
	}
	read, err = readAll(sorted)
	return read, errors.Join(err, sorted.Close())
}

// readAll are copies of all entries, region by region.
func readAll(sorted *Sorted) (all []Entry, err error) {
	for region := range sorted.regions.Len() {
		run, err := sorted.Region(region)
		if err != nil {
			return nil, err
		}
		var e *Entry
		for e, err = run.Next(); err == nil; e, err = run.Next() {
			all = append(all, Entry{Key: bytes.Clone(e.Key), EntryOrigin: e.EntryOrigin, Payload: bytes.Clone(e.Payload)})
		}
		if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.Join(err, run.Close())
		}
		if err := run.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// TestEveryCallOfTheStoreFails: whichever call of the store fails, from the first to the last of a sort that spills and
// merges, the sort says so, and the next one finishes with the same entries.
func TestEveryCallOfTheStoreFails(t *testing.T) {
	entries := randomEntries(rand.New(rand.NewPCG(5, 5)), 1400, 1000)
	want := slices.Clone(entries)
	sortPlainly(want)
	o := SortOptions{Regions: regions(t, "3", "6"), Memory: 1, Shards: 1}
	step := 1
	if testing.Short() {
		step = 7
	}
	failed := 0
	for at := 2; ; at += step { // the first one lists a store in which no run is expected
		store := &memoryStore{runs: map[string][]byte{}, begun: map[string]bool{}, failAt: at}
		k := &keeper{store: store, covered: map[int]bool{}, failing: -1}
		read, err := k.life(t, o, entries)
		if err == nil {
			wantEntries(t, at, read, want)
			if store.calls >= at {
				t.Errorf("call %d of %d failed, and the sort did not say so", at, store.calls)
			}
			if k.failing == -1 {
				t.Error("nothing was merged")
			}
			break
		}
		failed++
		if !errors.Is(err, errStore) {
			t.Fatalf("call %d fails: %v", at, err)
		}
		if read, err = k.life(t, o, entries); err != nil {
			t.Fatalf("after call %d failed: %v", at, err)
		}
		wantEntries(t, at, read, want)
		if len(store.begun) != len(k.runs) {
			t.Errorf("after call %d failed %d runs are left, and %d are known", at, len(store.begun), len(k.runs))
		}
	}
	if failed < 40/step {
		t.Errorf("only %d calls were there to fail", failed)
	}
}

func wantEntries(t *testing.T, at int, got, want []Entry) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b Entry) bool {
		return bytes.Equal(a.Key, b.Key) && a.EntryOrigin == b.EntryOrigin && bytes.Equal(a.Payload, b.Payload)
	}) {
		t.Errorf("with call %d: %d entries, not the %d that were sorted", at, len(got), len(want))
	}
}

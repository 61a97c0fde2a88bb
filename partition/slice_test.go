package partition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// skewedEntries have nine tenths of their keys in the region from "5" on, many of them several times.
func skewedEntries(n, payload int) []Entry {
	r := rand.New(rand.NewPCG(8, 8))
	noise := make([]byte, payload)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	entries := make([]Entry, n)
	for i := range entries {
		salt := 5
		if r.IntN(10) == 0 {
			salt = r.IntN(5)
		}
		entries[i] = Entry{Key: fmt.Appendf(nil, "%d%08d", salt, r.IntN(n)), EntryOrigin: EntryOrigin{uint32(i % 3), int64(i)}, Payload: noise}
	}
	return entries
}

// TestSlicesFollowFromTheEntries: the cuts are the same whatever the memory, the shards and the order of the entries;
// the slices together are the region, no key is in two of them, and they are about equally large.
func TestSlicesFollowFromTheEntries(t *testing.T) {
	const n = 16 // of the large region; the small ones, with few candidates each, are cut in two
	entries := skewedEntries(60_000, 100)
	want := slices.Clone(entries)
	sortPlainly(want)
	splits := regions(t, "1", "2", "3", "4", "5")
	var first [][]Slice
	for _, o := range []SortOptions{{Memory: 1 << 30, Shards: 1}, {Memory: 1 << 30, Shards: 7}, {Memory: 1 << 20, Shards: 2}, {Memory: 1, Shards: 3}} {
		t.Run(fmt.Sprintf("memory=%d,lanes=%d", o.Memory, o.Shards), func(t *testing.T) {
			o.Regions, o.WorkDir = splits, t.TempDir()
			rand.New(rand.NewPCG(9, uint64(o.Shards))).Shuffle(len(entries), func(i, k int) { entries[i], entries[k] = entries[k], entries[i] })
			sorted := sortEntries(t, o, entries)
			var all [][]Slice
			for region := range splits.Len() {
				parts := sorted.Slices(region, 2+region/5*(n-2))
				all = append(all, parts)
				checkSlices(t, sorted, parts, inRegion(want, splits, region))
			}
			if first == nil {
				first = all
			}
			if !slices.EqualFunc(first, all, equalSlices) {
				t.Errorf("cut at %v, and at %v before", all, first)
			}
			if len(all[5]) != n {
				t.Errorf("%d slices", len(all[5]))
			}
		})
	}
}

func equalSlices(a, b []Slice) bool {
	return slices.EqualFunc(a, b, func(x, y Slice) bool {
		return x.Region == y.Region && bytes.Equal(x.Start, y.Start) && bytes.Equal(x.End, y.End)
	})
}

func inRegion(entries []Entry, r *Regions, region int) (mine []Entry) {
	for _, e := range entries {
		if r.Find(e.Key) == region {
			mine = append(mine, e)
		}
	}
	return mine
}

// checkSlices reads slices in parallel and compares them with the region's entries.
func checkSlices(t *testing.T, sorted *Sorted, parts []Slice, want []Entry) {
	t.Helper()
	got := make([][]Entry, len(parts))
	var wait sync.WaitGroup
	for i := range parts {
		wait.Go(func() {
			var err error
			if got[i], err = readSlice(sorted, parts[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, part := range got {
		if len(part) == 0 && len(want) > 0 || len(parts) > 1 && len(part) > 2*len(want)/len(parts) {
			t.Errorf("slice %d of %d holds %d of the region's %d entries", i, len(parts), len(part), len(want))
		}
		if i > 0 && !bytes.Equal(parts[i].Start, parts[i-1].End) {
			t.Errorf("slice %d begins at %q; the one before ends at %q", i, parts[i].Start, parts[i-1].End)
		}
	}
	if joined := slices.Concat(got...); !slices.EqualFunc(joined, want, func(a, b Entry) bool { return same(&a, &b) }) {
		t.Errorf("the slices hold %d entries, the region has %d", len(joined), len(want))
	}
}

func readSlice(sorted *Sorted, part Slice) (all []Entry, err error) {
	run, err := sorted.Slice(part)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	for {
		e, err := run.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(part.Start) > 0 && bytes.Compare(e.Key, part.Start) < 0 || len(part.End) > 0 && bytes.Compare(e.Key, part.End) >= 0 {
			return nil, fmt.Errorf("key %q in the slice from %q to %q", e.Key, part.Start, part.End)
		}
		all = append(all, Entry{Key: bytes.Clone(e.Key), EntryOrigin: e.EntryOrigin, Payload: bytes.Clone(e.Payload)})
	}
}

func TestOneKeyIsNeverCut(t *testing.T) {
	var entries []Entry
	for i := range 20_000 {
		key := "one key"
		if i < 10 {
			key = fmt.Sprint("another", i)
		}
		entries = append(entries, Entry{Key: []byte(key), EntryOrigin: EntryOrigin{0, int64(i)}})
	}
	sorted := sortEntries(t, SortOptions{Regions: regions(t), Memory: 1, WorkDir: t.TempDir(), Shards: 2}, entries)
	parts := sorted.Slices(0, 16)
	if len(parts) != 11 {
		t.Fatalf("11 rows are cut into %d slices", len(parts))
	}
	if last, err := readSlice(sorted, parts[10]); err != nil || len(last) != 19_990 {
		t.Errorf("the last one holds %d entries, %v", len(last), err)
	}
}

func TestNothingIsOneSlice(t *testing.T) {
	sorted := sortEntries(t, SortOptions{Regions: regions(t, "5"), WorkDir: t.TempDir(), Shards: 1}, nil)
	parts := sorted.Slices(1, 16)
	if len(parts) != 1 || parts[0].Start != nil || parts[0].End != nil {
		t.Errorf("%v", parts)
	}
}

// TestSlicesReadOnlyTheirPart: the sparse index of a spilled run leads close to a slice.
func TestSlicesReadOnlyTheirPart(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	entries := make([]Entry, 20_000)
	for i := range entries {
		payload := make([]byte, 500) // that can't be compressed
		for k := range payload {
			payload[k] = byte(r.Uint32())
		}
		entries[i] = Entry{Key: fmt.Appendf(nil, "%08x", r.Uint32()), EntryOrigin: EntryOrigin{0, int64(i)}, Payload: payload}
	}
	sorted := sortEntries(t, SortOptions{Regions: regions(t), Memory: 8 << 20, WorkDir: t.TempDir(), Shards: 1}, entries)
	if len(sorted.runs) == 0 {
		t.Fatal("nothing was spilled")
	}
	for _, part := range sorted.Slices(0, 8)[1:] {
		for _, run := range sorted.runs {
			wantNear(t, run, part)
		}
	}
}

// wantNear walks from where a run's part of a slice is looked for to the first block that begins in it.
func wantNear(t *testing.T, run *spilledRun, part Slice) {
	t.Helper()
	from := run.from(part)
	for at := from; at < run.size(); {
		block, next, err := run.readBlock(blockStart{offset: at}, run.size(), make([]byte, run.largestStored), make([]byte, run.largest))
		var e Entry
		if err != nil || decodeEntry(block, &e) == nil {
			t.Fatalf("block at %d: %v", at, err)
		}
		if bytes.Compare(e.Key, part.Start) >= 0 {
			if at == from || at-from > markEvery+int64(run.largestStored) {
				t.Errorf("the block at %d is the first that begins in the slice from %q; it is looked for from %d on", at, part.Start, from)
			}
			return
		}
		at = next.offset
	}
}

func TestPlacesAreBounded(t *testing.T) {
	var p sparseIndex
	long := bytes.Repeat([]byte("k"), 3000)
	for i := range 100_000 {
		key := fmt.Appendf(nil, "%08d", i)
		if i%7 == 0 {
			key = append(key, long...)
		}
		p.add(int64(i)*markEvery/3, key)
		if len(p.marks) > maxMarks || p.size > maxMarkBytes {
			t.Fatalf("%d places with %d bytes of keys", len(p.marks), p.size)
		}
	}
	for i := 1; i < 100_000; i += 997 {
		row := fmt.Appendf(nil, "%08d", i)
		at := p.seek(row)
		if want := int64(i) * markEvery / 3; at >= want && at > 0 || want-at > 2*p.step+markEvery {
			t.Errorf("row %s of the block at %d is looked for from %d on; the places are %d apart", row, want, at, p.step)
		}
	}
}

func TestLongKeysLeaveFewCandidates(t *testing.T) {
	var c splitSample
	for i := range 2000 {
		c.offerKey(fmt.Appendf(bytes.Repeat([]byte("k"), 30_000), "%d", i))
		if len(c.text) > 2*maxCandidateBytes || len(c.candidates) > 2*maxCandidates {
			t.Fatalf("%d candidates of %d bytes", len(c.candidates), len(c.text))
		}
	}
	c.compact()
	if n := len(c.between(nil, nil)); n < 8 || len(c.text) > maxCandidateBytes {
		t.Errorf("%d candidates of %d bytes are left", n, len(c.text))
	}
}

// TestCountingKeysHaveCandidates: keys that count up leave neither too many nor too few.
func TestCountingKeysHaveCandidates(t *testing.T) {
	for _, format := range []string{"%010d", "%08x", "0:d41d8cd98f00b204e9800998ecf8427e:59C1%08X01ECE053C5013807B6BE", "%d"} {
		var c splitSample
		for i := range 300_000 {
			c.offerKey(fmt.Appendf(nil, format, i))
		}
		c.compact()
		if n := len(c.candidates); n > maxCandidates || n < maxCandidates/3 {
			t.Errorf("%s: %d candidates with %d zero bits", format, n, c.level)
		}
	}
}

func BenchmarkOffer(b *testing.B) {
	var c splitSample
	key := []byte("3" + "d41d8cd98f00b204e9800998ecf8427e" + "59C1000000001ECE053C5013807B6BEF")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key[40], key[41], key[42], key[43] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		c.offerKey(key)
	}
}

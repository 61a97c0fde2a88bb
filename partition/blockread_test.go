package partition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"bulkload/internal/test/testcluster"
)

// bytesRead is how many bytes this process has read from files so far.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "rchar: %d", &n)
	}
	if err != nil {
		testcluster.Without(t, fmt.Sprintf("needs a system that counts the bytes that a process reads: %v", err))
	}
	return n
}

// bytesOf is how many bytes are read from files to read so many regions.
func bytesOf(t *testing.T, sorted *Sorted, regions int) int64 {
	t.Helper()
	before := bytesRead(t)
	for i := range regions {
		run, err := sorted.Region(i)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = run.Next()
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return bytesRead(t) - before
}

// TestCompressedBlocksAreReadOnce: reading a compressed run back reads about as many bytes as were spilled. A block is
// smaller there than its entries, whose size is that of the buffer.
func TestCompressedBlocksAreReadOnce(t *testing.T) {
	entries := make([]Entry, 100_000)
	for i := range entries {
		entries[i] = Entry{Key: fmt.Appendf(nil, "%08x", uint32(i)*2654435761), EntryOrigin: EntryOrigin{0, int64(i)},
			Payload: fmt.Appendf(nil, "the same text in every record, and then %d", i)}
	}
	sorted := sortEntries(t, SortOptions{Regions: regions(t, "5"), Memory: 1 << 20, WorkDir: t.TempDir(), Shards: 1}, entries)
	var spilled int64
	for _, r := range sorted.runs {
		spilled += r.size()
	}
	if len(sorted.runs) < 2 || spilled < 1<<20 {
		t.Fatalf("%d runs of %d bytes are too little to count", len(sorted.runs), spilled)
	}
	if read := bytesOf(t, sorted, 2); read < spilled || read > spilled*11/10 {
		t.Errorf("%d bytes were read of %d runs with %d bytes", read, len(sorted.runs), spilled)
	}
}

// TestUnequalBlocksAreReadOnce: where a run has blocks of very different lengths, the longest one does not decide how
// much is read of the others: with some records of 1 MiB, and with a part of the rows that compresses badly.
func TestUnequalBlocksAreReadOnce(t *testing.T) {
	noise := func(r *rand.Rand, n int) []byte {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		return text
	}
	for name, payload := range map[string]func(r *rand.Rand, i int) []byte{
		"large records": func(r *rand.Rand, i int) []byte {
			if i%10_000 == 77 {
				return noise(r, 1<<20)
			}
			return noise(r, 60)
		},
		"skewed": func(r *rand.Rand, i int) []byte {
			if i%10 == 0 {
				return noise(r, 400)
			}
			return bytes.Repeat([]byte{'x'}, 400)
		},
	} {
		for _, plain := range []int64{0, 1 << 40} {
			t.Run(fmt.Sprintf("%s, %d bytes plain", name, plain), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				entries := make([]Entry, 40_000)
				for i := range entries {
					first := byte('0' + i/36_000) // one in ten is in the second region
					entries[i] = Entry{Key: fmt.Appendf([]byte{first}, "%08x", uint32(i)*2654435761), EntryOrigin: EntryOrigin{0, int64(i)}, Payload: payload(r, i)}
				}
				sorted := sortEntries(t, SortOptions{Regions: regions(t, "1"), Memory: 4 << 20, WorkDir: t.TempDir(), Shards: 1, Uncompressed: plain}, entries)
				var spilled int64
				for _, run := range sorted.runs {
					spilled += run.size()
				}
				read := bytesOf(t, sorted, 2)
				if len(sorted.runs) == 0 || read < spilled || read > spilled*11/10 {
					t.Errorf("%d bytes were read of %d runs with %d bytes", read, len(sorted.runs), spilled)
				}
			})
		}
	}
}

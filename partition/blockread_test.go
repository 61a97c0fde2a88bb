package partition

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// bytesRead is how many bytes this process has read from files so far.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "rchar: %d", &n)
	}
	if err != nil {
		t.Skipf("this system does not count the bytes that a process reads: %v", err)
	}
	return n
}

// TestCompressedBlocksAreReadOnce: reading a compressed run back reads about as many bytes as were spilled. A block is
// smaller there than its entries, whose size is that of the buffer.
func TestCompressedBlocksAreReadOnce(t *testing.T) {
	entries := make([]Entry, 100_000)
	for i := range entries {
		entries[i] = Entry{Key: fmt.Appendf(nil, "%08x", uint32(i)*2654435761), Position: Position{0, int64(i)},
			Payload: fmt.Appendf(nil, "the same text in every record, and then %d", i)}
	}
	sorted := sortEntries(t, Options{Regions: regions(t, "5"), Memory: 1 << 20, WorkDir: t.TempDir(), Shards: 1}, entries)
	var spilled int64
	for _, r := range sorted.runs {
		spilled += r.size()
	}
	if len(sorted.runs) < 2 || spilled < 1<<20 {
		t.Fatalf("%d runs of %d bytes are too little to count", len(sorted.runs), spilled)
	}
	before := bytesRead(t)
	for i := range 2 {
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
	if read := bytesRead(t) - before; read < spilled || read > spilled*5/4 {
		t.Errorf("%d bytes were read of %d runs with %d bytes", read, len(sorted.runs), spilled)
	}
}

package hfilewriter

import (
	"fmt"
	"runtime"
	"testing"
)

// TestMemoryOfAnOpenWriter measures what a writer holds in the middle of a file: at most 2 MiB, two blocks, and what
// the bloom filter and the index have grown to. With the help of other cores it also holds the blocks of some batches.
func TestMemoryOfAnOpenWriter(t *testing.T) {
	rows := checkRows(20_000, 7)
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		t.Fatal(err)
	}
	for i, blockSize := range []int{64 << 10, 1 << 20, 4 << 20, 64 << 10, 1 << 20, 4 << 20} {
		cores := make(Cores, i/3*3)
		t.Run(fmt.Sprintf("block=%d,cores=%d", blockSize, cap(cores)), func(t *testing.T) {
			before := liveHeap()
			w, err := NewWriter(discard{}, Settings{Compression: CompressSnappy, Encoding: EncodeNone, Bloom: BloomRow, BlockSize: blockSize}, Provenance{})
			if err != nil {
				t.Fatal(err)
			}
			w.UseCores(cores)
			for _, r := range rows {
				if err := w.AppendRow(columns, r.row, benchTime, r.values); err != nil {
					t.Fatal(err)
				}
			}
			held := liveHeap() - before
			if _, err := w.Close(); err != nil {
				t.Fatal(err)
			}
			bloom, index := int64(256<<10), int64(len(rows)*len(checkQualifiers))
			limit := 2<<20 + 2*int64(blockSize) + bloom + index
			if cap(cores) > 0 {
				limit += (maxWaiting + 1) * (batchSize + int64(blockSize)) * 5 / 2 // before and after compression
			}
			t.Logf("%d bytes, of %d", held, limit)
			if held > limit {
				t.Errorf("an open writer holds %d bytes, more than %d", held, limit)
			}
			runtime.KeepAlive(rows)
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

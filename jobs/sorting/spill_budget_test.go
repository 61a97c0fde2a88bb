package sorting

import (
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/options"
)

func TestSpillIsUncompressedIfTheDiskIsLargeEnough(t *testing.T) {
	dir := t.TempDir()
	free, err := storage.Local.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	memory := availableMemory()
	if memory < 100<<20 {
		t.Fatalf("%d bytes of memory are available", memory)
	}
	if n := UncompressedSpill(options.Options{WorkDir: dir}, 1<<20); n < 1<<20 {
		t.Errorf("of a megabyte of input %d bytes of runs are not compressed", n)
	}
	for _, input := range []int64{memory, 10 * free} {
		if n := UncompressedSpill(options.Options{WorkDir: dir}, input); n > memory/8 || n > free/3 || n == 0 {
			t.Errorf("%d bytes of runs are not compressed, of %d of memory and %d of disk", n, memory, free)
		}
	}
	if UncompressedSpill(options.Options{WorkDir: "/dev/null/none"}, 1) != 0 {
		t.Error("no folder, and not compressed")
	}
}

package jobs

import (
	"testing"

	"bulkload/internal/storage"
)

func TestSpilledRunsArePlainWhereThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	free, err := storage.Local.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	memory := availableMemory()
	if memory < 100<<20 {
		t.Fatalf("%d bytes of memory are available", memory)
	}
	if !plainSpill(dir, 1<<20) {
		t.Error("a megabyte of input is compressed")
	}
	if plainSpill(dir, memory/3) || plainSpill(dir, free/4) {
		t.Error("runs that would not fit are not compressed")
	}
	if plainSpill("/dev/null/none", 1) {
		t.Error("no folder, and not compressed")
	}
}

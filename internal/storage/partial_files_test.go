package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
)

// A file that can't be written completely, which shows only when it is closed, is deleted.
func TestFileThatDoesNotFitIsNotLeft(t *testing.T) {
	small := testfs.SmallDisk(t, 1<<20)
	name := filepath.Join(small, "file")
	if err := os.WriteFile(filepath.Join(small, "most"), make([]byte, 1<<20-8<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := storage.CreateFile(storage.Local, name, make([]byte, 64<<10)); err == nil {
		t.Fatal("64 KiB fit where there were 8")
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

package delimited

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
)

// memory is a file system of one file in memory, so that a benchmark measures the reader alone.
type memory struct {
	storage.FS
	content []byte
}

type memoryFile struct{ *bytes.Reader }

func (f memoryFile) Close() error { return nil }

func (m memory) Open(string) (storage.File, error) {
	return memoryFile{bytes.NewReader(m.content)}, nil
}

func (m memory) file() ingest.File { return ingest.File{Path: "/memory", Size: int64(len(m.content))} }

// tree writes files into a new folder; a name that ends in / is a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, name)
		folder := full
		if name[len(name)-1] != '/' {
			folder = filepath.Dir(full)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if folder != full {
			if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// Package testfs provides files for tests: in memory, in a temporary folder, and in a real HDFS.
package testfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
)

// Memory is a file system of one file in memory, so that a benchmark measures only the reader.
type Memory struct {
	storage.FS
	Content []byte
}

// File is an open file of Memory.
type File struct{ *bytes.Reader }

// Close does nothing.
func (f File) Close() error { return nil }

// Open opens the one file, whatever the name.
func (m Memory) Open(string) (storage.File, error) {
	return File{Reader: bytes.NewReader(m.Content)}, nil
}

// Tree writes files into a new folder and returns its path; a name that ends in / is a folder.
func Tree(t testing.TB, files map[string]string) string {
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

// HDFS returns a new folder in the HDFS of the test's cluster, which is removed after the test.
func HDFS(t *testing.T, name string) (fsys storage.FS, root string) {
	t.Helper()
	conf, err := siteconf.Load(testcluster.Use(t).ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	fsys, root, err = storage.ResolveAs("hdfs:///tests/"+name+"-"+strconv.FormatInt(time.Now().UnixNano(), 36), "/", conf, storage.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fsys.RemoveAll(root); err != nil {
			t.Error(err)
		}
		fsys.Close()
	})
	if err := fsys.MkdirAll(root, 0); err != nil {
		t.Fatal(err)
	}
	return fsys, root
}

// LostDataNode is a file system on which a DataNode fails once, while the Nth created file is being written.
type LostDataNode struct {
	storage.FS
	Nth int64

	Created atomic.Int64 // the number of files so far
}

// lostWriter fails each write.
type lostWriter struct{ storage.FileWriter }

func (lostWriter) Write([]byte) (int, error) {
	return 0, fmt.Errorf("%w: %w", storage.ErrUnavailable, storage.ErrDataNode)
}

// Create creates a file. If it is the Nth one, each write to it fails with storage.ErrDataNode.
func (f *LostDataNode) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	w, err := f.FS.Create(name, perm)
	if f.Created.Add(1) == f.Nth && err == nil {
		return lostWriter{w}, nil
	}
	return w, err
}

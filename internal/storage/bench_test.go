package storage

import (
	"errors"
	"io"
	"path"
	"testing"

	"bulkload/internal/siteconf"
	"bulkload/internal/testcluster"
)

const benchmarkSize = 64 << 20

func BenchmarkLocal(b *testing.B) { benchmark(b, Local, b.TempDir()) }

func BenchmarkHDFS(b *testing.B) {
	conf, err := siteconf.Load(testcluster.Use(b).ConfDir())
	if err != nil {
		b.Fatal(err)
	}
	fsys, root, err := Resolve("hdfs:///tests/storage-bench", "/", conf, "")
	if err != nil {
		b.Fatal(err)
	}
	defer fsys.Close()
	if err := errors.Join(fsys.RemoveAll(root), fsys.MkdirAll(root, 0)); err != nil {
		b.Fatal(err)
	}
	benchmark(b, fsys, root)
	if err := fsys.RemoveAll(root); err != nil {
		b.Fatal(err)
	}
}

// benchmark writes and reads a file in pieces such as an HFile's blocks and a reader's chunks.
func benchmark(b *testing.B, fsys FS, dir string) {
	name := path.Join(dir, "f")
	b.Run("write", func(b *testing.B) {
		block := noise(30_000)
		b.SetBytes(benchmarkSize)
		b.ReportAllocs()
		for b.Loop() {
			if err := fsys.RemoveAll(name); err != nil {
				b.Fatal(err)
			}
			w, err := fsys.Create(name, 0)
			for n := 0; n < benchmarkSize && err == nil; n += len(block) {
				_, err = w.Write(block)
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		chunk := make([]byte, 1<<20)
		b.SetBytes(benchmarkSize)
		b.ReportAllocs()
		for b.Loop() {
			f, err := fsys.Open(name)
			if err != nil {
				b.Fatal(err)
			}
			for off := int64(0); err == nil; off += int64(len(chunk)) {
				_, err = f.ReadAt(chunk, off)
			}
			if err != io.EOF {
				b.Fatal(err)
			}
			f.Close()
		}
	})
}

package storage

import (
	"bytes"
	"errors"
	"io"
	"path"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
)

const benchmarkSize = 64 << 20

func BenchmarkLocal(b *testing.B) { benchmark(b, Local, b.TempDir()) }

func BenchmarkHDFS(b *testing.B) {
	conf, err := siteconf.Load(testcluster.Use(b).ConfDir())
	if err != nil {
		b.Fatal(err)
	}
	fsys, root, err := ResolveAs("hdfs:///tests/storage-bench", "/", conf, Identity{})
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

// benchmark writes and reads a file, in pieces like an HFile's blocks and a reader's chunks.
func benchmark(b *testing.B, fsys FS, dir string) {
	name := path.Join(dir, "f")
	b.Run("write", func(b *testing.B) {
		block := noise(30_000)
		b.SetBytes(benchmarkSize)
		b.ReportAllocs()
		begun := cpuTime(b)
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
		b.ReportMetric(float64((cpuTime(b)-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		b.ReportAllocs()
		begun := cpuTime(b)
		for b.Loop() {
			readChunks(b, fsys, name, 0)
		}
		b.ReportMetric(float64((cpuTime(b)-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("read beside computing", func(b *testing.B) { besideComputing(b, fsys, name) })
}

// cpuTime is the time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// besideComputing computes after each chunk for as long as reading one needs, and reports how much of the reading time
// that hides: 100% if a file arrives as if it were in memory. It can't hide what this process itself does to read.
func besideComputing(b *testing.B, fsys FS, name string) {
	b.SetBytes(benchmarkSize)
	var alone, together, computing time.Duration
	for b.Loop() {
		read := readChunks(b, fsys, name, 0)
		pause := read / (benchmarkSize >> 20)
		both := readChunks(b, fsys, name, pause)
		alone, together, computing = alone+read, together+both, computing+pause*(benchmarkSize>>20)
	}
	b.ReportMetric(100*(1-float64(together-computing)/float64(alone)), "%-hidden")
}

// readChunks reads a file in pieces like a reader's, and computes for a while after each.
func readChunks(b *testing.B, fsys FS, name string, pause time.Duration) time.Duration {
	chunk := make([]byte, 1<<20)
	begun := time.Now()
	f, err := fsys.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); err == nil; off += int64(len(chunk)) {
		_, err = f.ReadAt(chunk, off)
		for until := time.Now().Add(pause); time.Now().Before(until); {
		}
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	return time.Since(begun)
}

// BenchmarkBlockStream measures reading and checking a block's packets.
func BenchmarkBlockStream(b *testing.B) {
	a := answering{checksumCRC32C, 512, 65536, 0}
	block := noise(16 << 20)
	sent, piece := a.answer(block), make([]byte, 64<<10)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		s := stream(bytes.NewReader(sent), a.request(block), false)
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, piece); err != nil {
			b.Fatal(err)
		}
	}
}

package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
)

// BenchmarkRun is the whole local job: read, key, sort, write, read back.
func BenchmarkRun(b *testing.B) {
	const rows = 200_000
	dir := jobdir.Check(b, jobdir.CheckJob, rows)
	var size int64
	paths, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.SetBytes(size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := filepath.Join(dir, fmt.Sprint("out", n))
		n++
		runtest.Must(b, jobtest.Check(b, dir, out), options.Options{WorkDir: dir})
		b.StopTimer()
		if err := os.RemoveAll(out); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(rows*18*n)/b.Elapsed().Seconds(), "cells/s")
}

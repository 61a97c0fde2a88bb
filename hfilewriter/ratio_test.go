package hfilewriter

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// BenchmarkAgainstHBase writes the same check-table cells, in memory, to a discarding sink: with HBase's writer, warmed
// up, by the CPU time of its thread alone, and with ours, a row and a cell at a time, by that of the whole process,
// collector included. x-HBase is how many times HBase's cells a CPU-second ours makes.
func BenchmarkAgainstHBase(b *testing.B) {
	o := testcluster.Java(b)
	rows := benchRows()
	cells := cellsOf(rows, "f", checkQualifiers, benchTime)
	lines := filepath.Join(b.TempDir(), "cells")
	if err := os.WriteFile(lines, cellLines(cells), 0o600); err != nil {
		b.Fatal(err)
	}
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		b.Fatal(err)
	}
	byRow := func(w *Writer) error {
		for i := range rows {
			if err := w.AppendRow(columns, rows[i].row, benchTime, rows[i].values); err != nil {
				return err
			}
		}
		return nil
	}
	byCell := func(w *Writer) error {
		for i := range cells {
			if err := w.Append(&cells[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, bs := range benchSettings {
		out, err := o.Run("bench", lines, "8", "COMPRESSION="+bs.s.Compression.String(), "DATA_BLOCK_ENCODING="+bs.s.Encoding.String(), "BLOOMFILTER="+bs.s.Bloom.String())
		if err != nil {
			b.Fatal(err)
		}
		theirs := bestRate(b, out)
		for name, fill := range map[string]func(*Writer) error{"row at a time": byRow, "cell at a time": byCell} {
			b.Run(bs.name+"/"+name, func(b *testing.B) {
				benchWrite(b, bs.s, len(cells), fill) // warm
				before := cpuTime(b)
				benchWrite(b, bs.s, len(cells), fill)
				ours := float64(len(cells)) * float64(b.N) / (cpuTime(b) - before).Seconds() / 1e6
				b.ReportMetric(ours, "Mcells/CPU-s")
				b.ReportMetric(theirs, "HBase-Mcells/CPU-s")
				b.ReportMetric(ours/theirs, "x-HBase")
			})
		}
	}
}

// bestRate is the best of the passes after the first three, in million cells a second of the writing thread.
func bestRate(b *testing.B, out string) (best float64) {
	rate := regexp.MustCompile(`Mcells/thread-s=([0-9.]+)`)
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		m := rate.FindStringSubmatch(line)
		if m == nil {
			b.Fatalf("the oracle's bench says %q", line)
		}
		if v, err := strconv.ParseFloat(m[1], 64); err == nil && i >= 3 {
			best = max(best, v)
		}
	}
	return best
}

// cpuTime is what this process has used so far, all threads, user and system.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

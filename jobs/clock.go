package jobs

import (
	"time"

	"bulkload/internal/storage"
	"bulkload/partition"
)

// What a run's phases take is measured where it costs nothing: a clock call for a block read or written, and a look at one
// record of sampleEvery. What a goroutine did in all is known exactly, and so is what it read, sorted, spilled, compressed
// and wrote; only the rest is shared out by the sample.
const sampleEvery = 64

// apportion splits a time in two as two measured parts of it stand to each other.
func apportion(all, a, b time.Duration) (time.Duration, time.Duration) {
	all = max(all, 0)
	if a+b <= 0 {
		return all, 0
	}
	first := time.Duration(float64(all) * float64(a) / float64(a+b))
	return first, all - first
}

// ioClock measures the calls that one goroutine makes to files.
type ioClock struct {
	took  time.Duration
	calls int64
	bytes int64
}

func (c *ioClock) add(begun time.Time, n int) {
	c.took += time.Since(begun)
	c.calls++
	c.bytes += int64(n)
}

// clockedFS measures the reading of the files that are opened through it.
type clockedFS struct {
	storage.FS
	clock *ioClock
}

// Unwrap is for storage.DelegatorOf.
func (f clockedFS) Unwrap() storage.FS { return f.FS }

func (f clockedFS) Open(name string) (storage.File, error) {
	begun := time.Now()
	file, err := f.FS.Open(name)
	f.clock.add(begun, 0)
	if err != nil {
		return nil, err
	}
	return clockedFile{file, f.clock}, nil
}

type clockedFile struct {
	storage.File
	clock *ioClock
}

func (f clockedFile) Read(b []byte) (int, error) {
	begun := time.Now()
	n, err := f.File.Read(b)
	f.clock.add(begun, n)
	return n, err
}

func (f clockedFile) ReadAt(b []byte, at int64) (int, error) {
	begun := time.Now()
	n, err := f.File.ReadAt(b, at)
	f.clock.add(begun, n)
	return n, err
}

// clockedWriter measures the writing of a file.
type clockedWriter struct {
	storage.Writer
	clock *ioClock
}

func (w clockedWriter) Write(b []byte) (int, error) {
	begun := time.Now()
	n, err := w.Writer.Write(b)
	w.clock.add(begun, n)
	return n, err
}

func (w clockedWriter) Close() error {
	begun := time.Now()
	err := w.Writer.Close()
	w.clock.add(begun, 0)
	return err
}

// readTimes is what goroutines did while they read records.
type readTimes struct {
	total   time.Duration // from the openings of their splits to the ends
	file    ioClock
	sorting time.Duration // of total, what the sort did now and then: see partition.Lane.Busy
	parse   time.Duration // of the records looked at
	visit   time.Duration // likewise: their keys, digests and packing
}

func (t *readTimes) add(o *readTimes) {
	t.total += o.total
	t.file.took += o.file.took
	t.file.bytes += o.file.bytes
	t.sorting += o.sorting
	t.parse += o.parse
	t.visit += o.visit
}

// phases are the parts of reading and sorting.
func (t *readTimes) phases(stats partition.Stats) []Phase {
	parse, key := apportion(t.total-t.file.took-t.sorting, t.parse, t.visit)
	return []Phase{
		partOf("sort", "read", t.file.took, t.file.bytes),
		partOf("sort", "parse", parse, t.file.bytes),
		partOf("sort", "key", key, stats.Bytes),
		partOf("sort", "sort", stats.SortTime, stats.Bytes),
		partOf("sort", "spill", stats.SpillTime, stats.SpilledBytes),
	}
}

// writeTimes is what goroutines did while they wrote slices.
type writeTimes struct {
	total    time.Duration // from the beginning of the merge to the end of the last file
	file     ioClock
	compress time.Duration
	verify   time.Duration
	merge    time.Duration // of the entries looked at
	append   time.Duration // likewise
	entries  int64         // bytes that were merged
	raw      int64         // bytes of KeyValues
	encoded  int64         // bytes that were compressed
	checked  int64         // bytes of files that were read back
}

func (t *writeTimes) add(o *writeTimes) {
	t.total += o.total
	t.file.took += o.file.took
	t.file.bytes += o.file.bytes
	t.compress += o.compress
	t.verify += o.verify
	t.merge += o.merge
	t.append += o.append
	t.entries += o.entries
	t.raw += o.raw
	t.encoded += o.encoded
	t.checked += o.checked
}

// phases are the parts of writing.
func (t *writeTimes) phases() []Phase {
	merge, encode := apportion(t.total-t.file.took-t.compress, t.merge, t.append)
	return []Phase{
		partOf("write", "merge", merge, t.entries),
		partOf("write", "encode", encode, t.raw),
		partOf("write", "compress", t.compress, t.encoded),
		partOf("write", "write", t.file.took, t.file.bytes),
		partOf("write", "verify", t.verify, t.checked),
	}
}

// partOf is a part of a stage, whose time is that of all goroutines together.
func partOf(stage, name string, took time.Duration, bytes int64) Phase {
	p := newPhase(name, took, bytes)
	p.Of = stage
	return p
}

func newPhase(name string, took time.Duration, bytes int64) Phase {
	p := Phase{Name: name, Seconds: took.Seconds(), Bytes: bytes}
	if p.Seconds > 0 {
		p.Rate = float64(bytes) / p.Seconds
	}
	return p
}

// Package timing measures where the time of a run goes.
package timing

import (
	"time"

	"bulkload/internal/storage"
	"bulkload/partition"
)

// SampleEvery is how many records one is timed of. What a run's phases take is measured where it costs nothing: a clock
// call for a block read or written, and a look at one record of SampleEvery. What a goroutine did in all is known exactly, and so is what it read, sorted, spilled, compressed
// and wrote; only the rest is shared out by the sample.
const SampleEvery = 64

// apportion splits a time in the ratio of two measured parts of it.
func apportion(all, a, b time.Duration) (time.Duration, time.Duration) {
	all = max(all, 0)
	if a+b <= 0 {
		return all, 0
	}
	first := time.Duration(float64(all) * float64(a) / float64(a+b))
	return first, all - first
}

// Clock measures the calls that one goroutine makes to files.
type Clock struct {
	Took  time.Duration
	Calls int64
	Bytes int64
}

func (c *Clock) add(begun time.Time, n int) {
	c.Took += time.Since(begun)
	c.Calls++
	c.Bytes += int64(n)
}

// clockedFS measures the reading of the files that are opened through it.
type clockedFS struct {
	storage.FS
	clock *Clock
}

// FS measures the files that are opened through it.
func FS(fsys storage.FS, clock *Clock) storage.FS { return clockedFS{fsys, clock} }

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
	clock *Clock
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
	clock *Clock
}

// Writer measures the writing of a file.
func Writer(w storage.Writer, clock *Clock) storage.Writer { return clockedWriter{w, clock} }

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

// ReadTimes is what goroutines did while they read records.
type ReadTimes struct {
	Total   time.Duration // from the openings of their splits to the ends
	File    Clock
	Sorting time.Duration // of total, what the sort did now and then: see partition.Shard.Busy
	Parse   time.Duration // of the records looked at
	Visit   time.Duration // likewise: their keys, digests and packing
}

// Add adds what another goroutine did.
func (t *ReadTimes) Add(o *ReadTimes) {
	t.Total += o.Total
	t.File.Took += o.File.Took
	t.File.Bytes += o.File.Bytes
	t.Sorting += o.Sorting
	t.Parse += o.Parse
	t.Visit += o.Visit
}

// Phases are the parts of reading and sorting.
func (t *ReadTimes) Phases(stats partition.Stats) []Phase {
	parse, key := apportion(t.Total-t.File.Took-t.Sorting, t.Parse, t.Visit)
	return []Phase{
		partOf("sort", "read", t.File.Took, t.File.Bytes),
		partOf("sort", "parse", parse, t.File.Bytes),
		partOf("sort", "key", key, stats.Bytes),
		partOf("sort", "sort", stats.SortTime, stats.Bytes),
		partOf("sort", "spill", stats.SpillTime, stats.SpilledBytes),
	}
}

// WriteTimes is what goroutines did while they wrote slices.
type WriteTimes struct {
	Total    time.Duration // from the beginning of the merge to the end of the last file
	File     Clock
	Compress time.Duration
	Verify   time.Duration
	Merge    time.Duration // of the entries looked at
	Append   time.Duration // likewise
	Entries  int64         // bytes that were merged
	Raw      int64         // bytes of KeyValues
	Encoded  int64         // bytes that were compressed
	Checked  int64         // bytes of files that were read back
}

// Add adds what another goroutine did.
func (t *WriteTimes) Add(o *WriteTimes) {
	t.Total += o.Total
	t.File.Took += o.File.Took
	t.File.Bytes += o.File.Bytes
	t.Compress += o.Compress
	t.Verify += o.Verify
	t.Merge += o.Merge
	t.Append += o.Append
	t.Entries += o.Entries
	t.Raw += o.Raw
	t.Encoded += o.Encoded
	t.Checked += o.Checked
}

// Phases are the parts of writing.
func (t *WriteTimes) Phases() []Phase {
	merge, encode := apportion(t.Total-t.File.Took-t.Compress, t.Merge, t.Append)
	return []Phase{
		partOf("write", "merge", merge, t.Entries),
		partOf("write", "encode", encode, t.Raw),
		partOf("write", "compress", t.Compress, t.Encoded),
		partOf("write", "write", t.File.Took, t.File.Bytes),
		partOf("write", "verify", t.Verify, t.Checked),
	}
}

// partOf is a part of a stage, whose time is that of all goroutines together.
func partOf(stage, name string, took time.Duration, bytes int64) Phase {
	p := NewPhase(name, took, bytes)
	p.Of = stage
	return p
}

// NewPhase is a stage that took so long, and worked on so many bytes.
func NewPhase(name string, took time.Duration, bytes int64) Phase {
	p := Phase{Name: name, Seconds: took.Seconds(), Bytes: bytes}
	if p.Seconds > 0 {
		p.Rate = float64(bytes) / p.Seconds
	}
	return p
}

// Phase is a stage of a run and how long it took, or a part of a stage, whose time is that of all cores together.
type Phase struct {
	Name    string  `json:"name"`
	Output  string  `json:"output,omitempty"` // the table, where there are several outputs and the stage is of one
	Of      string  `json:"of,omitempty"`     // the stage; empty for a stage itself
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Rate    float64 `json:"bytes_per_second"`
}

// NowIf is the time where it is wanted.
func NowIf(wanted bool) time.Time {
	if !wanted {
		return time.Time{}
	}
	return time.Now()
}

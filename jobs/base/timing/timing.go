// Package timing measures where the time of a run goes.
package timing

import (
	"time"

	"bulkload/internal/storage"
	"bulkload/partition"
)

// SampleEvery says that one record in so many is timed. A run's phases are measured where that costs almost nothing:
// once for each block read or written, and for one record in SampleEvery. The total time of a goroutine is exact, and
// so are the times for reading, sorting, spilling, compressing and writing; only the rest is estimated from the sample.
const SampleEvery = 64

// apportion divides a time in the ratio of two measured parts.
func apportion(all, a, b time.Duration) (time.Duration, time.Duration) {
	all = max(all, 0)
	if a+b <= 0 {
		return all, 0
	}
	first := time.Duration(float64(all) * float64(a) / float64(a+b))
	return first, all - first
}

// Stopwatch measures one goroutine's calls to files.
type Stopwatch struct {
	Took  time.Duration
	Calls int64
	Bytes int64
}

func (c *Stopwatch) add(begun time.Time, n int) {
	c.Took += time.Since(begun)
	c.Calls++
	c.Bytes += int64(n)
}

// clockedFS measures reads of files that are opened through it.
type clockedFS struct {
	storage.FS
	clock *Stopwatch
}

// FS measures reads of files that are opened through it.
func FS(fsys storage.FS, clock *Stopwatch) storage.FS { return clockedFS{fsys, clock} }

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
	clock *Stopwatch
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

// clockedWriter measures writes to a file.
type clockedWriter struct {
	storage.FileWriter
	clock *Stopwatch
}

// Writer measures writes to a file.
func Writer(w storage.FileWriter, clock *Stopwatch) storage.FileWriter {
	return clockedWriter{w, clock}
}

func (w clockedWriter) Write(b []byte) (int, error) {
	begun := time.Now()
	n, err := w.FileWriter.Write(b)
	w.clock.add(begun, n)
	return n, err
}

func (w clockedWriter) Close() error {
	begun := time.Now()
	err := w.FileWriter.Close()
	w.clock.add(begun, 0)
	return err
}

// ReadTimes says how goroutines spent their time while they read records.
type ReadTimes struct {
	Total   time.Duration // from opening their splits to the splits' ends
	File    Stopwatch
	Sorting time.Duration // the part of Total in which the sort was busy: see partition.Shard.Busy
	Parse   time.Duration // of the sampled records
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

// Phases returns the parts of reading and sorting.
func (t *ReadTimes) Phases(stats partition.Stats) []PhaseTime {
	parse, key := apportion(t.Total-t.File.Took-t.Sorting, t.Parse, t.Visit)
	return []PhaseTime{
		partOf("sort", "read", t.File.Took, t.File.Bytes),
		partOf("sort", "parse", parse, t.File.Bytes),
		partOf("sort", "key", key, stats.Bytes),
		partOf("sort", "sort", stats.SortTime, stats.Bytes),
		partOf("sort", "spill", stats.SpillTime, stats.SpilledBytes),
	}
}

// WriteTimes says how goroutines spent their time while they wrote slices.
type WriteTimes struct {
	Total    time.Duration // from the beginning of the merge to the end of the last file, and what other cores compressed
	File     Stopwatch
	Compress time.Duration
	Verify   time.Duration
	Merge    time.Duration // of the sampled entries
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

// Phases returns the parts of writing.
func (t *WriteTimes) Phases() []PhaseTime {
	merge, encode := apportion(t.Total-t.File.Took-t.Compress, t.Merge, t.Append)
	return []PhaseTime{
		partOf("write", "merge", merge, t.Entries),
		partOf("write", "encode", encode, t.Raw),
		partOf("write", "compress", t.Compress, t.Encoded),
		partOf("write", "write", t.File.Took, t.File.Bytes),
		partOf("write", "verify", t.Verify, t.Checked),
	}
}

// partOf returns a part of a stage. Its time is the sum over all goroutines.
func partOf(stage, name string, took time.Duration, bytes int64) PhaseTime {
	p := NewPhase(name, took, bytes)
	p.Of = stage
	return p
}

// NewPhase returns a stage with its duration and bytes.
func NewPhase(name string, took time.Duration, bytes int64) PhaseTime {
	p := PhaseTime{Name: name, Seconds: took.Seconds(), Bytes: bytes}
	if p.Seconds > 0 {
		p.Rate = float64(bytes) / p.Seconds
	}
	return p
}

// PhaseTime is the duration of a run's stage, or of a part of a stage, which is the sum over all cores.
type PhaseTime struct {
	Name    string  `json:"name"`
	Output  string  `json:"output,omitempty"` // the table, if there are several outputs and the stage is for one
	Of      string  `json:"of,omitempty"`     // the stage; empty for a stage itself
	Start   float64 `json:"-"`                // of a stage: in seconds from the beginning of the run
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Rate    float64 `json:"bytes_per_second"`
}

// NowIf returns the current time if wanted, and otherwise the zero time.
func NowIf(wanted bool) time.Time {
	if !wanted {
		return time.Time{}
	}
	return time.Now()
}

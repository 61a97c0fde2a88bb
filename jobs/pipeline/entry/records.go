// Package entry makes sort entries of records: the sort's key, followed by the packed values. It applies the column
// rules and the filter.
package entry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
)

// RejectSink accepts the records that can't be used.
type RejectSink interface {
	Add(*ingest.BadRecord) error
	Count() int64
	Close(read int64) error
}

// RecordReader reads splits in one goroutine, and separates the records that can be used from those that can't.
type RecordReader struct {
	Form        ingest.Format
	FS          storage.FS
	rejects     RejectSink
	meter       *options.Meter
	Read        int64 // records so far, including rejected ones
	Refused     int64 // rejected ones among them
	Skipped     int64 // lines that are not records, such as repeated headings
	At          int64 // offset of the last record
	ResumeAfter int64 // records of a split up to this offset are skipped; -1: none
	In          ingest.Records
	Times       *timing.ReadTimes
	Busy        func() time.Duration // time that the visitor has spent in another phase so far

	skipper ingest.Skipper // of the split; nil for forms that skip no lines
	passed  int64          // lines it had skipped when the last record was read
}

// NewReader returns a reader for one goroutine.
func NewReader(form ingest.Format, fsys storage.FS, rejects RejectSink, m *options.Meter) RecordReader {
	t := new(timing.ReadTimes)
	return RecordReader{Form: form, FS: timing.FS(fsys, &t.File), rejects: rejects, meter: m, ResumeAfter: -1,
		Times: t, Busy: func() time.Duration { return 0 }}
}

// ReadSplit visits the records of a split and returns how many bytes it read for them. Records up to ResumeAfter are
// read and skipped: they are in the sorted runs of an earlier process, and neither counted nor rejected again.
func (r *RecordReader) ReadSplit(ctx context.Context, split ingest.Split,
	visit func(*ingest.Record) error) (bytes int64, err error) {
	begun, before := time.Now(), r.Busy()
	defer func() {
		r.Times.Total += time.Since(begun)
		r.Times.Sorting += r.Busy() - before
	}()
	in, err := r.Form.Open(r.FS, split)
	if err != nil {
		return 0, fmt.Errorf("open the input: %w", err)
	}
	r.In = in
	r.skipper, _ = in.(ingest.Skipper)
	r.passed = 0
	defer func() { err = errors.Join(err, in.Close()) }()
	var reported int64
	for n := 1; err == nil; n++ {
		if n%timing.SampleEvery == 0 {
			err = r.NextTimed(in, visit)
		} else {
			err = r.next(in, visit)
		}
		if n%CheckEvery == 0 || err != nil {
			r.meter.Add(in.Bytes() - reported)
			reported = in.Bytes()
			err = errors.Join(err, ctx.Err())
		}
	}
	if errors.Is(err, io.EOF) {
		r.Skipped += r.newlySkipped()
		// Readers compare only the size, and only when they open a file. A file that was overwritten meanwhile has
		// another time.
		return reported, errors.Join(ctx.Err(), split.File.CheckUnchanged(r.FS))
	}
	return reported, err
}

// NextTimed is next with a measurement. A record during which the file was read or the arena sorted is not measured,
// because it says nothing about parsing and keys.
func (r *RecordReader) NextTimed(in ingest.Records, visit func(*ingest.Record) error) error {
	calls, busy, begun := r.Times.File.Calls, r.Busy(), time.Now()
	parsed := begun
	err := r.next(in, func(record *ingest.Record) error {
		parsed = time.Now()
		return visit(record)
	})
	if calls == r.Times.File.Calls && busy == r.Busy() && parsed != begun {
		r.Times.Parse += parsed.Sub(begun)
		r.Times.Visit += time.Since(parsed)
	}
	return err
}

func (r *RecordReader) next(in ingest.Records, visit func(*ingest.Record) error) error {
	record, err := in.Next()
	if err == nil {
		if !r.count(record.Offset) {
			return nil
		}
		return visit(record)
	}
	var bad *ingest.BadRecord
	if errors.As(err, &bad) && !r.count(bad.Offset) {
		return nil
	}
	return r.Reject(err)
}

// count counts a record and the lines that were skipped before it; false if an earlier process has counted them.
func (r *RecordReader) count(offset int64) bool {
	skipped := r.newlySkipped()
	if offset <= r.ResumeAfter {
		return false
	}
	r.Read++
	r.Skipped += skipped
	r.At = offset
	return true
}

// newlySkipped returns how many lines were skipped since the last call.
func (r *RecordReader) newlySkipped() int64 {
	if r.skipper == nil {
		return 0
	}
	n := r.skipper.Skipped() - r.passed
	r.passed += n
	return n
}

// Reject passes on a record that can't be used, and returns an error if there are now too many. It returns any err that
// is not an *ingest.BadRecord unchanged.
func (r *RecordReader) Reject(err error) error {
	var bad *ingest.BadRecord
	if !errors.As(err, &bad) {
		return err
	}
	r.Refused++
	return r.rejects.Add(bad)
}

// CheckEvery is the number of records between two checks whether the context has ended.
const CheckEvery = 1024

// CountedRejects counts rejects without storing them: verification and plan leave the output as it is.
type CountedRejects struct{ n atomic.Int64 }

// Add counts a record that can't be used.
func (c *CountedRejects) Add(*ingest.BadRecord) error { c.n.Add(1); return nil }

// Count returns the number of rejects.
func (c *CountedRejects) Count() int64 { return c.n.Load() }

// Close does nothing.
func (c *CountedRejects) Close(int64) error { return nil }

package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/progress"
	"bulkload/jobs/timing"
)

// rejectSink takes the records that can't be used.
type rejectSink interface {
	Add(*ingest.BadRecord) error
	Count() int64
	Close(read int64) error
}

// recordReader reads splits in one goroutine, and tells the records that can be used from those that can't.
type recordReader struct {
	form    ingest.Form
	fsys    storage.FS
	rejects rejectSink
	meter   *progress.Meter
	read    int64 // records so far, rejected ones too
	refused int64 // of them, those that were rejected
	at      int64 // offset of the last of them
	after   int64 // the records up to this offset of a split are passed over; -1: none
	in      ingest.Records
	times   *timing.ReadTimes
	busy    func() time.Duration // what the visitor did of another phase so far
}

func newRecordReader(form ingest.Form, fsys storage.FS, rejects rejectSink, m *progress.Meter) recordReader {
	t := new(timing.ReadTimes)
	return recordReader{form: form, fsys: timing.FS(fsys, &t.File), rejects: rejects, meter: m, after: -1,
		times: t, busy: func() time.Duration { return 0 }}
}

// errEnough ends the reading without an error.
var errEnough = errors.New("enough was read")

// readSplit visits the records of a split and tells how many bytes of it that were. The visitor may give errEnough.
func (r *recordReader) readSplit(ctx context.Context, split ingest.Split, visit func(*ingest.Record) error) (bytes int64, err error) {
	begun, before := time.Now(), r.busy()
	defer func() {
		r.times.Total += time.Since(begun)
		r.times.Sorting += r.busy() - before
	}()
	in, err := r.form.Open(r.fsys, split)
	if err != nil {
		return 0, fmt.Errorf("open the input: %w", err)
	}
	r.in = in
	defer func() { err = errors.Join(err, in.Close()) }()
	var told int64
	for n := 1; err == nil; n++ {
		if n%timing.SampleEvery == 0 {
			err = r.nextTimed(in, visit)
		} else {
			err = r.next(in, visit)
		}
		if n%checkEvery == 0 || err != nil {
			r.meter.Add(in.Bytes() - told)
			told = in.Bytes()
			err = errors.Join(err, ctx.Err())
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errEnough) {
		return told, ctx.Err()
	}
	return told, err
}

// nextTimed does what next does, and measures it. A record at which the file was read or the arena sorted tells nothing of
// parsing and keys.
func (r *recordReader) nextTimed(in ingest.Records, visit func(*ingest.Record) error) error {
	calls, busy, begun := r.times.File.Calls, r.busy(), time.Now()
	parsed := begun
	err := r.next(in, func(record *ingest.Record) error {
		parsed = time.Now()
		return visit(record)
	})
	if calls == r.times.File.Calls && busy == r.busy() && parsed != begun {
		r.times.Parse += parsed.Sub(begun)
		r.times.Visit += time.Since(parsed)
	}
	return err
}

func (r *recordReader) next(in ingest.Records, visit func(*ingest.Record) error) error {
	record, err := in.Next()
	if err == nil {
		if record.Offset <= r.after {
			return nil
		}
		r.read++
		r.at = record.Offset
		return visit(record)
	}
	var bad *ingest.BadRecord
	if errors.As(err, &bad) {
		if bad.Offset <= r.after {
			return nil
		}
		r.read++
		r.at = bad.Offset
	}
	return r.reject(err)
}

// reject takes a record that can't be used out of the way; the error says whether that can be borne. What is no
// *ingest.BadRecord is passed on.
func (r *recordReader) reject(err error) error {
	var bad *ingest.BadRecord
	if !errors.As(err, &bad) {
		return err
	}
	r.refused++
	return r.rejects.Add(bad)
}

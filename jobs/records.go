package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/keys"
)

// rejectSink takes the records that can't be used.
type rejectSink interface {
	Add(*ingest.BadRecord) error
	Count() int64
	Close(read int64) error
}

// recordReader reads splits in one goroutine, and tells the records that can be used from those that can't.
type recordReader struct {
	job     *Job
	fsys    storage.FS
	rejects rejectSink
	meter   *meter
	keys    *keys.Evaluator
	read    int64 // records so far, rejected ones too
	times   *readTimes
	busy    func() time.Duration // what the visitor did of another phase so far
}

func newRecordReader(j *Job, fsys storage.FS, rejects rejectSink, m *meter) recordReader {
	t := new(readTimes)
	return recordReader{job: j, fsys: clockedFS{fsys, &t.file}, rejects: rejects, meter: m, keys: j.RowKey.Evaluator(),
		times: t, busy: func() time.Duration { return 0 }}
}

// errEnough ends the reading without an error.
var errEnough = errors.New("enough was read")

// readSplit visits the records of a split. The visitor may give errEnough.
func (r *recordReader) readSplit(ctx context.Context, split ingest.Split, visit func(*ingest.Record) error) (err error) {
	begun, before := time.Now(), r.busy()
	defer func() {
		r.times.total += time.Since(begun)
		r.times.sorting += r.busy() - before
	}()
	in, err := r.job.Input.Form.Open(r.fsys, split)
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var told int64
	for n := 1; err == nil; n++ {
		if n%sampleEvery == 0 {
			err = r.nextTimed(in, visit)
		} else {
			err = r.next(in, visit)
		}
		if n%checkEvery == 0 || err != nil {
			r.meter.add(in.Bytes() - told)
			told = in.Bytes()
			err = errors.Join(err, ctx.Err())
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errEnough) {
		return ctx.Err()
	}
	return err
}

// nextTimed does what next does, and measures it. A record at which the file was read or the arena sorted tells nothing of
// parsing and keys.
func (r *recordReader) nextTimed(in ingest.Records, visit func(*ingest.Record) error) error {
	calls, busy, begun := r.times.file.calls, r.busy(), time.Now()
	parsed := begun
	err := r.next(in, func(record *ingest.Record) error {
		parsed = time.Now()
		return visit(record)
	})
	if calls == r.times.file.calls && busy == r.busy() && parsed != begun {
		r.times.parse += parsed.Sub(begun)
		r.times.visit += time.Since(parsed)
	}
	return err
}

func (r *recordReader) next(in ingest.Records, visit func(*ingest.Record) error) error {
	record, err := in.Next()
	if err == nil {
		r.read++
		return visit(record)
	}
	var bad *ingest.BadRecord
	if !errors.As(err, &bad) {
		return err
	}
	r.read++
	return r.rejects.Add(bad)
}

// appendKey appends a record's row key to dst. It is nil where the record was rejected; the error says whether that can
// be borne.
func (r *recordReader) appendKey(dst []byte, record *ingest.Record) ([]byte, error) {
	if bad := r.checkWidths(record); bad != nil {
		return nil, r.rejects.Add(bad)
	}
	row, err := r.keys.Append(dst, record.Fields)
	if err != nil {
		return nil, r.rejectKey(record, err)
	}
	return row, nil
}

// checkWidths holds values against declared widths.
func (r *recordReader) checkWidths(record *ingest.Record) *ingest.BadRecord {
	for i := range r.job.Columns {
		c := &r.job.Columns[i]
		if value := record.Fields[i]; c.Width > 0 && value != nil && len(value) != c.Width {
			return &ingest.BadRecord{Position: record.Position, Column: c.Name, Raw: record.Raw,
				Reason: fmt.Sprintf("%d bytes, declared width %d", len(value), c.Width)}
		}
	}
	return nil
}

func (r *recordReader) rejectKey(record *ingest.Record, err error) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s, byte %d: %w", record.File.Path, record.Offset, err)
	}
	bad := &ingest.BadRecord{Position: record.Position, Reason: value.Reason, Raw: record.Raw}
	if value.Column >= 0 && value.Column < len(r.job.Columns) {
		bad.Column = r.job.Columns[value.Column].Name
	}
	return r.rejects.Add(bad)
}

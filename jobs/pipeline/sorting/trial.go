package sorting

import (
	"context"
	"errors"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// tried is how many records of an input a trial reads.
const tried = 1000

var errTried = errors.New("enough records were tried")

// TryInput reads the first records of an input and, if they can't be used, fails as a run would: because the heading
// lacks a column, say, or the delimiter is wrong. It stores nothing.
func TryInput(ctx context.Context, src *source.Source, o options.Options) error {
	splits, err := source.Splits(ctx, &src.Job.Input, src)
	if err != nil || len(splits) == 0 {
		return err
	}
	src.LogWarnings(ctx, o)
	rejects := &trialRejects{ingest.RejectCounter{Limit: src.Job.Input.MaxRejects}}
	r, err := newContentReader(src, src.Job.Feeds()[0], rejects)
	if err != nil {
		return err
	}
	into := new(counts.Content)
	_, err = r.records.ReadSplit(ctx, splits[0], func(record *ingest.Record) error {
		if r.records.Read > tried {
			return errTried
		}
		return r.add(record, into)
	})
	if err != nil && !errors.Is(err, errTried) {
		return err
	}
	return rejects.Close(r.records.Read)
}

// trialRejects counts rejects, and fails when a run would.
type trialRejects struct{ seen ingest.RejectCounter }

// Add counts a record that can't be used.
func (t *trialRejects) Add(b *ingest.BadRecord) error {
	switch exceeded := t.seen.Add(b); {
	case exceeded:
		return t.seen.LimitError(0)
	case t.seen.Count() > tried:
		return errTried
	}
	return nil
}

// Count returns the number of rejects.
func (t *trialRejects) Count() int64 { return t.seen.Count() }

// Close refuses an input if all records tried are bad, whatever percentage the job allows.
func (t *trialRejects) Close(read int64) error {
	if n := t.seen.Count(); n > 0 && n >= read {
		return t.seen.LimitError(read)
	}
	return nil
}

// TrialSize estimates how many KeyValue bytes an input has for one output, from the input's first records; 0 if they
// show nothing.
func TrialSize(ctx context.Context, src *source.Source, own *jobfile.Job, t *targets.Target) int64 {
	splits, err := source.Splits(ctx, &src.Job.Input, src)
	if err != nil || len(splits) == 0 {
		return 0
	}
	r, err := newContentReader(src, own, new(entry.CountedRejects))
	if err != nil {
		return 0
	}
	region, into, offset := new(counts.RegionCounts), new(counts.Content), int64(0)
	_, err = r.records.ReadSplit(ctx, splits[0], func(record *ingest.Record) error {
		if r.records.Read > tried {
			return errTried
		}
		offset = record.Offset
		cells := into.Digest.Cells
		if err := r.add(record, into); err != nil || into.Digest.Cells == cells {
			return err
		}
		region.Keys += int64(len(r.shards[r.own].key.Key))
		region.Bytes += int64(len(r.buffer)) + int64(len(r.shards[r.own].key.Key))
		return nil
	})
	if err != nil && !errors.Is(err, errTried) || offset == 0 {
		return 0
	}
	region.Digest = into.Digest
	return int64(float64(RawSize(region, t)) / float64(offset) * float64(inputLength(ctx, src)))
}

// inputLength returns the length of an input in the unit of its records' offsets, bytes of text or rows; 0 if unknown.
func inputLength(ctx context.Context, src *source.Source) int64 {
	counted, ok := src.Job.Input.Form.(interface {
		Rows(fsys storage.FS, files []ingest.SourceFile) (int64, error)
	})
	if !ok {
		return src.Text
	}
	rows, err := counted.Rows(src.Until(ctx), src.Files)
	if err != nil {
		return 0
	}
	return rows
}

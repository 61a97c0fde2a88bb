package targets

import (
	"context"
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/load"
)

// LiveTable has the boundaries that a run was planned with.
type LiveTable struct{ Splits [][]byte }

// Resolve makes a job's target. With regions.from: plan, its boundaries are the known ones if the run has begun.
// Otherwise it reads the input to compute them.
func Resolve(ctx context.Context, j *jobfile.Job, s *site.Site, src *source.Source, table *load.Table, known *LiveTable,
	o options.Options) (*Target, error) {
	if j.Regions.From != "plan" {
		return New(j, s, table)
	}
	planned := *j
	planned.Regions.Splits = nil
	if known != nil {
		planned.Regions.Splits = known.Splits
		return New(&planned, s, table)
	}
	var err error
	if planned.Regions.Splits, err = planSplits(ctx, j, src, o); err != nil {
		return nil, err
	}
	o.Infof("%d regions were planned from the input (regions.from: plan)", len(planned.Regions.Splits)+1)
	return New(&planned, s, table)
}

// planSplits reads the whole input and returns the boundaries of as many regions as its rows need. Their number follows
// from the bytes of keys and values, and sampled keys are the boundaries, so both depend on the rows alone.
func planSplits(ctx context.Context, j *jobfile.Job, src *source.Source, o options.Options) ([][]byte, error) {
	splits, err := source.Splits(ctx, &j.Input, src)
	if err != nil {
		return nil, err
	}
	layout, err := entry.NewLayout(j)
	if err != nil {
		return nil, err
	}
	sample := stats.NewSample(KeySampleBytes)
	m := options.NewMeter(o.Watch, "plan", src.Bytes, true)
	rejects := &entry.CountedRejects{} // not read, because the run reports these records
	var workers []*splitWorker
	for range min(parallel.Workers(), len(splits)) {
		workers = append(workers, &splitWorker{records: entry.NewReader(j.Input.Form, src.FS, rejects, m),
			key: entry.NewKey(j), layout: layout, sample: sample})
	}
	err = parallel.Share(ctx, workers, splits, func(ctx context.Context, l *splitWorker, split ingest.Split) error {
		_, err := l.records.ReadSplit(ctx, split, l.add)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("plan regions: %w", err)
	}
	var size int64
	for _, l := range workers {
		size += l.size
	}
	sample.Sort()
	return stats.ProposeRegions(stats.RegionInput{Source: size, Salts: j.RowKey.Salts(), FromKey: j.RowKey.Splits},
		sample, printable.Bytes).Keys, nil
}

// splitWorker is one goroutine that reads for planSplits.
type splitWorker struct {
	records entry.RecordReader
	key     entry.Key
	layout  *entry.RowLayout
	sample  *stats.Sample
	entry   []byte
	size    int64
}

// add adds a record's row key. Rejected and filtered records are skipped: the run reports them.
func (l *splitWorker) add(r *ingest.Record) error {
	if err := l.key.Build(l.entry[:0], r); err != nil {
		if errors.Is(err, entry.ErrFiltered) {
			return nil
		}
		return l.records.Reject(err)
	}
	l.entry = l.layout.Pack(l.key.Key, l.key.Values, l.key.Timestamp)
	l.size += int64(len(l.entry))
	hash := stats.Hash(l.key.Row)
	l.sample.Add(hash, hash, l.key.Row, len(l.key.Row), int64(len(l.entry)))
	return nil
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/planning"
	"bulkload/jobs/progress"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// targetOf makes a job's target; with regions.from: plan its boundaries are those of the manifest, where the run has begun,
// or else follow from the input, which is read for it.
func targetOf(ctx context.Context, j *jobfile.Job, s *site, src *source, table *load.Table, m *manifest, o options.Options) (*target, error) {
	if j.Regions.From != "plan" {
		return planTarget(j, s, table)
	}
	planned := *j
	planned.Regions.Splits = nil
	if m != nil && m.MaxSize > 0 { // it has been given boundaries
		for _, text := range m.Splits {
			split, err := printable.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("take region boundaries from the manifest: %w", err)
			}
			planned.Regions.Splits = append(planned.Regions.Splits, split)
		}
		return planTarget(&planned, s, table)
	}
	var err error
	if planned.Regions.Splits, err = planSplits(ctx, j, src, o); err != nil {
		return nil, err
	}
	o.Sayf("%d regions were planned from the input (regions.from: plan)", len(planned.Regions.Splits)+1)
	return planTarget(&planned, s, table)
}

// planSplits reads the whole input and gives the boundaries of as many regions as its rows fill by the rule: bytes of keys
// and values count, and sampled keys say where. Both depend on the rows alone.
func planSplits(ctx context.Context, j *jobfile.Job, src *source, o options.Options) ([][]byte, error) {
	splits, err := j.Input.Form.Splits(src.fsys, src.files, splitSize)
	if err != nil {
		return nil, fmt.Errorf("look into the input: %w", err)
	}
	layout, err := newLayout(j)
	if err != nil {
		return nil, err
	}
	sample := planning.NewSample(keySampleBytes)
	m := progress.NewMeter(o.Watch, "plan", src.bytes, true)
	rejects := &countedRejects{} // which nobody reads: the run says what it can't use
	var size atomic.Int64
	lanes := sync.Pool{New: func() any {
		return &splitLane{records: newRecordReader(j.Input.Form, src.fsys, rejects, m),
			key: newRecordKey(j), layout: layout, sample: sample}
	}}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, split := range splits {
		group.Go(func() error {
			lane := lanes.Get().(*splitLane)
			defer lanes.Put(lane)
			lane.size = 0
			_, err := lane.records.readSplit(running, split, lane.add)
			size.Add(lane.size)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("plan regions: %w", err)
	}
	sample.Sort()
	return planning.Suggest(planning.Wanted{Source: size.Load(), Salts: j.RowKey.Salts(), FromKey: j.RowKey.Splits}, sample, printable.Bytes).Keys, nil
}

// splitLane is one goroutine that reads for planSplits.
type splitLane struct {
	records recordReader
	key     recordKey
	layout  *layout
	sample  *planning.Sample
	entry   []byte
	size    int64
}

// add takes a record's row key. What a run would reject or filter is passed over: the run says so.
func (l *splitLane) add(r *ingest.Record) error {
	if err := l.key.build(l.entry[:0], r); err != nil {
		if errors.Is(err, errFiltered) {
			return nil
		}
		return l.records.reject(err)
	}
	l.entry = l.layout.pack(l.key.key, l.key.values, l.key.timestamp)
	l.size += int64(len(l.entry))
	hash := planning.Hash(l.key.row)
	l.sample.Add(hash, hash, l.key.row, len(l.key.row), int64(len(l.entry)))
	return nil
}

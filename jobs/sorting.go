package jobs

import (
	"context"
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

const (
	splitSize  = 32 << 20 // bytes of a file that one goroutine reads at a time
	checkEvery = 1024     // records between two looks at whether to stop
)

// sortedRows is the sorted input with its accounts.
type sortedRows struct {
	sorted   *partition.Sorted
	read     int64
	rejected int64
	regions  []sortedRegion
	times    readTimes
}

// sortedRegion is what was read for one region, duplicates too.
type sortedRegion struct {
	digest digest.Sum
	keys   int64 // bytes of row keys
	bytes  int64 // of row keys and packed columns
}

func (r *sortedRegion) add(o *sortedRegion) {
	r.digest.Add(o.digest)
	r.keys += o.keys
	r.bytes += o.bytes
}

// sorting is the stage from input files to sorted rows.
type sorting struct {
	job     *Job
	source  *source
	target  *target
	rejects rejectSink
	meter   *meter
}

// sortRows reads, builds keys and sorts, on all cores. The rejects are closed in any case.
func (s *sorting) sortRows(ctx context.Context, o Options) (*sortedRows, error) {
	lanes := workers()
	sorter, err := partition.NewSorter(partition.Options{
		Regions: s.target.regions, Memory: sortMemory(o.Memory), WorkDir: o.WorkDir, Lanes: lanes,
	})
	if err != nil {
		return nil, fmt.Errorf("begin the sort: %w", errors.Join(err, s.rejects.Close(0)))
	}
	s.meter = &meter{watch: o.Watch, phase: "sort", total: s.source.bytes, bytes: true}
	rows, err := s.addAll(ctx, sorter, lanes)
	err = s.closeRejects(err, rows.read)
	rows.rejected = s.rejects.Count()
	if err == nil {
		err = s.checkRows(rows)
	}
	if err != nil {
		return rows, errors.Join(err, sorter.Discard())
	}
	if rows.sorted, err = sorter.Sort(); err != nil {
		return rows, fmt.Errorf("sort: %w", errors.Join(err, sorter.Discard()))
	}
	return rows, nil
}

// closeRejects finishes the reject files after reading, which may have failed.
func (s *sorting) closeRejects(err error, read int64) error {
	if err == nil {
		return s.rejects.Close(read)
	}
	closing := s.rejects.Close(0)
	var limit *ingest.LimitError
	if errors.As(closing, &limit) {
		return err // which says so already, or says more
	}
	return errors.Join(err, closing)
}

// sortMemory is the sort's part of the budget; the rest is for read buffers, open writers, blocks being verified and
// what the collector has not taken yet.
func sortMemory(budget int64) int64 { return budget / 8 * 5 }

// addAll feeds the sort from all splits of the input.
func (s *sorting) addAll(ctx context.Context, sorter *partition.Sorter, lanes int) (*sortedRows, error) {
	group, ctx := errgroup.WithContext(ctx)
	splits := make(chan ingest.Split)
	group.Go(func() error {
		defer close(splits)
		cut, err := s.job.Input.Form.Splits(s.source.fsys, s.source.files, splitSize)
		if err != nil {
			return fmt.Errorf("look into the input: %w", err)
		}
		for _, split := range cut {
			select {
			case splits <- split:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	feeders := make([]*feeder, lanes)
	for i := range feeders {
		feeders[i] = s.newFeeder(sorter.Lane())
		group.Go(func() error { return feeders[i].run(ctx, splits) })
	}
	err := group.Wait()
	rows := &sortedRows{regions: make([]sortedRegion, s.target.regions.Len())}
	for _, f := range feeders {
		rows.read += f.records.read
		rows.times.add(f.records.times)
		for i := range rows.regions {
			rows.regions[i].add(&f.regions[i])
		}
	}
	return rows, err
}

// checkRows holds the number of records against input.empty and input.expect_rows.
func (s *sorting) checkRows(rows *sortedRows) error {
	in := s.job.Input
	switch {
	case rows.read == 0 && in.EmptyFails:
		return refusef("the input %s holds no record, and input.empty is fail", in.Path)
	case in.Rows >= 0 && rows.read < in.Rows:
		return refusef("the input %s holds %d records; input.expect_rows wants %d", in.Path, rows.read, in.Rows)
	case in.Rows >= 0 && rows.read > in.Rows && !in.RowsAtLeast:
		return refusef("the input %s holds %d records; input.expect_rows wants %d", in.Path, rows.read, in.Rows)
	}
	return nil
}

// feeder is one goroutine that reads splits into its lane of the sort.
type feeder struct {
	*sorting
	records recordReader
	lane    *partition.Lane
	regions []sortedRegion
}

func (s *sorting) newFeeder(lane *partition.Lane) *feeder {
	records := newRecordReader(s.job, s.source.fsys, s.rejects, s.meter)
	records.busy = lane.Busy
	return &feeder{sorting: s, records: records, lane: lane, regions: make([]sortedRegion, s.target.regions.Len())}
}

func (f *feeder) run(ctx context.Context, splits <-chan ingest.Split) error {
	for split := range splits {
		if err := f.readSplit(ctx, split); err != nil {
			return errors.Join(err, f.lane.Close())
		}
	}
	if err := f.lane.Close(); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	return ctx.Err()
}

func (f *feeder) readSplit(ctx context.Context, split ingest.Split) error {
	return f.records.readSplit(ctx, split, f.add)
}

// add moves one record into the sort.
func (f *feeder) add(r *ingest.Record) error {
	entry, err := f.records.appendKey(f.lane.Buffer(), r)
	if entry == nil {
		return err
	}
	row := entry
	region := &f.regions[f.target.regions.Find(row)]
	f.target.layout.digestFields(&region.digest, row, r.Fields, f.job.Timestamp)
	entry = f.target.layout.pack(entry, r.Fields)
	region.keys += int64(len(row))
	region.bytes += int64(len(entry))
	pos := partition.Position{File: uint32(r.File.Ordinal), Offset: r.Offset}
	if err := f.lane.Commit(entry, len(row), pos); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	return nil
}

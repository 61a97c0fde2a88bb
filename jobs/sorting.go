package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/keys"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

const (
	splitSize  = 32 << 20 // bytes of a file that one goroutine reads at a time
	checkEvery = 1024     // records between two looks at whether to stop
	maxRowLen  = 1<<15 - 1
	maxReason  = "row key has %d bytes; HBase takes 1 to 32767"
)

// sortedRows is the sorted input with its accounts.
type sortedRows struct {
	sorted   *partition.Sorted
	read     int64
	rejected int64
	digests  []digest.Sum // a region's records as they were read, duplicates too
}

// rejectSink takes the records that can't be used.
type rejectSink interface {
	Add(*ingest.BadRecord) error
	Count() int64
	Close(read int64) error
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
	s.meter = &meter{watch: o.Watch, phase: "sort", total: s.source.bytes}
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
		for _, split := range s.job.Input.Form.Splits(s.source.files, splitSize) {
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
	rows := &sortedRows{digests: make([]digest.Sum, s.target.regions.Len())}
	for _, f := range feeders {
		rows.read += f.read
		for i := range rows.digests {
			rows.digests[i].Add(f.digests[i])
		}
	}
	return rows, err
}

// checkRows holds the number of records against input.empty and input.expect_rows.
func (s *sorting) checkRows(rows *sortedRows) error {
	in := s.job.Input
	switch {
	case rows.read == 0 && in.EmptyFails:
		return refusef("the input %s holds no record, and input.empty is fail", s.source.where())
	case in.Rows >= 0 && rows.read < in.Rows:
		return refusef("the input %s holds %d records; input.expect_rows wants %d", s.source.where(), rows.read, in.Rows)
	case in.Rows >= 0 && rows.read > in.Rows && !in.RowsAtLeast:
		return refusef("the input %s holds %d records; input.expect_rows wants %d", s.source.where(), rows.read, in.Rows)
	}
	return nil
}

// feeder is one goroutine that reads splits into its lane of the sort.
type feeder struct {
	*sorting
	lane    *partition.Lane
	read    int64
	digests []digest.Sum
}

func (s *sorting) newFeeder(lane *partition.Lane) *feeder {
	return &feeder{sorting: s, lane: lane, digests: make([]digest.Sum, s.target.regions.Len())}
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

func (f *feeder) readSplit(ctx context.Context, split ingest.Split) (err error) {
	r, err := f.job.Input.Form.Open(f.source.fsys, split)
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var told int64
	for n := 1; ; n++ {
		if err := f.readRecord(r); err != nil {
			f.meter.add(r.Bytes() - told)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if n%checkEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.meter.add(r.Bytes() - told)
			told = r.Bytes()
		}
	}
}

// readRecord moves one record into the sort, or among the rejects.
func (f *feeder) readRecord(r *ingest.Reader) error {
	record, err := r.Next()
	if err == nil {
		f.read++
		return f.add(record)
	}
	var bad *ingest.BadRecord
	if !errors.As(err, &bad) {
		return err
	}
	f.read++
	return f.rejects.Add(bad)
}

func (f *feeder) add(r *ingest.Record) error {
	if bad := f.checkWidths(r); bad != nil {
		return f.rejects.Add(bad)
	}
	entry, err := f.job.RowKey.Append(f.lane.Buffer(), r.Fields)
	if err == nil && (len(entry) == 0 || len(entry) > maxRowLen) {
		err = &keys.ValueError{Column: -1, Reason: fmt.Sprintf(maxReason, len(entry))}
	}
	if err != nil {
		return f.rejectKey(r, err)
	}
	row := entry
	f.target.layout.digestFields(&f.digests[f.target.regions.Find(row)], row, r.Fields, f.job.Timestamp)
	entry = f.target.layout.pack(entry, r.Fields)
	pos := partition.Position{File: uint32(r.File.Ordinal), Offset: r.Offset}
	if err := f.lane.Commit(entry, len(row), pos); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	return nil
}

// checkWidths holds values against declared widths.
func (f *feeder) checkWidths(r *ingest.Record) *ingest.BadRecord {
	for i := range f.job.Columns {
		if w := f.job.Columns[i].Width; w > 0 && r.Fields[i] != nil && len(r.Fields[i]) != w {
			return &ingest.BadRecord{Position: r.Position, Column: f.job.Columns[i].Name, Raw: r.Raw,
				Reason: fmt.Sprintf("%d bytes, declared width %d", len(r.Fields[i]), w)}
		}
	}
	return nil
}

func (f *feeder) rejectKey(r *ingest.Record, err error) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s, byte %d: %w", r.File.Path, r.Offset, err)
	}
	bad := &ingest.BadRecord{Position: r.Position, Reason: value.Reason, Raw: r.Raw}
	if value.Column >= 0 && value.Column < len(f.job.Columns) {
		bad.Column = f.job.Columns[value.Column].Name
	}
	return f.rejects.Add(bad)
}

func (s *source) where() string { return s.job.Input.Path }

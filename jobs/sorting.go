package jobs

import (
	"context"
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/jobs/books"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/progress"
	"bulkload/jobs/timing"
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
	filtered int64
	regions  []books.Region
	files    books.Contents // of the input
	times    timing.ReadTimes
}

// sorting is the stage from input files to sorted rows, of all outputs that are fed from one reading.
type sorting struct {
	input   *jobfile.Input
	source  *source
	outputs []sortOutput
	rejects rejectSink
	splits  []ingest.Split // of the input
	keeper  *keeper        // nil: spilled runs go with the process
	meter   *progress.Meter
}

// sortOutput is one output of the reading.
type sortOutput struct {
	job    *jobfile.Job
	target *target // nil: no rows are wanted; its key only has a say in which records are rejected
	sorter *partition.Sorter
}

// regions is their number; 0 where no rows are wanted.
func (o *sortOutput) regions() int {
	if o.target == nil {
		return 0
	}
	return o.target.regions.Len()
}

// sortRows reads, builds keys and sorts, on all cores. It gives an output's rows each, nil for one without a target; on
// failure none but the numbers. The rejects are closed in any case.
func (s *sorting) sortRows(ctx context.Context, o options.Options) ([]*sortedRows, error) {
	lanes := parallel.Workers()
	if err := s.beginSorts(o, lanes); err != nil {
		return nil, fmt.Errorf("begin the sort: %w", errors.Join(err, s.discard(), s.rejects.Close(0)))
	}
	s.meter = progress.NewMeter(o.Watch, "sort", s.source.bytes, true)
	rows, err := s.addAll(ctx, lanes)
	err = s.closeRejects(err, rows[0].read)
	for _, r := range rows {
		r.rejected = s.rejects.Count()
	}
	if err == nil {
		err = s.checkRows(rows[0].read)
	}
	if err != nil {
		return rows, errors.Join(err, s.discard())
	}
	for i, out := range s.outputs {
		if out.sorter == nil {
			rows[i] = nil
		} else if rows[i].sorted, err = out.sorter.Sort(ctx); err != nil {
			return rows, fmt.Errorf("sort: %w", errors.Join(err, s.discard()))
		}
	}
	return rows, nil
}

// beginSorts makes a sort for every output that wants rows. They share the memory by the number of their cells, which
// about says how many bytes come together.
func (s *sorting) beginSorts(o options.Options, lanes int) error {
	var all int64
	for i := range s.outputs {
		all += s.outputs[i].weight()
	}
	for i := range s.outputs {
		out := &s.outputs[i]
		if out.target == nil {
			continue
		}
		options := partition.Options{Regions: out.target.sorted, Memory: sortMemory(o.Memory) * out.weight() / all, WorkDir: o.WorkDir, Lanes: lanes,
			Plain: plainSpill(o.WorkDir, s.source.text) * out.weight() / all}
		if s.keeper != nil {
			options.Kept = s.keeper.kept(i)
		}
		var err error
		if out.sorter, err = partition.NewSorter(options); err != nil {
			return err
		}
	}
	return nil
}

// weight is an output's part of the memory: its cells, and about as much as three of them for a row's key.
func (o *sortOutput) weight() int64 {
	if o.target == nil {
		return 0
	}
	return int64(len(o.target.layout.sources)) + 3
}

// discard ends the sorts of a reading that failed.
func (s *sorting) discard() error {
	var errs []error
	for _, out := range s.outputs {
		if out.sorter != nil {
			errs = append(errs, out.sorter.Discard())
		}
	}
	return errors.Join(errs...)
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

// cutInput is the list of the splits that are read side by side.
func cutInput(in *jobfile.Input, source *source) ([]ingest.Split, error) {
	splits, err := in.Form.Splits(source.fsys, source.files, splitSize)
	if err != nil {
		return nil, fmt.Errorf("look into the input: %w", err)
	}
	return splits, nil
}

// addAll feeds the sorts from what is left of the input to be read.
func (s *sorting) addAll(ctx context.Context, lanes int) ([]*sortedRows, error) {
	feeders := make([]*feeder, lanes)
	for i := range feeders {
		feeders[i] = s.newFeeder(i)
	}
	pieces, err := s.left()
	if err == nil {
		err = feedAll(ctx, feeders, pieces)
	}
	if err == nil {
		err = s.endAll(feeders)
	}
	for _, f := range feeders {
		err = errors.Join(err, f.checkpoints.rejects.close())
	}
	return s.addUp(feeders), err
}

// left is what earlier processes have not sorted. Their rejects are taken over.
func (s *sorting) left() ([]piece, error) {
	if s.keeper == nil {
		return newKeptState(nil).pieces(s.splits), nil
	}
	state := s.keeper.state
	_, whole := state.bytes()
	s.meter.Add(whole)
	for _, span := range state.rejects {
		if err := s.keeper.replay(span, s.rejects); err != nil {
			return nil, err
		}
	}
	return state.pieces(s.splits), nil
}

// feedAll reads the pieces side by side.
func feedAll(ctx context.Context, feeders []*feeder, pieces []piece) error {
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan piece)
	group.Go(func() error {
		defer close(next)
		for _, p := range pieces {
			select {
			case next <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for _, f := range feeders {
		group.Go(func() error { return f.run(ctx, next) })
	}
	return group.Wait()
}

// endAll ends the feeding of the sorts: what is still in memory stays there if it can.
func (s *sorting) endAll(feeders []*feeder) error {
	fits := true
	for _, out := range s.outputs {
		fits = fits && (out.sorter == nil || out.sorter.Fits())
	}
	var group errgroup.Group
	for _, f := range feeders {
		group.Go(func() error {
			if s.keeper != nil && !fits {
				if err := f.checkpoint(); err != nil {
					return err
				}
			}
			return f.close()
		})
	}
	return group.Wait()
}

// addUp gathers what the goroutines have counted, and earlier processes.
func (s *sorting) addUp(feeders []*feeder) []*sortedRows {
	all := make([]*sortedRows, len(s.outputs))
	for i := range s.outputs {
		rows := &sortedRows{regions: make([]books.Region, s.outputs[i].regions()), files: books.Contents{}}
		for _, f := range feeders {
			rows.read += f.records.read
			rows.filtered += f.outputs[i].filtered
			rows.times.Add(f.records.times)
			rows.files.Add(f.outputs[i].kept)
			rows.files.Add(f.outputs[i].files)
			for k := range rows.regions {
				rows.regions[k].Add(&f.outputs[i].regions[k])
			}
		}
		if s.keeper != nil {
			rows.read += s.keeper.state.read
			rows.filtered += s.keeper.state.outputs[i].filtered
			rows.files.Add(s.keeper.state.outputs[i].files)
			for k := range rows.regions {
				rows.regions[k].Add(&s.keeper.state.outputs[i].regions[k])
			}
		}
		all[i] = rows
	}
	return all
}

// rowsError says that the input does not hold as many records as the job wants. What was sorted of it is good.
type rowsError struct{ error }

func (e *rowsError) Unwrap() error { return e.error }

// checkRows holds the number of records against input.empty and input.expect_rows. The error is a *rowsError.
func (s *sorting) checkRows(read int64) error {
	if err := checkRows(s.input, read); err != nil {
		return &rowsError{err}
	}
	return nil
}

func checkRows(in *jobfile.Input, read int64) error {
	switch {
	case read == 0 && in.EmptyFails:
		return failure.Refusef("the input %s holds no record, and input.empty is fail", in.Path)
	case in.RowsAtLeast && read < in.Rows:
		return failure.Refusef("the input %s holds %d records; input.expect_rows wants at least %d", in.Path, read, in.Rows)
	case in.Rows >= 0 && read != in.Rows && !in.RowsAtLeast:
		return failure.Refusef("the input %s holds %d records; input.expect_rows wants %d", in.Path, read, in.Rows)
	}
	return nil
}

// Package sorting is the stage from input files to sorted rows: it reads, builds keys and sorts on all cores. It knows neither the
// run nor where the files go.
package sorting

import (
	"context"
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/jobs/books"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/entry"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/progress"
	"bulkload/jobs/source"
	"bulkload/jobs/target"
	"bulkload/jobs/timing"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// Rows is the sorted input with its accounts.
type Rows struct {
	Sorted   *partition.Sorted
	Read     int64
	Rejected int64
	Filtered int64
	Regions  []books.Region
	Files    books.Contents // of the input
	Times    timing.ReadTimes
}

// Stage is the stage from input files to sorted rows, of all outputs that are fed from one reading.
type Stage struct {
	Input   *jobfile.Input
	Source  *source.Source
	Outputs []Output
	Rejects entry.Rejects
	Splits  []ingest.Split     // of the input
	Keeper  *checkpoint.Keeper // nil: spilled runs go with the process
	meter   *progress.Meter
}

// Output is one output of the reading.
type Output struct {
	Job    *jobfile.Job
	Target *target.Target // nil: no rows are wanted; its key only has a say in which records are rejected
	sorter *partition.Sorter
}

// regions is their number; 0 where no rows are wanted.
func (o *Output) regions() int {
	if o.Target == nil {
		return 0
	}
	return o.Target.Regions.Len()
}

// Sort reads, builds keys and sorts, on all cores. It gives an output's rows each, nil for one without a target; on
// failure none but the numbers. The rejects are closed in any case.
func (s *Stage) Sort(ctx context.Context, o options.Options) ([]*Rows, error) {
	lanes := parallel.Workers()
	if err := s.beginSorts(o, lanes); err != nil {
		return nil, fmt.Errorf("begin the sort: %w", errors.Join(err, s.discard(), s.Rejects.Close(0)))
	}
	s.meter = progress.NewMeter(o.Watch, "sort", s.Source.Bytes, true)
	rows, err := s.addAll(ctx, lanes)
	err = s.closeRejects(err, rows[0].Read)
	for _, r := range rows {
		r.Rejected = s.Rejects.Count()
	}
	if err == nil {
		err = s.checkRows(rows[0].Read)
	}
	if err != nil {
		return rows, errors.Join(err, s.discard())
	}
	for i, out := range s.Outputs {
		if out.sorter == nil {
			rows[i] = nil
		} else if rows[i].Sorted, err = out.sorter.Sort(ctx); err != nil {
			return rows, fmt.Errorf("sort: %w", errors.Join(err, s.discard()))
		}
	}
	return rows, nil
}

// beginSorts makes a sort for every output that wants rows. They share the memory by the number of their cells, which
// about says how many bytes come together.
func (s *Stage) beginSorts(o options.Options, lanes int) error {
	var all int64
	for i := range s.Outputs {
		all += s.Outputs[i].weight()
	}
	for i := range s.Outputs {
		out := &s.Outputs[i]
		if out.Target == nil {
			continue
		}
		po := partition.Options{Regions: out.Target.Sorted, Memory: SortMemory(o.Memory) * out.weight() / all, WorkDir: o.WorkDir, Lanes: lanes,
			Plain: PlainSpill(o.WorkDir, s.Source.Text) * out.weight() / all}
		if s.Keeper != nil {
			po.Kept = s.Keeper.Kept(i)
		}
		var err error
		if out.sorter, err = partition.NewSorter(po); err != nil {
			return err
		}
	}
	return nil
}

// weight is an output's part of the memory: its cells, and about as much as three of them for a row's key.
func (o *Output) weight() int64 {
	if o.Target == nil {
		return 0
	}
	return int64(len(o.Target.Layout.Sources)) + 3
}

// discard ends the sorts of a reading that failed.
func (s *Stage) discard() error {
	var errs []error
	for _, out := range s.Outputs {
		if out.sorter != nil {
			errs = append(errs, out.sorter.Discard())
		}
	}
	return errors.Join(errs...)
}

// closeRejects finishes the reject files after reading, which may have failed.
func (s *Stage) closeRejects(err error, read int64) error {
	if err == nil {
		return s.Rejects.Close(read)
	}
	closing := s.Rejects.Close(0)
	var limit *ingest.LimitError
	if errors.As(closing, &limit) {
		return err // which says so already, or says more
	}
	return errors.Join(err, closing)
}

// SortMemory is the sort's part of the budget; the rest is for read buffers, open writers, blocks being verified and
// what the collector has not taken yet.
func SortMemory(budget int64) int64 { return budget / 8 * 5 }

// addAll feeds the sorts from what is left of the input to be read.
func (s *Stage) addAll(ctx context.Context, lanes int) ([]*Rows, error) {
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
		err = errors.Join(err, f.checkpoints.rejects.CloseFile())
	}
	return s.addUp(feeders), err
}

// left is what earlier processes have not sorted. Their rejects are taken over.
func (s *Stage) left() ([]checkpoint.Piece, error) {
	if s.Keeper == nil {
		return checkpoint.NewState(nil).Pieces(s.Splits), nil
	}
	state := s.Keeper.State
	_, whole := state.Bytes()
	s.meter.Add(whole)
	for _, span := range state.Rejects {
		if err := s.Keeper.Replay(span, s.Rejects); err != nil {
			return nil, err
		}
	}
	return state.Pieces(s.Splits), nil
}

// feedAll reads the pieces side by side.
func feedAll(ctx context.Context, feeders []*feeder, pieces []checkpoint.Piece) error {
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan checkpoint.Piece)
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
func (s *Stage) endAll(feeders []*feeder) error {
	fits := true
	for _, out := range s.Outputs {
		fits = fits && (out.sorter == nil || out.sorter.Fits())
	}
	var group errgroup.Group
	for _, f := range feeders {
		group.Go(func() error {
			if s.Keeper != nil && !fits {
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
func (s *Stage) addUp(feeders []*feeder) []*Rows {
	all := make([]*Rows, len(s.Outputs))
	for i := range s.Outputs {
		rows := &Rows{Regions: make([]books.Region, s.Outputs[i].regions()), Files: books.Contents{}}
		for _, f := range feeders {
			rows.Read += f.records.Read
			rows.Filtered += f.outputs[i].filtered
			rows.Times.Add(f.records.Times)
			rows.Files.Add(f.outputs[i].kept)
			rows.Files.Add(f.outputs[i].files)
			for k := range rows.Regions {
				rows.Regions[k].Add(&f.outputs[i].regions[k])
			}
		}
		if s.Keeper != nil {
			rows.Read += s.Keeper.State.Read
			rows.Filtered += s.Keeper.State.Outputs[i].Filtered
			rows.Files.Add(s.Keeper.State.Outputs[i].Files)
			for k := range rows.Regions {
				rows.Regions[k].Add(&s.Keeper.State.Outputs[i].Regions[k])
			}
		}
		all[i] = rows
	}
	return all
}

// RowsError says that the input does not hold as many records as the job wants. What was sorted of it is good.
type RowsError struct{ error }

// Unwrap is the error that says how many records there are.
func (e *RowsError) Unwrap() error { return e.error }

// checkRows compares the number of records with input.empty and input.expect_rows. The error is a *RowsError.
func (s *Stage) checkRows(read int64) error {
	if err := errors.Join(CheckEmpty(s.Input, read), checkCount(s.Input, read)); err != nil {
		return &RowsError{err}
	}
	return nil
}

// CheckEmpty refuses an input of no records where input.empty is fail.
func CheckEmpty(in *jobfile.Input, read int64) error {
	if read == 0 && in.EmptyFails {
		return errcode.InputEmpty.Errorf("the input %s has no records, and input.empty is fail", in.Path)
	}
	return nil
}

func checkCount(in *jobfile.Input, read int64) error {
	switch {
	case in.RowsAtLeast && read < in.Rows:
		return errcode.InputRows.Errorf("the input %s has %d records; input.expect_rows asks for at least %d", in.Path, read, in.Rows)
	case in.Rows >= 0 && read != in.Rows && !in.RowsAtLeast:
		return errcode.InputRows.Errorf("the input %s has %d records; input.expect_rows asks for %d", in.Path, read, in.Rows)
	}
	return nil
}

// CloseRows frees the rows that are not written yet.
func CloseRows(all []*Rows) error {
	var errs []error
	for _, rows := range all {
		if rows != nil {
			errs = append(errs, rows.Sorted.Close())
		}
	}
	return errors.Join(errs...)
}

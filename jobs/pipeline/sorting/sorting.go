// Package sorting is the stage from input files to sorted rows: it reads, builds keys and sorts on all cores. It knows
// neither the run nor the place of the files.
package sorting

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// Rows is the sorted input with its counts.
type Rows struct {
	Sorted   *partition.Sorted
	Read     int64
	Rejected int64
	Filtered int64
	Skipped  int64 // lines that are not records
	Regions  []counts.RegionCounts
	Files    counts.Contents // of the input
	Times    timing.ReadTimes
	Memory   int64 // the --memory with which nothing would have been spilled; 0: nothing was
}

// SortStage is the stage from input files to sorted rows, for all outputs of one reading.
type SortStage struct {
	Input       *jobfile.Input
	Source      *source.Source
	Outputs     []SortOutput
	Rejects     entry.RejectSink
	Splits      []ingest.Split       // of the input
	Checkpoints *checkpoint.RunStore // nil: spilled runs end with the process
	Part        bool                 // Splits are a part of the input: the caller checks the number of records
	meter       *options.Meter
	ended       []checkpoint.EndedSplit
}

// Ended returns, after Sort, the splits that were read to their ends, with their indexes, in any order. The stage must
// have no checkpoints.
func (s *SortStage) Ended() []checkpoint.EndedSplit { return s.ended }

// SortOutput is one output of the reading.
type SortOutput struct {
	Job *jobfile.Job
	// Target is nil if the output is already written. Its key is still built, because a record that one output rejects
	// is rejected by all.
	Target *targets.Target
	sorter *partition.Sorter
}

// regions returns the number of regions; 0 if no rows are needed.
func (o *SortOutput) regions() int {
	if o.Target == nil {
		return 0
	}
	return o.Target.Regions.Len()
}

// Sort reads, builds keys and sorts, on all cores. It returns the rows of each output (nil without a target), or only
// the counts if it fails. It always closes the rejects.
func (s *SortStage) Sort(ctx context.Context, o options.Options) ([]*Rows, error) {
	workers := parallel.Workers()
	warnOfMemory(o)
	if err := s.newSorters(o, workers); err != nil {
		return nil, fmt.Errorf("begin the sort: %w", errors.Join(err, s.discard(), s.Rejects.Close(0)))
	}
	s.meter = options.NewMeter(o.Watch, "sort", s.Source.Bytes, true)
	rows, err := s.readAll(ctx, workers)
	err = CloseRejects(s.Rejects, err, rows[0].Read)
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
			continue
		}
		if rows[i].Sorted, err = out.sorter.Sort(ctx); err != nil {
			return rows, fmt.Errorf("sort: %w", errors.Join(err, s.discard()))
		}
		if needs := rows[i].Sorted.Stats().Needs; needs > 0 {
			rows[i].Memory = MemoryFor(needs, out.weight(), s.weight()) * int64(max(o.Side, 1))
		}
	}
	return rows, nil
}

// newSorters makes a sort for every output that needs rows. They share the memory by the number of their cells, which
// roughly predicts their bytes.
func (s *SortStage) newSorters(o options.Options, shards int) error {
	all := s.weight()
	for i := range s.Outputs {
		out := &s.Outputs[i]
		if out.Target == nil {
			continue
		}
		po := partition.SortOptions{Regions: out.Target.Sorted, Memory: SortMemory(o.Memory) * out.weight() / all,
			WorkDir: o.WorkDir, Shards: shards,
			Uncompressed: UncompressedSpill(o, s.Source.Text) * out.weight() / all}
		if s.Checkpoints != nil {
			po.Persistent = s.Checkpoints.PersistentRuns(i)
		}
		var err error
		if out.sorter, err = partition.NewSorter(po); err != nil {
			return err
		}
	}
	return nil
}

// weight returns the sum of the outputs' weights.
func (s *SortStage) weight() (all int64) {
	for i := range s.Outputs {
		all += s.Outputs[i].weight()
	}
	return all
}

// weight returns Weight, or 0 for an output that needs no rows.
func (o *SortOutput) weight() int64 {
	if o.Target == nil {
		return 0
	}
	return Weight(o.Target)
}

// Weight is an output's share of the memory of all: its cells, plus the equivalent of three for a row's key.
func Weight(t *targets.Target) int64 { return int64(len(t.Layout.Sources)) + 3 }

// discard ends the sorts after reading failed. It also closes the runs of sorts that had already ended, which now
// belong to their rows.
func (s *SortStage) discard() error {
	var errs []error
	for _, out := range s.Outputs {
		if out.sorter != nil {
			errs = append(errs, out.sorter.Discard())
		}
	}
	return errors.Join(errs...)
}

// CloseRejects completes the reject files after reading, which may have failed.
func CloseRejects(rejects entry.RejectSink, failed error, read int64) error {
	if failed == nil {
		return rejects.Close(read)
	}
	closing := rejects.Close(0)
	var limit *ingest.LimitError
	if errors.As(closing, &limit) {
		return failed // it already reports the limit, or more than that
	}
	return errors.Join(failed, closing)
}

// SortMemory is the sort's part of the budget. The rest is for read buffers, open writers, blocks being verified, and
// garbage that is not collected yet.
func SortMemory(budget int64) int64 { return budget / 8 * 5 }

// MemoryFor returns a budget, in whole MiB, with which an output gets that many bytes for its sort, and hardly more.
// weight is its share of all.
func MemoryFor(need, weight, all int64) int64 {
	const unit = 1 << 20
	budget := math.Ceil(float64(need)*float64(all)/float64(weight)) * 8 / 5
	return int64(math.Ceil(budget/unit)+1) * unit
}

// readAll sorts the remaining input.
func (s *SortStage) readAll(ctx context.Context, n int) ([]*Rows, error) {
	workers := make([]*sortWorker, n)
	for i := range workers {
		workers[i] = s.newSortWorker(i)
	}
	pieces, err := s.remainingPieces()
	if err == nil {
		err = parallel.ShareThen(ctx, workers, pieces,
			func(ctx context.Context, f *sortWorker, p checkpoint.Piece) error { return f.read(ctx, p) }, (*sortWorker).sort)
	}
	if err == nil {
		err = s.Source.CheckEmptyFiles()
	}
	if err == nil {
		err = s.finishShards(workers)
	}
	for _, f := range workers {
		s.ended = append(s.ended, f.checkpointer.ended...)
		err = errors.Join(err, f.checkpointer.rejects.CloseFile())
	}
	return s.totals(workers), err
}

// remainingPieces returns the input that earlier processes have not sorted. It replays their rejects, because the input
// before a checkpoint is not read again.
func (s *SortStage) remainingPieces() ([]checkpoint.Piece, error) {
	if s.Checkpoints == nil {
		return checkpoint.NewResumeState(nil).Pieces(s.Splits), nil
	}
	state := s.Checkpoints.State
	_, whole := state.Bytes()
	s.meter.Add(whole)
	for _, span := range state.Rejects {
		if err := s.Checkpoints.Replay(span, s.Rejects); err != nil {
			return nil, err
		}
	}
	return state.Pieces(s.Splits), nil
}

// finishShards ends the reading. If all rows fit in memory, they stay there. Otherwise the rest becomes a checkpoint,
// so that after a kill during the write stage nothing is read again.
func (s *SortStage) finishShards(workers []*sortWorker) error {
	fits := true
	for _, out := range s.Outputs {
		fits = fits && (out.sorter == nil || out.sorter.CanMerge())
	}
	var group errgroup.Group
	for _, f := range workers {
		group.Go(func() error {
			// Each worker makes its last checkpoint itself: its counts and its shards belong to its goroutine.
			if s.Checkpoints != nil && !fits {
				if err := f.checkpoint(); err != nil {
					return err
				}
			}
			return f.close()
		})
	}
	return group.Wait()
}

// totals adds up the counts of the goroutines and of earlier processes.
func (s *SortStage) totals(workers []*sortWorker) []*Rows {
	all := make([]*Rows, len(s.Outputs))
	for i := range s.Outputs {
		rows := &Rows{Regions: make([]counts.RegionCounts, s.Outputs[i].regions()), Files: counts.Contents{}}
		for _, f := range workers {
			rows.Read += f.records.Read
			rows.Skipped += f.records.Skipped
			rows.Filtered += f.outputs[i].filtered
			rows.Times.Add(f.records.Times)
			rows.Files.Add(f.outputs[i].checkpointed)
			rows.Files.Add(f.outputs[i].files)
			for k := range rows.Regions {
				rows.Regions[k].Add(&f.outputs[i].regions[k])
			}
		}
		if s.Checkpoints != nil {
			// Counts of this process and of earlier ones are disjoint: a checkpoint's records are never read again.
			rows.Read += s.Checkpoints.State.Read
			rows.Skipped += s.Checkpoints.State.Skipped
			rows.Filtered += s.Checkpoints.State.Outputs[i].Filtered
			rows.Files.Add(s.Checkpoints.State.Outputs[i].Files)
			for k := range rows.Regions {
				rows.Regions[k].Add(&s.Checkpoints.State.Outputs[i].Regions[k])
			}
		}
		all[i] = rows
	}
	return all
}

// RowsError means that the input does not have as many records as the job expects. The sorted rows are valid.
type RowsError struct{ error }

// Unwrap returns the error that says how many records there are.
func (e *RowsError) Unwrap() error { return e.error }

// checkRows compares the number of records with input.empty and input.expect_rows. The error is a *RowsError.
func (s *SortStage) checkRows(read int64) error {
	if s.Part {
		return nil
	}
	return CheckRows(s.Input, read)
}

// CheckRows compares the number of records, of one stage or of several together, with input.empty and
// input.expect_rows. The error is a *RowsError.
func CheckRows(in *jobfile.Input, read int64) error {
	if err := errors.Join(CheckEmpty(in, read), checkCount(in, read)); err != nil {
		return &RowsError{err}
	}
	return nil
}

// CheckEmpty refuses an input without records if input.empty is fail.
func CheckEmpty(in *jobfile.Input, read int64) error {
	if read == 0 && in.EmptyFails {
		return errcode.InputRows.Errorf("the input %s has no records, and input.empty is fail", in.Path)
	}
	return nil
}

func checkCount(in *jobfile.Input, read int64) error {
	switch {
	case in.RowsAtLeast && read < in.Rows:
		return errcode.InputRows.Errorf("the input %s has %d records; input.expect_rows asks for at least %d",
			in.Path, read, in.Rows)
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

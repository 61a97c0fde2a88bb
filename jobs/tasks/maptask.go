package tasks

import (
	"context"
	"strconv"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/partition"
)

// mapResult says what a map task has done, as a line of a journal would.
type mapResult struct {
	identity
	checkpoint.Checkpoint
	Log   *rejectLog       `json:"log,omitempty"` // nil: no rejects
	Times timing.ReadTimes `json:"times"`
}

// Map does a map task of a plan: it sorts the task's splits, and leaves a sorted run for each output and the task's
// result. document is the plan's path or URI, or the run's first output. The error has errcode.Command if the plan has
// no such task.
func Map(ctx context.Context, document string, task int, o options.Options) error {
	o, err := o.WithDefaults()
	if err != nil {
		return err
	}
	p := new(Plan)
	text, err := open(document, planName, o, p)
	if err != nil {
		return err
	}
	w, err := newPlanned(p, textID(text), o)
	if err != nil {
		return err
	}
	defer w.close()
	if task < 0 || task >= len(p.Pieces) {
		return errcode.Command.Errorf("the plan has the map tasks 0 to %d, and no task %d", len(p.Pieces)-1, task)
	}
	a := w.newAttempt(MapPhase, task)
	var runs []folder
	for i, t := range w.targets {
		if t != nil {
			runs = append(runs, a.runFolder(i))
		}
	}
	return a.do(ctx, func(ctx context.Context) (any, error) { return w.sortPiece(ctx, a) }, runs...)
}

// sortPiece sorts the splits of a map task. Their files must be unchanged since the plan was made.
func (w *planned) sortPiece(ctx context.Context, a *attempt) (*mapResult, error) {
	first, splits := w.plan.splitsOf(a.Task, w.source.Files)
	if err := w.checkFiles(splits); err != nil {
		return nil, err
	}
	a.rejects = newRejectSink(a.folder, w.job.Input.MaxRejects)
	s := sorting.SortStage{Input: &w.job.Input, Source: w.source, Splits: splits, Rejects: a.rejects, Part: true}
	for i, out := range w.feeds() {
		s.Outputs = append(s.Outputs, sorting.SortOutput{Job: out, Target: w.targets[i]})
	}
	rows, err := s.Sort(ctx, w.options)
	if err != nil {
		return nil, err
	}
	result := &mapResult{identity: a.identity, Log: a.rejects.log()}
	result.Ended = s.Ended()
	for i := range result.Ended {
		result.Ended[i].Split += first
	}
	err = w.leaveRuns(ctx, a, rows, result)
	if closed := sorting.CloseRows(rows); err == nil {
		err = closed
	}
	return result, err
}

// leaveRuns writes the rows of each output as a sorted run, and adds the runs to the result.
func (w *planned) leaveRuns(ctx context.Context, a *attempt, all []*sorting.Rows, result *mapResult) error {
	for i, rows := range all {
		if rows == nil {
			continue
		}
		result.Read, result.Skipped, result.Times = rows.Read, rows.Skipped, rows.Times
		share := checkpoint.RunShare{Output: i, Filtered: rows.Filtered, Files: checkpoint.FileShares(rows.Files),
			Regions: checkpoint.SharesSince(make([]counts.RegionCounts, len(rows.Regions)), rows.Regions)}
		if rows.Sorted.Stats().Entries > 0 {
			err := storage.Rewrite(ctx, func() (err error) {
				share.Run, err = rows.Sorted.WriteRun(ctx, a.runs(i), runName)
				return err
			}, func(err error) { w.options.Warnf("writing the sorted run again: %v", err) })
			if err != nil {
				return err
			}
		}
		result.Shares = append(result.Shares, share)
	}
	return nil
}

// runFolder returns the folder of an attempt's sorted run for an output.
func (f folder) runFolder(output int) folder { return f.sub(strconv.Itoa(output)) }

// runs returns the store of an attempt's sorted runs for an output.
func (f folder) runs(output int) partition.Store { return f.runsFor(output, nil) }

// runsFor is runs, but with the number of readers that each run will have at a time: see store.
func (f folder) runsFor(output int, readers *int) partition.Store {
	return store{f.runFolder(output), readers}
}

package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/partition"
)

// mapShare is the share of the map tasks in the progress of both phases.
const mapShare = 0.5

// Map has the engine run the map tasks that are not done yet, and gathers the results of all. If another scheduler must
// run them, the error is a *Pending. Without an error all input is read and sorted.
func (w *Work) Map(ctx context.Context) error {
	var past priorAttempts
	for asked := false; ; {
		found, err := w.mapResults()
		if err != nil {
			return err
		}
		sound := make([]*mapResult, len(w.plan.Pieces))
		err = sideBySide(len(sound), func(task int) (err error) {
			sound[task], err = w.soundRuns(task, found[task])
			return err
		})
		if err != nil {
			return err
		}
		var missing []int
		for task, a := range sound {
			if a == nil {
				missing = append(missing, task)
			}
		}
		if w.submits(MapPhase) {
			return &Pending{w.phase(MapPhase, planName, missing, 0, mapShare)}
		}
		if len(missing) == 0 {
			return w.gather(sound)
		}
		if asked {
			return w.diagnose(MapPhase, missing, nil, past)
		}
		past = w.priorAttempts(MapPhase, missing)
		if asked, err = w.ask(ctx, w.phase(MapPhase, planName, missing, 0, mapShare), past, w.undoneMaps); err != nil {
			return err
		}
	}
}

// ask has the engine run tasks. past has the earlier attempts at them. asked is false if the engine has only waited for
// the tasks of an earlier process.
func (w *Work) ask(ctx context.Context, p Phase, past priorAttempts,
	undone func() ([]int, error)) (asked bool, err error) {
	err = w.engine.Run(ctx, p)
	switch {
	case errors.Is(err, ErrAgain):
		return false, ctx.Err()
	case err != nil:
		err = w.failed(ctx, p.Name, err, past, undone)
	}
	return true, err
}

// mapResults returns the results of all map tasks.
func (w *Work) mapResults() (map[int][]*mapResult, error) {
	return readResults(w, MapPhase, func() *mapResult { return new(mapResult) })
}

// undoneMaps lists the map tasks without a result.
func (w *Work) undoneMaps() ([]int, error) {
	found, err := w.mapResults()
	var missing []int
	for task := range w.plan.Pieces {
		if len(found[task]) == 0 {
			missing = append(missing, task)
		}
	}
	return missing, err
}

// failed returns the error for an engine that failed; nil if all tasks are done nevertheless.
func (w *Work) failed(ctx context.Context, phase string, engine error, past priorAttempts,
	undone func() ([]int, error)) error {
	if ctx.Err() != nil {
		return engine
	}
	missing, err := undone()
	if err != nil {
		return errors.Join(engine, err)
	}
	if len(missing) == 0 {
		w.options.Warnf("all %s tasks are done, though their engine says: %v", phase, engine)
		return nil
	}
	return w.diagnose(phase, missing, engine, past)
}

// soundRuns returns the first result whose runs exist unchanged; nil if there is none. It deletes results whose runs
// are missing or changed, so that the task runs again. If no DataNode has a block, the task runs again, too, but the
// result stays, because the DataNode may come back.
func (w *Work) soundRuns(task int, all []*mapResult) (*mapResult, error) {
	for _, a := range all {
		err := w.checkRuns(a)
		if err == nil {
			return a, nil
		}
		lost := isLost(err)
		if cantRead(err) && !lost {
			return nil, fmt.Errorf("%v: %w", &a.identity, err)
		}
		w.options.Warnf("%v, is done again: %v", &a.identity, err)
		if lost {
			continue
		}
		at := w.home().sub(MapPhase, TaskFolder(task), a.Attempt)
		if err := at.fs.RemoveAll(at.dir); err != nil {
			w.options.Warnf("%s can't be deleted: %v", at.uri(""), err)
		}
	}
	return nil, nil
}

// cantRead reports whether an error says that a file could not be read, which says nothing about its content.
func cantRead(err error) bool {
	var of *fs.PathError
	return errors.As(err, &of) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrChecksum)
}

// isLost reports whether an error says that no DataNode has a block of a file, while the NameNode answers.
func isLost(err error) bool {
	return errors.Is(err, storage.ErrDataNode) ||
		errcode.Of(err, func(c errcode.Code) bool { return c == errcode.HDFSBlockMissing }) != ""
}

// checkRuns compares a result's runs and its log of rejects with the result.
func (w *Work) checkRuns(a *mapResult) error {
	at := w.home().sub(MapPhase, TaskFolder(a.Task), a.Attempt)
	for _, share := range a.Shares {
		if share.Output < 0 || share.Output >= len(w.outputs) {
			return fmt.Errorf("it names output %d of %d", share.Output, len(w.outputs))
		}
		if share.Run.Name == "" || w.outputs[share.Output].Target == nil {
			continue
		}
		if err := partition.CheckRun(at.runs(share.Output), share.Run,
			w.outputs[share.Output].Target.Regions.Len(), false); err != nil {
			return err
		}
	}
	if a.Log != nil {
		return a.Log.check(at)
	}
	return nil
}

// gather checks the results of all tasks against the plan: each split must have been read to its end once, by its task.
func (w *Work) gather(all []*mapResult) error {
	runs := make([][]mapRun, len(w.outputs))
	for task, a := range all {
		first, splits := w.plan.splitsOf(task, w.source.Files)
		ended := map[int]bool{}
		for _, e := range a.Ended {
			if e.Split < first || e.Split >= first+len(splits) || ended[e.Split] {
				return errcode.Digest.Errorf("%v, has read split %d, which is not its own, or twice", &a.identity, e.Split)
			}
			ended[e.Split] = true
		}
		if len(ended) != len(splits) {
			return errcode.Digest.Errorf("%v, has read %d of its %d splits", &a.identity, len(ended), len(splits))
		}
		for _, share := range a.Shares {
			if share.Run.Name != "" {
				runs[share.Output] = append(runs[share.Output], mapRun{task, a.Attempt, share.Run})
			}
		}
	}
	w.mapped, w.runs = all, runs
	return nil
}

// Rejects passes on the rejects of all map tasks, or, after Map has failed, of those that have left some. It returns
// the sink's error, or one that says that a log has changed.
func (w *Work) Rejects(sink entry.RejectSink) error {
	replay := func(task int, of *identity, log *rejectLog) error {
		if log == nil {
			return nil
		}
		return log.replay(w.home().sub(MapPhase, TaskFolder(task), of.Attempt), w.source, sink)
	}
	if w.mapped != nil {
		for task, a := range w.mapped {
			if err := replay(task, &a.identity, a.Log); err != nil {
				return err
			}
		}
		return nil
	}
	found, err := w.mapResults()
	for task := 0; err == nil && task < len(w.plan.Pieces); task++ {
		if report, _ := w.latestFailure(MapPhase, task, nil); len(found[task]) > 0 {
			err = replay(task, &found[task][0].identity, found[task][0].Log)
		} else if report != nil {
			err = replay(task, &report.identity, report.Log)
		}
	}
	return err
}

// Rows returns the sorted rows of each output, as a single process that reads all input would have them; nil for an
// output that needs none. rejected is the number of rejected records. Closing the rows does not delete their sorted
// runs.
func (w *Work) Rows(rejected int64) ([]*sorting.Rows, error) {
	regions := make([]int, len(w.plan.Outputs)) // number of each output's regions; 0 if it needs no rows
	for i, out := range w.plan.Outputs {
		if out.Target != nil {
			regions[i] = len(out.Target.Splits) + 1
		}
	}
	state := checkpoint.NewResumeState(regions)
	for i, a := range w.mapped {
		if err := state.Apply(checkpoint.Line{Checkpoint: &a.Checkpoint}, len(w.plan.Splits)); err != nil {
			return nil, errcode.Digest.Errorf("%v: %w", &w.mapped[i].identity, err)
		}
	}
	all := make([]*sorting.Rows, len(w.outputs))
	for i, out := range w.outputs {
		if out.Target == nil {
			continue
		}
		found := state.Outputs[i]
		rows := &sorting.Rows{Read: state.Read, Rejected: rejected, Filtered: found.Filtered, Skipped: state.Skipped,
			Regions: found.Regions, Files: found.Files}
		for _, a := range w.mapped {
			rows.Times.Add(&a.Times)
		}
		var err error
		if rows.Sorted, err = partition.OpenRuns(out.Target.Sorted, stored(w.home(), i, w.runs[i], nil)); err != nil {
			return nil, errors.Join(err, sorting.CloseRows(all))
		}
		all[i] = rows
		if sorted := rows.Sorted.Stats().Entries; sorted != rows.Read-rows.Rejected-rows.Filtered {
			return nil, errors.Join(errcode.Digest.Errorf(
				"the counts do not add up: %d rows read - %d rejected - %d filtered are not the %d that the tasks have sorted",
				rows.Read, rows.Rejected, rows.Filtered, sorted), sorting.CloseRows(all))
		}
	}
	return all, nil
}

// watch returns a function that passes on a phase's progress as progress of the run within [from, to].
func (w *Work) watch(name string, total int, from, to float64) func(done, running int) {
	watch := options.Within(w.options.Watch, from, to)
	if watch == nil {
		return func(int, int) {}
	}
	return func(done, _ int) {
		watch(options.Progress{Phase: name, Done: int64(done), Total: int64(total), Unit: "tasks",
			Whole: float64(done) / float64(max(total, 1))})
	}
}

// Read returns the number of records that all tasks have read, including rejected ones.
func (w *Work) Read() (n int64) {
	for _, a := range w.mapped {
		n += a.Checkpoint.Read
	}
	return n
}

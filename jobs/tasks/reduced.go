package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
)

// Reduce has the engine run reduce tasks for the slices that the stages lack, and passes the slices to the stages. all
// has an entry for each output; nil for an output that is written. If another scheduler must run the tasks, the error
// is a *Pending.
func (w *Work) Reduce(ctx context.Context, all []*writing.Stage) (err error) {
	r := &reduction{Work: w, all: all, left: make([][]sorting.SliceWork, len(all))}
	for i, stage := range all {
		if stage == nil {
			continue
		}
		if r.left[i], err = stage.Unfinished(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stage.Records.Flush()) }()
	}
	if r.submits(ReducePhase) {
		return r.handOver()
	}
	var ran *ReducePlan
	var past priorAttempts
	for asked := false; ; {
		if err := r.collect(); err != nil {
			return err
		}
		units := r.units()
		if len(units.Tasks) == 0 {
			return nil
		}
		if asked { // the slices left have other task indexes than those that ran
			missing, err := r.undone(ran, past)
			return errors.Join(err, r.diagnose(ReducePhase, missing, nil, past))
		}
		ran, past = units, r.priorAttempts(ReducePhase, allTasks(units))
		if asked, err = r.run(ctx, units, past); err != nil {
			return err
		}
	}
}

// reduction is the state of Work.Reduce.
type reduction struct {
	*Work
	all  []*writing.Stage
	left [][]sorting.SliceWork // for each output: the slices that are not accepted yet
}

// handOver writes the reduce plan for all slices that are not written yet. The memory of another scheduler's tasks is
// unknown, so if this command's --memory is too small for them, handOver only warns.
func (r *reduction) handOver() error {
	written, err := r.written()
	if err != nil {
		return err
	}
	for i, left := range r.left {
		r.left[i] = slices.DeleteFunc(left, func(s sorting.SliceWork) bool { return written[idOf(i, s)] != nil })
	}
	units := r.units()
	if err := r.checkMemory(units); err != nil {
		r.options.Warnf("the reduce tasks' own --memory is not known here. With this command's, %v", err)
	}
	if _, err := r.writeUnits(units); err != nil {
		return err
	}
	return &Pending{r.phase(ReducePhase, unitsName, allTasks(units), mapShare, 1)}
}

// checkMemory refuses reduce tasks that have too little memory to merge the runs of their output.
func (r *reduction) checkMemory(units *ReducePlan) error {
	for i, w := range r.all {
		if !slices.ContainsFunc(units.Tasks, func(t reduceTask) bool { return t.Output == i }) {
			continue
		}
		if _, err := slicesAtOnce(w.Rows.Sorted, r.home(), r.sizes.Memory); err != nil {
			return err
		}
	}
	return nil
}

// run has the engine run reduce tasks. The memory of another scheduler's tasks is unknown, so it is not checked.
func (r *reduction) run(ctx context.Context, units *ReducePlan, past priorAttempts) (asked bool, err error) {
	if r.external == nil {
		if err := r.checkMemory(units); err != nil {
			return false, err
		}
	}
	name, err := r.writeUnits(units)
	if err != nil {
		return false, err
	}
	return r.ask(ctx, r.phase(ReducePhase, name, allTasks(units), mapShare, 1), past,
		func() ([]int, error) { return r.undone(units, past) })
}

// undone lists the reduce tasks whose slices were not all written, and accepts the slices that were. It deletes sorted
// runs that tasks could not read, with their results, so that the next command runs their map tasks again.
func (r *reduction) undone(units *ReducePlan, past priorAttempts) ([]int, error) {
	if err := r.collect(); err != nil {
		return nil, err
	}
	left := map[sliceID]bool{}
	for i, missing := range r.left {
		for _, s := range missing {
			left[idOf(i, s)] = true
		}
	}
	var tasks []int
	for task, t := range units.Tasks {
		if slices.ContainsFunc(t.Slices, func(u sliceRef) bool { return left[u.id(t.Output)] }) {
			tasks = append(tasks, task)
			r.dropDamaged(task, past)
		}
	}
	return tasks, nil
}

// dropDamaged deletes a map attempt whose sorted run a reduce task could not read.
func (r *reduction) dropDamaged(task int, past priorAttempts) {
	report, _ := r.latestFailure(ReducePhase, task, past)
	if report == nil || report.Run == "" {
		return
	}
	for _, a := range r.mapped {
		at := r.home().sub(MapPhase, TaskFolder(a.Task), a.Attempt)
		if strings.HasPrefix(report.Run, at.uri("")+"/") {
			r.options.Warnf("%v, has left a run that can't be read; the same command does the task again", &a.identity)
			_ = at.fs.RemoveAll(at.dir) // if it stays, the next command fails with the same error
		}
	}
}

// writeUnits writes the reduce plan under a name that follows from its content, so that tasks that an engine still runs
// for an earlier process keep their document.
func (w *Work) writeUnits(units *ReducePlan) (name string, err error) {
	text, err := sealed(units)
	if err != nil {
		return "", err
	}
	name = fmt.Sprintf("units-%s.json", textID(text)[:12])
	if err := w.checkDocument(name, text); err != nil {
		return "", err
	}
	return name, errors.Join(w.home().writeText(name, text), w.home().writeText(unitsName, text))
}

// units returns the reduce plan for all slices that are left.
func (r *reduction) units() *ReducePlan {
	plan := *r.plan
	plan.Splits, plan.Pieces = nil, nil // only map tasks need them
	u := &ReducePlan{PlanID: r.id, Plan: &plan, Runs: r.runs}
	for i, w := range r.all {
		if w == nil {
			continue
		}
		u.Tasks = append(u.Tasks, reduceTasks(i, r.left[i], r.sizes.Task)...)
	}
	return u
}

// reduceTasks divides an output's slices among tasks of about size bytes.
func reduceTasks(output int, left []sorting.SliceWork, size int64) []reduceTask {
	first := cutBySize(left, size, func(s sorting.SliceWork) int64 { return s.Size })
	tasks := make([]reduceTask, len(first))
	for task, begin := range first {
		end := len(left)
		if task+1 < len(first) {
			end = first[task+1]
		}
		tasks[task].Output = output
		for _, s := range left[begin:end] {
			tasks[task].Slices = append(tasks[task].Slices, sliceRef{s.Region, s.Number, s.Slice.Start, s.End})
		}
	}
	return tasks
}

func allTasks(u *ReducePlan) []int {
	all := make([]int, len(u.Tasks))
	for i := range all {
		all[i] = i
	}
	return all
}

// written returns the slices that tasks have written, whose files all exist, and that no stage has accepted. The files
// of an accepted slice were moved away, perhaps only some of them, if a kill interrupted that.
func (r *reduction) written() (map[sliceID]*foundSlice, error) {
	found, err := readResults(r.Work, ReducePhase, func() *reduceResult { return new(reduceResult) })
	if err != nil {
		return nil, err
	}
	all := slices.Concat(slices.Collect(maps.Values(found))...)
	all = slices.DeleteFunc(all, func(a *reduceResult) bool { // results that contradict themselves
		return a.Output < 0 || a.Output >= len(r.folders) || len(a.Units) != len(a.Slices)
	})
	at := make([]folder, len(all))              // the folder of each result's files
	sizes := make([]map[string]int64, len(all)) // their lengths by name
	err = sideBySide(len(all), func(i int) (err error) {
		at[i] = r.folders[all[i].Output].sub(ReducePhase, TaskFolder(all[i].Task), all[i].Attempt)
		sizes[i], err = at[i].sizes()
		return err
	})
	written := map[sliceID]*foundSlice{}
	for i, a := range all {
		for k, s := range a.Slices {
			f := &foundSlice{writing.Finished{Record: s}, a}
			whole := true
			for _, file := range s.Files {
				name := path.Base(file.Path)
				size, exists := sizes[i][name]
				whole = whole && exists && size == file.Bytes
				f.Temps = append(f.Temps, at[i].path(name))
			}
			if whole {
				written[a.Units[k].id(a.Output)] = f
			}
		}
	}
	return written, err
}

// collect passes the slices that tasks have written to the stages.
func (r *reduction) collect() error {
	written, err := r.written()
	if err != nil {
		return err
	}
	for i := range r.left {
		if err := r.accept(i, written); err != nil {
			return err
		}
	}
	return nil
}

// sliceID identifies a slice by its position.
type sliceID struct {
	output, region, number int
	start, end             string
}

// idOf identifies a slice of an output.
func idOf(output int, s sorting.SliceWork) sliceID {
	return sliceID{output, s.Region, s.Number, string(s.Slice.Start), string(s.End)}
}

// id identifies a sliceRef in the same way.
func (u *sliceRef) id(output int) sliceID {
	return sliceID{output, u.Region, u.Number, string(u.Start), string(u.End)}
}

// foundSlice is a slice that a task has written.
type foundSlice struct {
	writing.Finished
	by *reduceResult
}

// accept passes the written slices of the i-th output to its stage, and keeps the rest in left.
func (r *reduction) accept(i int, written map[sliceID]*foundSlice) error {
	var left []sorting.SliceWork
	used := map[*reduceResult]bool{}
	for _, s := range r.left[i] {
		f := written[idOf(i, s)]
		if f == nil {
			left = append(left, s)
			continue
		}
		if err := r.all[i].Accept(&f.Finished); err != nil {
			return fmt.Errorf("%v: %w", &f.by.identity, err)
		}
		if !used[f.by] {
			used[f.by] = true
			r.all[i].AddReport(writing.WriteReport{Samples: f.by.Samples, Times: f.by.Times})
		}
	}
	r.left[i] = left
	return nil
}

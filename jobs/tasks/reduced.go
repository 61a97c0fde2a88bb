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
// has an entry for each output; nil for one that is written. If others are to run the tasks, the error is a
// *HandedOver.
func (m *Mapped) Reduce(ctx context.Context, all []*writing.Stage) (err error) {
	r := &reduction{Mapped: m, all: all, left: make([][]sorting.SliceWork, len(all))}
	for i, w := range all {
		if w == nil {
			continue
		}
		if r.left[i], err = w.Unfinished(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Records.Flush()) }()
	}
	if r.work.submits(ReducePhase) {
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
		if asked { // what is left has other indexes than what ran
			missing, err := r.undone(ran, past)
			return errors.Join(err, r.work.diagnose(ReducePhase, missing, nil, past))
		}
		ran, past = units, r.work.priorAttempts(ReducePhase, allTasks(units))
		if asked, err = r.run(ctx, units, past); err != nil {
			return err
		}
	}
}

// reduction is Mapped.Reduce at work.
type reduction struct {
	*Mapped
	all  []*writing.Stage
	left [][]sorting.SliceWork // for each output: the slices that are not accepted yet
}

// handOver writes the units of all slices that are not written yet. The memory of others' tasks is not known here, so
// too little is only a warning.
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
		r.work.options.Warnf("the reduce tasks have a --memory of their own, which is not known here. With this "+
			"command's, %v", err)
	}
	if _, err := r.work.writeUnits(units); err != nil {
		return err
	}
	return &Pending{r.work.phase(ReducePhase, unitsName, allTasks(units), mapShare, 1)}
}

// checkMemory refuses reduce tasks that have too little memory to merge the runs of their output.
func (r *reduction) checkMemory(units *ReducePlan) error {
	for i, w := range r.all {
		if !slices.ContainsFunc(units.Tasks, func(t reduceTask) bool { return t.Output == i }) {
			continue
		}
		if _, err := slicesAtOnce(w.Rows.Sorted, r.work.home(), r.work.sizes.Memory); err != nil {
			return err
		}
	}
	return nil
}

// run has reduce tasks done. Those of others have a memory that this process does not know.
func (r *reduction) run(ctx context.Context, units *ReducePlan, past priorAttempts) (asked bool, err error) {
	if r.work.others == nil {
		if err := r.checkMemory(units); err != nil {
			return false, err
		}
	}
	name, err := r.work.writeUnits(units)
	if err != nil {
		return false, err
	}
	return r.work.ask(ctx, r.work.phase(ReducePhase, name, allTasks(units), mapShare, 1), past,
		func() ([]int, error) { return r.undone(units, past) })
}

// undone lists the reduce tasks whose slices were not all written, and accepts those that were. Sorted runs that tasks
// could not read are deleted, with their results: the next command has their map tasks done again.
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

// dropDamaged deletes the map attempt that has left a run which a reduce task could not read.
func (r *reduction) dropDamaged(task int, past priorAttempts) {
	report, _ := r.work.latestFailure(ReducePhase, task, past)
	if report == nil || report.Run == "" {
		return
	}
	for _, a := range r.results {
		at := r.work.home().sub(MapPhase, TaskFolder(a.Task), a.Attempt)
		if strings.HasPrefix(report.Run, at.uri("")+"/") {
			r.work.options.Warnf("%v, has left a run that can't be read; the same command does the task again", &a.identity)
			_ = at.fs.RemoveAll(at.dir) // if it stays, the next command fails with the same words
		}
	}
}

// writeUnits writes the document of the reduce tasks, under a name that follows from its content: tasks that an engine
// still runs for an earlier process keep their document.
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

// units are the reduce tasks of all slices that are left.
func (r *reduction) units() *ReducePlan {
	plan := *r.work.plan
	plan.Splits, plan.Pieces = nil, nil // map tasks need them
	u := &ReducePlan{PlanID: r.work.id, Plan: &plan, Runs: r.runs}
	for i, w := range r.all {
		if w == nil {
			continue
		}
		u.Tasks = append(u.Tasks, reduceTasks(i, r.left[i], r.work.sizes.Task)...)
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

// written returns the slices that tasks have written, with all of their files, and no stage has accepted. The files of
// accepted slices were moved away, and a kill may have interrupted that.
func (r *reduction) written() (map[sliceID]*foundSlice, error) {
	found, err := readResults(r.work, ReducePhase, func() *reduceResult { return new(reduceResult) })
	if err != nil {
		return nil, err
	}
	all := slices.Concat(slices.Collect(maps.Values(found))...)
	all = slices.DeleteFunc(all, func(a *reduceResult) bool { // those that contradict themselves
		return a.Output < 0 || a.Output >= len(r.work.folders) || len(a.Units) != len(a.Slices)
	})
	at := make([]folder, len(all))              // of the files of each result
	sizes := make([]map[string]int64, len(all)) // of these files
	err = sideBySide(len(all), func(i int) (err error) {
		at[i] = r.work.folders[all[i].Output].sub(ReducePhase, TaskFolder(all[i].Task), all[i].Attempt)
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

// sliceID identifies a slice by where it is.
type sliceID struct {
	output, region, number int
	start, end             string
}

// idOf identifies a slice of an output.
func idOf(output int, s sorting.SliceWork) sliceID {
	return sliceID{output, s.Region, s.Number, string(s.Slice.Start), string(s.End)}
}

// id identifies a unit in the same way.
func (u *sliceRef) id(output int) sliceID {
	return sliceID{output, u.Region, u.Number, string(u.Start), string(u.End)}
}

// foundSlice is a slice that a task has written.
type foundSlice struct {
	writing.Finished
	by *reduceResult
}

// accept passes the slices that were written to the i-th output's stage, and keeps the rest in left.
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

package tasks

import (
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/partition"
)

// ReducePlan describes the reduce tasks of a run: each writes some slices of one output. It has the plan but for the
// splits, so that a task reads one document.
type ReducePlan struct {
	PlanID string       `json:"plan_id"`
	Plan   *Plan        `json:"plan"`
	Runs   [][]mapRun   `json:"runs"`  // for each output
	Tasks  []reduceTask `json:"tasks"` // the reduce tasks
}

// mapRun is the run that an attempt of a map task has left for an output.
type mapRun struct {
	Task    int               `json:"task"`
	Attempt string            `json:"attempt"`
	Run     partition.RunFile `json:"run"`
}

// reduceTask is a reduce task.
type reduceTask struct {
	Output int        `json:"output"`
	Slices []sliceRef `json:"slices"`
}

// sliceRef is a slice of a region.
type sliceRef struct {
	Region int    `json:"region"`
	Number int    `json:"slice"`
	Start  []byte `json:"start,omitempty"` // a key of the sort; empty: the region's first
	End    []byte `json:"end,omitempty"`   // the key after the last one; empty: the region's end
}

// sliceTask is the unit for the write stage. It does not say that a slice is its region's only one, because a task does
// not know what the region has: the merge is summed up instead.
func (u *sliceRef) sliceTask(t *targets.Target) (sorting.SliceWork, error) {
	s := sorting.SliceWork{Slice: partition.Slice{Region: u.Region, Start: u.Start, End: u.End}, Number: u.Number}
	var err error
	if len(u.Start) > 0 { // the first slice has no key
		s.Start, _, err = t.SplitKey(u.Start)
	}
	return s, err
}

// stored locates the runs of an output in the run's folder. readers is how many will read each at a time; nil if they
// are not read.
func stored(home folder, output int, runs []mapRun, readers *int) []partition.StoredFile {
	var files []partition.StoredFile
	for _, r := range runs {
		at := home.sub(MapPhase, TaskFolder(r.Task), r.Attempt)
		files = append(files, partition.StoredFile{Store: at.runsFor(output, readers), RunFile: r.Run, Keep: readers != nil})
	}
	return files
}

package tasks

import (
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/partition"
)

// ReducePlan describes the reduce tasks of a run: each writes some slices of one output. It has the plan except for the
// splits, so that a task needs only one document.
type ReducePlan struct {
	PlanID string       `json:"plan_id"`
	Plan   *Plan        `json:"plan"`
	Runs   [][]mapRun   `json:"runs"`  // for each output
	Tasks  []reduceTask `json:"tasks"` // the reduce tasks
}

// mapRun is the sorted run that an attempt at a map task has left for an output.
type mapRun struct {
	Task    int               `json:"task"`
	Attempt string            `json:"attempt"`
	Run     partition.RunFile `json:"run"`
}

// reduceTask has the slices, all of one output, that a reduce task writes.
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

// sliceTask returns the slice for the write stage.
func (u *sliceRef) sliceTask(t *targets.Target) (sorting.SliceWork, error) {
	s := sorting.SliceWork{Slice: partition.Slice{Region: u.Region, Start: u.Start, End: u.End}, Number: u.Number}
	var err error
	if len(u.Start) > 0 { // the first slice has no key
		s.Start, _, err = t.SplitKey(u.Start)
	}
	return s, err
}

// stored locates the runs of an output in the run's folder. readers is how many readers each run will have at a time;
// nil if the runs are not read.
func stored(home folder, output int, runs []mapRun, readers *int) []partition.StoredFile {
	var files []partition.StoredFile
	for _, r := range runs {
		at := home.sub(MapPhase, TaskFolder(r.Task), r.Attempt)
		files = append(files, partition.StoredFile{Store: at.runsFor(output, readers), RunFile: r.Run, Keep: readers != nil})
	}
	return files
}

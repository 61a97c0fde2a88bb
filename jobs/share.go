package jobs

import "bulkload/jobs/progress"

// The parts of a run that its stages take, about, where all of them have something to do. They are for progress only.
const (
	sortShare = 0.55
	loadShare = 0.1 // of all outputs together, with the look whether the table serves the files
)

// memoryShare is an output's part of a run: where the progress of its stages goes.
type memoryShare struct {
	write, load func(progress.Progress)
}

// shareMemory gives the i-th output its part. Outputs are written one after the other, and then loaded.
func (r *runner) shareMemory(i int) memoryShare {
	loads := 1.0
	for _, w := range r.places {
		if w.out.WantsLoad() {
			loads = 1 - loadShare
		}
	}
	between := func(from, to float64) func(progress.Progress) {
		width := (to - from) / float64(len(r.places))
		return progress.Within(r.options.Watch, from+width*float64(i), from+width*float64(i+1))
	}
	return memoryShare{write: between(sortShare, loads), load: between(loads, 1)}
}

package run

import "bulkload/jobs/base/options"

// The approximate shares of a run's stages, if all of them have something to do. They are for progress only.
const (
	sortShare = 0.55
	loadShare = 0.1 // of all outputs together, including probes
)

// progressShare has the functions that take an output's progress, each as a share of the run.
type progressShare struct {
	write, load func(options.Progress)
}

// shareOf returns the i-th output's share. Outputs are written one after another, and then loaded.
func (r *opened) shareOf(i int) progressShare {
	loads := 1.0
	for _, w := range r.outputs {
		if w.out.WantsLoad() {
			loads = 1 - loadShare
		}
	}
	between := func(from, to float64) func(options.Progress) {
		width := (to - from) / float64(len(r.outputs))
		return options.Within(r.options.Watch, from+width*float64(i), from+width*float64(i+1))
	}
	return progressShare{write: between(sortShare, loads), load: between(loads, 1)}
}

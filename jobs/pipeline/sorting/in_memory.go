package sorting

import (
	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
)

// SpillNeed returns roughly how many bytes a sort of text bytes spills; 0 if they fit in its memory.
func SpillNeed(text float64, memory int64) int64 {
	if int64(text) <= SortMemory(memory) {
		return 0
	}
	return int64(SpillRatio * text)
}

// WarnOfSpillsInMemory warns of a work folder whose files use memory, if need bytes are spilled to it. Such files need
// memory in addition to --memory, so a container that is sized by --memory kills the process.
func WarnOfSpillsInMemory(o options.Options, need int64) {
	if need == 0 {
		return
	}
	if folder, err := WorkFolder(o.WorkDir); err == nil && storage.InMemory(folder) {
		o.Warnf("the work folder %s is in memory (tmpfs): about %s of spilled runs will use memory beyond --memory; choose "+
			"a --work-dir on a disk",
			folder, bytesize.Format(need))
	}
}

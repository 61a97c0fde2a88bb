package targets

import (
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/spec/jobfile"
)

// Fixed has the parts of a target that don't follow from the job: boundaries and settings, which may come from a live
// table or the input. As JSON it gives another process the same target.
type Fixed struct {
	Splits   [][]byte       `json:"splits"`
	Families []TargetFamily `json:"families"`
	MaxSize  int64          `json:"max_size"`
	MaxFiles int64          `json:"max_files"`
}

// Fix returns the parts of a target that don't follow from the job.
func (t *Target) Fix() *Fixed { return &Fixed{t.Splits, t.Families, t.MaxSize, t.MaxFiles} }

// Target returns the target of the job.
func (f *Fixed) Target(j *jobfile.Job) (*Target, error) {
	t := &Target{Families: f.Families, MaxSize: f.MaxSize, MaxFiles: f.MaxFiles}
	if err := t.SetSplits(f.Splits, j.Wide != nil); err != nil {
		return nil, err
	}
	var err error
	t.Layout, err = entry.NewLayout(j)
	return t, err
}
